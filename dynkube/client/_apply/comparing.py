"""``compare``: what differs between two objects, or two states of one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynkube.client._apply.diff import Diff
from dynkube.client._apply.differing import comparison
from dynkube.client._apply.shape import Shape
from dynkube.errors import InvalidInput
from dynkube.fields import FieldPath, ItemKey, Step, managed
from dynkube.meta import Unstructured

# What tells items of lists apart where managedFields do not say it (informers drop them), in the order of trust:
# the merge keys that built-in types have most often.
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
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, *, names: tuple[str, str] = ("before", "after")
) -> Diff:
    """What differs between two objects, or two states of one; a notebook shows it field by field and as YAML.

    ::

        dynkube.compare(event.old, event.new)

    Items of lists are matched by what ``managedFields`` say of them; where objects have none (informers drop them), by
    the names, types and ports that items mostly have, if these tell all of them apart. ``managers`` of each change are
    those who own the field now. What a server sets by itself is left out, but for the UID and the time of creation
    where they show that it is another object of the same name. Values of Secrets are not shown.

    A plain calculation, of a second for every 10 MB: async code has lists of that size compared in a thread.

    Args:
        before: an object; ``None`` for nothing.
        after: another, likewise.
        names: what to call them.

    Raises:
        InvalidInput: both are ``None``, or one is no object.
        InvalidObject: one cannot be read, or its managedFields cannot.
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
    )


def _object(given: object, name: str) -> Unstructured | None:
    if given is None or isinstance(given, Unstructured):
        return given
    if isinstance(given, Mapping):
        return Unstructured(given)
    raise InvalidInput(f"{name} is a {type(given).__name__}: pass an object, a mapping, or None for nothing")


class _LikelyShape(Shape):
    """A shape that takes a likely key where nothing is known of a list: the same one for both states of it."""

    __slots__ = ("_taken",)

    def __init__(self, owned: Any) -> None:
        super().__init__(owned)
        self._taken: dict[FieldPath, tuple[str, ...] | None] = {}

    def items(self, path: FieldPath, value: list[Any]) -> dict[Step, Any] | None:
        """As they are known to be told apart, or likely are."""
        known = super().items(path, value)
        if known is not None:
            return known
        if path not in self._taken:  # the first state decides; an empty one leaves it to the second
            keys = next((keys for keys in _KEYS if _by(keys, value) is not None), None)
            if not value:
                return {}
            self._taken[path] = keys
        keys = self._taken[path]
        return None if keys is None else _by(keys, value)


def _by(keys: tuple[str, ...], value: list[Any]) -> dict[Step, Any] | None:
    """Items by these keys; ``None`` if they do not tell all of them apart."""
    found: dict[Step, Any] = {}
    for item in value:
        if not isinstance(item, Mapping) or not all(type(item.get(key)) in (str, int) for key in keys):
            return None
        found[ItemKey({key: item[key] for key in keys})] = item
    return found if len(found) == len(value) else None
