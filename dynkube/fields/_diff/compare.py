"""``compare``: the differences between two objects, or two states of one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dynkube.errors import InvalidInput
from dynkube.fields._diff.compute import comparison
from dynkube.fields._diff.diff import Diff
from dynkube.fields._diff.ignored import ignored_paths
from dynkube.fields._diff.list_keys import Shape
from dynkube.fields._entries import managed
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._steps import ItemKey, Step
from dynkube.meta import Unstructured

# Keys that are tried for list items if there are no managedFields (informers drop them), the most reliable first. They
# are the most frequent merge keys of built-in types.
_KEYS: Final[tuple[tuple[str, ...], ...]] = (
    ("name",),
    ("type",),
    ("uid",),
    ("key",),
    ("mountPath",),
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("ip",),
    ("containerPort",),
    ("port",),
)


def compare(
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    names: tuple[str, str] = ("before", "after"),
    ignore: Iterable[PathLike] = (),
) -> Diff:
    """Return the differences between two objects, or two states of one.

    ::

        dynkube.compare(event.old, event.new)
        dynkube.compare(in_staging, in_production, ignore=[".metadata.uid", ".metadata.creationTimestamp", ".status"])

    List items are matched by their keys as recorded in ``managedFields``; without these (informers drop them), by
    common merge keys such as name, type or port, if they are unique within the list. ``managers`` of each change are
    the field's current owners. Fields set by the server are left out, except uid and creationTimestamp if they show
    that it is another object of the same name. Secret values are redacted. Notebooks show the result by field and as
    YAML.

    Synchronous and CPU-bound: about a second per 10 MB. Async code should compare objects of that size in a thread.

    Args:
        before: an object; ``None`` for no object.
        after: the other object; ``None`` for no object.
        names: names of the two states.
        ignore: paths of fields to leave out, with all that is below them; as in ``changes``, or
            ``'.spec.template.spec.containers[name="web"].image'``. So is a map or list that has nothing else.

    Raises:
        InvalidInput: both are ``None``, one is not an object, or a path is malformed.
        InvalidObject: an object or its managedFields cannot be parsed.
    """
    first, second = _object(before, "before"), _object(after, "after")
    if first is None and second is None:
        raise InvalidInput("before and after are both None: there is nothing to compare")
    entries = [entry for obj in (first, second) if obj is not None for entry in managed(obj)]
    return comparison(
        first,
        second,
        names,
        shape=_LikelyShape(entry.fields for entry in entries),
        owners=() if second is None else managed(second),
        ignore=ignored_paths(ignore),
    )


def _object(given: object, name: str) -> Unstructured | None:
    if given is None or isinstance(given, Unstructured):
        return given
    if isinstance(given, Mapping):
        return Unstructured(given)
    raise InvalidInput(f"{name} is a {type(given).__name__}: pass an object, a mapping, or None for nothing")


class _LikelyShape(Shape):
    """A shape that guesses the keys of unknown lists, with the same keys for both states."""

    __slots__ = ("_taken",)

    def __init__(self, owned: Any) -> None:
        super().__init__(owned)
        self._taken: dict[FieldPath, tuple[str, ...] | None] = {}

    def items(self, path: FieldPath, value: list[Any]) -> dict[Step, Any] | None:
        """Return the items by their recorded or guessed keys."""
        known = super().items(path, value)
        if known is not None:
            return known
        if path not in self._taken:  # the keys are chosen by the first state, unless its list is empty
            keys = next((keys for keys in _KEYS if _by(keys, value) is not None), None)
            if not value:
                return {}
            self._taken[path] = keys
        keys = self._taken[path]
        return None if keys is None else _by(keys, value)


def _by(keys: tuple[str, ...], value: list[Any]) -> dict[Step, Any] | None:
    """Return the items by these keys; ``None`` if they are not unique."""
    found: dict[Step, Any] = {}
    for item in value:
        if not isinstance(item, Mapping) or not all(type(item.get(key)) in (str, int) for key in keys):
            return None
        found[ItemKey({key: item[key] for key in keys})] = item
    return found if len(found) == len(value) else None
