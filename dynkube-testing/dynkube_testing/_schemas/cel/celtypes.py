"""Types of CEL expressions: their notation, and which values may be used as which type.

The rules are those of the type checker of cel-go.
"""

from __future__ import annotations

from dataclasses import dataclass

_NAMES = {"null_type": "null", "google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration"}


@dataclass(frozen=True, slots=True)
class Type:
    """A type.

    Attributes:
        kind: ``"bool"``, ``"list"``, ...; ``"struct"`` for objects, ``"opaque"`` for abstract types, ``"param"`` for
            type parameters.
        name: The name of an object's type, an abstract type or a parameter; otherwise that of the kind.
        params: The types of items, of keys and values, or the parameters of an abstract type.
    """

    kind: str
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind == "error":
            return "!error!"
        if not self.params:
            return _NAMES.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.params))})"

    @property
    def is_dyn(self) -> bool:
        return self.kind == "dyn"

    @property
    def is_optional(self) -> bool:
        return self.kind == "opaque" and self.name == "optional_type"


def _plain(name: str) -> Type:
    return Type(name, name)


BOOL, BYTES, DOUBLE, DYN, INT, STRING, UINT = map(_plain, ("bool", "bytes", "double", "dyn", "int", "string", "uint"))
NULL, ERROR, TYPE = Type("null", "null_type"), _plain("error"), _plain("type")
DURATION = Type("duration", "google.protobuf.Duration")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
_NULLABLE = frozenset({"opaque", "struct", "duration", "timestamp"})
_BASIC = frozenset({"bool", "bytes", "double", "int", "string", "uint", "duration", "timestamp", "struct"})


def list_of(item: Type) -> Type:
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", "type", (value,))


def param(name: str) -> Type:
    return Type("param", name)


class Substitutions:
    """The types that are known for type parameters."""

    def __init__(self, known: dict[Type, Type] | None = None) -> None:
        self._known = known or {}

    def copy(self) -> Substitutions:
        return Substitutions(dict(self._known))

    def add(self, parameter: Type, value: Type) -> None:
        self._known[parameter] = value

    def apply(self, value: Type, *, to_dyn: bool = False) -> Type:
        """Return ``value`` with all known parameters replaced; with ``to_dyn``, the others by ``dyn``."""
        if (known := self._known.get(value)) is not None:
            return self.apply(known, to_dyn=to_dyn)
        if value.kind == "param":
            return DYN if to_dyn else value
        if not value.params:
            return value
        return Type(value.kind, value.name, tuple(self.apply(part, to_dyn=to_dyn) for part in value.params))

    def assignable(self, one: Type, other: Type) -> bool:
        """Return whether ``other`` may be used as ``one``; this may add substitutions."""
        if other.kind == "param":
            valid, known = self._substitutes(one, other)
            if valid or known:
                return valid
        if one.kind == "param":
            return self._substitutes(other, one)[0]
        if one.kind in {"dyn", "error"} or other.kind in {"dyn", "error"}:
            return True
        if one.kind == "null":
            return other.kind in _NULLABLE or other.kind == "null"
        if other.kind == "null":
            return one.kind in _NULLABLE
        if one.kind in _BASIC:
            return one == other
        if one.kind == "type":
            return other.kind == "type"
        return (one.kind, one.name) == (other.kind, other.name) and self.all_assignable(one.params, other.params)

    def all_assignable(self, ones: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
        return len(ones) == len(others) and all(map(self.assignable, ones, others))

    def _substitutes(self, value: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether ``parameter`` may be ``value``, and whether it was known already."""
        if value == parameter:
            return True, True
        if (known := self._known.get(parameter)) is not None:
            if value == known:
                return True, True
            if not self.assignable(value, known):
                return False, True
            general = most_general(value, known)
            if self._not_within(parameter, general):
                self._known[parameter] = general
            return True, True
        if self._not_within(parameter, value):
            self._known[parameter] = value
            return True, False
        return False, False

    def _not_within(self, parameter: Type, value: Type) -> bool:
        if parameter == value:
            return False
        if value.kind == "param":
            known = self._known.get(value)
            return known is None or self._not_within(parameter, known)
        return all(self._not_within(parameter, part) for part in value.params)


def most_general(one: Type, other: Type) -> Type:
    """Return the less specific one of two types."""
    return one if _covers(one, other) else other


def _covers(one: Type, other: Type) -> bool:
    if one.kind in {"dyn", "param"}:
        return True
    if other.kind in {"dyn", "param"} or one.kind != other.kind:
        return False
    if one.kind in {"opaque", "list", "map"}:
        same = one.name == other.name and len(one.params) == len(other.params)
        return same and all(map(_covers, one.params, other.params))
    return one.kind == "type" or one == other
