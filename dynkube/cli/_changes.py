"""A short list of the fields that differ between two states of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dynkube.meta import Unstructured

_DEPTH = 3
_SHOWN = 3
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOISE = {
    ("metadata", "resourceVersion"),
    ("metadata", "generation"),
    ("metadata", "managedFields"),
    ("metadata", "annotations", _LAST_APPLIED),
}
_ABSENT = object()


def changed_fields(old: Unstructured, new: Unstructured) -> list[str]:
    """Return the sorted paths of the fields that differ, at most three names deep.

    Fields that change at every write (resourceVersion, generation, managedFields) are left out, and so are values, as
    they may be secret.
    """
    return sorted(_written(path) for path in _differing(old, new, ()) if path not in _NOISE)


def summary(paths: list[str]) -> str:
    """Return the first three of ``paths``, and the number of the others."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


def _differing(old: object, new: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    before, after = _fields(old), _fields(new)
    if len(path) < _DEPTH and before is not None and after is not None and (before or after):
        for name in {**before, **after}:
            yield from _differing(before.get(name, _ABSENT), after.get(name, _ABSENT), (*path, name))
    elif old != new:
        yield path


def _fields(value: object) -> Mapping[str, object] | None:
    """Return the fields of a map.

    Empty for an absent field, ``None`` for a scalar or list.
    """
    if value is _ABSENT:
        return {}
    return value if isinstance(value, Mapping) else None


def _written(path: tuple[str, ...]) -> str:
    return ".".join(f"[{name}]" if "." in name or "/" in name else name for name in path).replace(".[", "[")
