"""Read-only dicts and lists: what an object's body is decoded into.

They are ``dict`` and ``list`` *subclasses* because encoders, jsonpath-ng, JSON schema validators and
IPython's completion test for exactly these types and silently find nothing in any other mapping.
Reading costs what it costs in a dict; the methods that would change one raise and say what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

READ_ONLY: Final = (
    "objects from dynkube are read-only, since a cache shares them: "
    "change a copy (obj.to_dict()), or make a new object (obj.transform(['spec', 'replicas'], 3))"
)


def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    """In place of every method that would change what it belongs to."""
    raise TypeError(READ_ONLY)


class FrozenDict(dict[str, Any]):
    """A ``dict`` that refuses to change. ``copy()`` and ``copy.deepcopy`` give plain, mutable ones."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for type checkers it is a dict, as it is for whatever reads it
        __setitem__ = __delitem__ = __ior__ = refuse
        clear = pop = popitem = setdefault = update = refuse

    def copy(self) -> dict[str, Any]:
        """A shallow, mutable copy; nested values stay frozen (``thaw`` copies all the way down)."""
        return dict(self)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, object]) -> dict[str, Any]:
        return {key: thaw(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A ``list`` that refuses to change. ``copy()`` and ``copy.deepcopy`` give plain, mutable ones."""

    __slots__ = ()

    if not TYPE_CHECKING:  # as above
        __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse
        append = clear = extend = insert = pop = remove = reverse = sort = refuse

    def copy(self) -> list[Any]:
        """A shallow, mutable copy; nested values stay frozen (``thaw`` copies all the way down)."""
        return list(self)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, object]) -> list[Any]:
        return [thaw(value) for value in self]

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Any]]]:
        return FrozenList, (list(self),)


def freeze(value: object) -> Any:
    """A read-only copy of decoded JSON, all the way down; scalars and frozen values as they are."""
    if type(value) is FrozenDict or type(value) is FrozenList:
        return value
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return value


def freeze_fresh(value: Any) -> Any:
    """``freeze`` for a tree that nobody else holds: children are replaced in place, which is faster."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                value[key] = freeze_fresh(item)
        return FrozenDict(value)
    if kind is list:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                value[index] = freeze_fresh(item)
        return FrozenList(value)
    return value


def thaw(value: object) -> Any:
    """A plain, mutable deep copy of a frozen (or any JSON-like) value."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
