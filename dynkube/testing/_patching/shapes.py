"""Which lists are merged by key, which are sets and which are one value: what apply and strategic merge go by.

Schemas say so: those of definitions for custom resources, and those of the package for built-in kinds. The two ways
of merging do not always agree: apply tells the ports of a container apart by number and protocol, strategic merge by
number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._kinds.schemas import KEY_DEFAULTS, OBJECT_META, VALUES, builtin_schemas

ListType: TypeAlias = Literal["atomic", "set", "map"]
# What a value is taken for; ``""`` where a schema allows anything.
Form: TypeAlias = Literal["map", "list", "scalar", ""]


class Shape(Protocol):
    """What is known about the value at one place of an object."""

    @property
    def form(self) -> Form:
        """What it has to be; ``""`` where it may be anything."""
        ...

    def declares(self, name: str) -> bool:
        """Whether the schema names this field of it."""
        ...

    @property
    def deduced(self) -> bool:
        """Whether the schema says nothing of what is in it."""
        ...

    @property
    def list_type(self) -> ListType:
        """How it merges if it is a list."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """For a ``map`` list, the fields that tell items apart."""
        ...

    @property
    def atomic(self) -> bool:
        """Whether it is one value even if it is an object."""
        ...

    @property
    def always(self) -> bool:
        """Whether it counts as there even where nothing is said about it, as structs in Go do."""
        ...

    def field(self, name: str) -> Shape:
        """The shape of a field of it."""
        ...

    def item(self) -> Shape:
        """The shape of its items."""
        ...

    def default(self, key: str) -> object:
        """The default of a key field of its items, ``None`` where it has none."""
        ...

    @property
    def patch_key(self) -> str:
        """For a list that strategic merge patches merge, the one field that tells items apart; ``""`` for values."""
        ...

    @property
    def patch_merges(self) -> bool:
        """Whether strategic merge patches merge it if it is a list."""
        ...

    @property
    def patch_replaces(self) -> bool:
        """Whether strategic merge patches replace it if it is an object."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """A shape read from an ``openAPIV3Schema``."""

    schema: Mapping[str, object]
    always: bool = False

    @property
    def form(self) -> Form:
        """From ``type``."""
        match self.schema.get("type"):
            case "object":
                return "map"
            case "array":
                return "list"
            case "string" | "integer" | "number" | "boolean":
                return "scalar"
        return ""

    def declares(self, name: str) -> bool:
        """From ``properties``."""
        properties = self.schema.get("properties")
        return isinstance(properties, dict) and name in properties

    @property
    def deduced(self) -> bool:
        """From ``properties`` and ``additionalProperties``."""
        return not self.schema.get("properties") and not isinstance(self.schema.get("additionalProperties"), dict)

    @property
    def list_type(self) -> ListType:
        """From ``x-kubernetes-list-type``; lists are atomic unless it says otherwise."""
        match self.schema.get("x-kubernetes-list-type"):
            case "set":
                return "set"
            case "map":
                return "map"
        return "atomic"

    @property
    def keys(self) -> tuple[str, ...]:
        """From ``x-kubernetes-list-map-keys``."""
        keys = self.schema.get("x-kubernetes-list-map-keys")
        return tuple(str(key) for key in keys) if isinstance(keys, list) else ()

    @property
    def atomic(self) -> bool:
        """From ``x-kubernetes-map-type``."""
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    def field(self, name: str) -> Shape:
        """From ``properties``, or ``additionalProperties``."""
        properties = self.schema.get("properties")
        found = properties.get(name) if isinstance(properties, dict) else None
        values = self.schema.get(VALUES)
        always = isinstance(values, list) and name in values
        return _schema_shape(found if found is not None else self.schema.get("additionalProperties"), always=always)

    def item(self) -> Shape:
        """From ``items``."""
        return _schema_shape(self.schema.get("items"))

    def default(self, key: str) -> object:
        """From the item's property."""
        field = self.item().field(key)
        found = field.schema.get("default") if isinstance(field, SchemaShape) else None
        empty = self.schema.get(KEY_DEFAULTS)
        return empty.get(key) if found is None and isinstance(empty, dict) else found

    @property
    def patch_key(self) -> str:
        """From ``x-kubernetes-patch-merge-key``."""
        return str(self.schema.get("x-kubernetes-patch-merge-key", ""))

    @property
    def patch_merges(self) -> bool:
        """From ``x-kubernetes-patch-strategy``, which may name several (``merge,retainKeys``)."""
        return "merge" in self._strategies

    @property
    def patch_replaces(self) -> bool:
        """From ``x-kubernetes-patch-strategy``."""
        return "replace" in self._strategies

    @property
    def _strategies(self) -> list[str]:
        return str(self.schema.get("x-kubernetes-patch-strategy", "")).split(",")


def _schema_shape(schema: object, *, always: bool = False) -> SchemaShape:
    return SchemaShape(schema if isinstance(schema, dict) else {}, always)


@dataclass(frozen=True, slots=True)
class _CustomRoot(SchemaShape):
    """A custom resource: its metadata is that of every kind, whatever the schema says about it."""

    def declares(self, name: str) -> bool:
        return name in {"apiVersion", "kind", "metadata"} or SchemaShape.declares(self, name)

    def field(self, name: str) -> Shape:
        if name == "metadata":
            return SchemaShape(builtin_schemas().resolved(OBJECT_META), always=True)
        return SchemaShape.field(self, name)


def custom_shape(schema: Mapping[str, object]) -> Shape:
    """The shape of custom resources with this ``openAPIV3Schema``."""
    return _CustomRoot(schema)


def shape_of(kind: Kind) -> Shape:
    """The shape of whole objects of ``kind``."""
    schema = kind.schema or {}
    return SchemaShape(schema) if kind.crd_uid is None else custom_shape(schema)
