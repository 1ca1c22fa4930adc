"""Immutable dicts and lists, the result of decoding an object's body.

They are ``dict`` and ``list`` *subclasses* because encoders, jsonpath-ng, JSON schema validators and IPython's
completion test for exactly these types and silently find nothing in any other mapping. Reading is as fast as in a
``dict``; mutating methods raise ``TypeError`` with a hint what to do instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

READ_ONLY: Final = (
    "objects are read-only, as they may be shared with a cache: "
    "modify a copy (obj.to_dict()) or create a new object (obj.transform(['spec', 'replicas'], 3))"
)


def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    """Replacement for every mutating method: raises ``TypeError``."""
    raise TypeError(READ_ONLY.replace("obj.to_dict()", "list.to_list()") if isinstance(self, list) else READ_ONLY)


class FrozenDict(dict[str, Any]):
    """An immutable ``dict``.

    ``copy()``, :meth:`to_dict` and ``copy.deepcopy`` return plain, mutable ones.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers see a plain dict
        __setitem__ = __delitem__ = __ior__ = refuse
        clear = pop = popitem = setdefault = update = refuse

    def copy(self) -> dict[str, Any]:
        """Return a shallow, mutable copy.

        Nested values stay frozen; :meth:`to_dict` returns a deep copy.
        """
        return dict(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain, mutable deep copy, like ``to_dict()`` of a whole object."""
        return {key: thaw(value) for key, value in self.items()}

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, object]) -> dict[str, Any]:
        return self.to_dict()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """An immutable ``list``.

    ``copy()``, :meth:`to_list` and ``copy.deepcopy`` return plain, mutable ones.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers see a plain list
        __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse
        append = clear = extend = insert = pop = remove = reverse = sort = refuse

    def copy(self) -> list[Any]:
        """Return a shallow, mutable copy.

        Nested values stay frozen; :meth:`to_list` returns a deep copy.
        """
        return list(self)

    def to_list(self) -> list[Any]:
        """Return a plain, mutable deep copy."""
        return [thaw(value) for value in self]

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, object]) -> list[Any]:
        return self.to_list()

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Any]]]:
        return FrozenList, (list(self),)


def freeze(value: object) -> Any:
    """Return an immutable deep copy of decoded JSON.

    Scalars and frozen values are returned as they are.
    """
    if type(value) is FrozenDict or type(value) is FrozenList:
        return value
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return value


def freeze_fresh(value: Any) -> Any:
    """Freeze a tree that has no other references.

    Children are replaced in place, which is faster than :func:`freeze`.
    """
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
    """Return a plain, mutable deep copy of a frozen (or any JSON-like) value."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
