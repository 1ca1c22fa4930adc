"""Values of CEL expressions: their types, equality, order and sizes.

Values of objects are strings, numbers and so on as decoded from JSON, except for :class:`Fields` and :class:`Listed`,
for strings with a ``format`` of bytes, times or durations, and for parts without a schema (:class:`Preserved`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, TypeAlias

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.errors import EvaluationError, no_overload
from dynkube_testing._schemas.cel.literals import INT64, Duration, Timestamp
from dynkube_testing._schemas.cel.syntax import Uint
from dynkube_testing._schemas.correlation import same_json

Value: TypeAlias = Any  # a value of any of the types of CEL; they are distinguished at run time


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional value."""

    value: Value = None
    present: bool = True


NONE: Final = Optional(present=False)


class Listed(list[Value]):
    """A list of an object, which compares by its list type.

    Attributes:
        kind: ``"atomic"``, ``"set"`` or ``"map"``.
        keys: The key fields of the items of a ``map``.
    """

    __slots__ = ("keys", "kind")

    def __init__(self, items: list[Value], kind: str, keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.kind = kind
        self.keys = keys

    def key(self, item: Value) -> Value:
        """Return what identifies an item of a set or map."""
        if self.kind == "set":
            return (type(item), item)
        fields = item if isinstance(item, dict) else {}
        return tuple((type(fields.get(name)), fields.get(name)) for name in self.keys)

    def equals(self, other: Value) -> bool:
        if not isinstance(other, list):
            raise no_overload()
        if len(self) != len(other):
            return False
        if self.kind == "atomic":
            return all(map(equal, self, other))
        own = {self.key(item): item for item in self}
        if self.kind == "set":
            return all(self.key(item) in own for item in other)
        return all(self.key(item) in own and equal(own[self.key(item)], item) for item in other)

    def plus(self, other: list[Value]) -> Listed:
        """Return the union of sets and maps, in which items of ``other`` replace those with the same key."""
        items = list(self)
        if self.kind == "atomic":
            return Listed([*items, *other], self.kind, self.keys)
        places = {self.key(item): index for index, item in enumerate(items)}
        for item in other:
            key = self.key(item)
            if key not in places:
                places[key] = len(items)
                items.append(item)
            elif self.kind == "map":
                items[places[key]] = item
        return Listed(items, self.kind, self.keys)


class Fields(dict[str, Value]):
    """An object, with the declared fields by their names in CEL, or a map.

    Attributes:
        size: The number of all fields, declared or not.
        rest: The fields that are not declared.
    """

    __slots__ = ("rest", "size")

    def __init__(self, known: Mapping[str, Value], size: int, rest: Mapping[str, Value]) -> None:
        super().__init__(known)
        self.size = size
        self.rest = rest

    def equals(self, other: Value) -> bool:
        if not isinstance(other, dict):
            raise no_overload()
        if self.size != size_of(other):
            return False
        if any(name not in other or not equal(value, other[name]) for name, value in self.items()):
            return False
        if self.rest and not isinstance(other, Fields):
            raise no_overload()
        rest = other.rest if isinstance(other, Fields) else {}
        return all(same_json(value, rest[name]) for name, value in self.rest.items() if name in rest)


@dataclass(frozen=True, slots=True)
class Preserved:
    """A value without a schema, which can only be compared."""

    value: Value


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address."""

    ip: IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Network:
    """An IP address and the length of the prefix of its network."""

    ip: IPv4Address | IPv6Address
    prefix: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, such as ``500m``."""

    amount: Decimal


# ── types, equality, order, sizes ─────────────────────────────────────────────────────────────

_TYPES: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    Type: types.TYPE,
    Optional: types.optional_of(types.DYN),
    Address: Type("opaque", "net.IP"),
    Network: Type("opaque", "net.CIDR"),
    Quantity: Type("struct", "kubernetes.Quantity"),
    Preserved: Type("unknown", "unknown"),
}


def type_of(value: Value) -> Type:
    """Return the type of a value, without the types of its items."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, list):
        return Type("list", "list")
    if isinstance(value, dict):
        return Type("map", "map")
    if isinstance(found := getattr(value, "cel_type", None), Type):
        return found
    return Type("struct", f"kubernetes.{type(value).__name__}")


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: Value, other: Value) -> bool:
    """Return whether two values are equal; numbers of different types may be.

    Raises:
        EvaluationError: Their types cannot be compared.
    """
    if one is None or other is None:
        return one is other
    if isinstance(one, Listed | Fields):
        return one.equals(other)
    if is_number(one) and is_number(other):
        return bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return size_of(one) == size_of(other) and all(key in other and equal(one[key], other[key]) for key in one)
    if isinstance(one, Optional) and isinstance(other, Optional):
        return one.present == other.present and (not one.present or equal(one.value, other.value))
    if isinstance(one, Preserved):
        return isinstance(other, Preserved) and same_json(one.value, other.value)
    if isinstance(one, Type) and isinstance(other, Type):
        return (one.kind, one.name) == (other.kind, other.name)
    if type(one) is not type(other):
        if isinstance(one, Address | Network | Quantity):
            raise no_overload()
        return False
    return bool(one == other)


def contains(values: list[Value], item: Value) -> bool:
    """Return whether a list has an item that is equal to ``item``."""
    problem: EvaluationError | None = None
    for value in values:
        try:
            if equal(value, item):
                return True
        except EvaluationError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return False


def compare(one: Value, other: Value) -> int:
    """Return -1, 0 or 1, by the order of two values.

    Raises:
        EvaluationError: They have no order.
    """
    if is_number(one) and is_number(other):
        if one != one or other != other:
            raise EvaluationError("NaN values cannot be ordered")
    elif type(one) is not type(other) or not isinstance(one, bool | str | bytes | Duration | Timestamp):
        raise no_overload()
    return int(one > other) - int(one < other)


def size_of(value: Value) -> int:
    """Return the size of a value; 1 for those without a size."""
    match value:
        case Fields():
            return value.size
        case str() | bytes() | list() | dict():
            return len(value)
        case Optional(present=True):
            return size_of(value.value)
        case Address():
            return value.ip.max_prefixlen // 8
        case Network():
            return -(-value.prefix // 8)
    return 1


def integer(value: int) -> int:
    """Return an integer of 64 bits.

    Raises:
        EvaluationError: It is out of range.
    """
    if value not in INT64:
        raise EvaluationError("integer overflow")
    return int(value)
