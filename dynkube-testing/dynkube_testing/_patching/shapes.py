"""Rules of a schema for merging, such as lists merged by key and atomic values.

A *shape* has the rules for one value and the values in it. Rules for server-side apply and for strategic merge may
differ: apply identifies the ports of a container by number and protocol, strategic merge by number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import KEY_DEFAULTS, OBJECT_META, VALUES, builtin_schemas

ListType: TypeAlias = Literal["atomic", "set", "map"]
# The form of a value; ``""`` if the schema allows any.
Form: TypeAlias = Literal["map", "list", "scalar", ""]


class Shape(Protocol):
    """The merge rules of the value at one path."""

    @property
    def form(self) -> Form:
        """The form that the schema requires; ``""`` if it allows any form."""
        ...

    def declares(self, name: str) -> bool:
        """Return whether the schema declares the field ``name``."""
        ...

    @property
    def deduced(self) -> bool:
        """Whether the schema does not declare any fields of the value."""
        ...

    @property
    def list_type(self) -> ListType:
        """The list type, if the value is a list."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The key fields of the items of a ``map`` list."""
        ...

    @property
    def atomic(self) -> bool:
        """Whether an object is merged as one value, and not by field."""
        ...

    @property
    def always(self) -> bool:
        """Whether an absent value counts as an empty one, as it is a struct in Go."""
        ...

    def field(self, name: str) -> Shape:
        """Return the shape of a field."""
        ...

    def item(self) -> Shape:
        """Return the shape of the items of a list."""
        ...

    def default(self, key: str) -> object:
        """Return the default of the key field ``key`` of items; ``None`` if it has none."""
        ...

    @property
    def patch_key(self) -> str:
        """The merge key of a list for strategic merge; ``""`` if items are scalars."""
        ...

    @property
    def patch_merges(self) -> bool:
        """Whether strategic merge patches merge a list, rather than replace it."""
        ...

    @property
    def patch_replaces(self) -> bool:
        """Whether strategic merge patches replace an object, rather than merge it."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """A shape from an ``openAPIV3Schema``."""

    schema: Mapping[str, object]
    always: bool = False

    @property
    def form(self) -> Form:
        """The form, from ``type``."""
        match self.schema.get("type"):
            case "object":
                return "map"
            case "array":
                return "list"
            case "string" | "integer" | "number" | "boolean":
                return "scalar"
        return ""

    def declares(self, name: str) -> bool:
        """Return whether the field is in ``properties``."""
        properties = self.schema.get("properties")
        return isinstance(properties, dict) and name in properties

    @property
    def deduced(self) -> bool:
        """Whether there are no ``properties`` and no schema of ``additionalProperties``."""
        return not self.schema.get("properties") and not isinstance(self.schema.get("additionalProperties"), dict)

    @property
    def list_type(self) -> ListType:
        """The list type, from ``x-kubernetes-list-type``; ``"atomic"`` by default."""
        match self.schema.get("x-kubernetes-list-type"):
            case "set":
                return "set"
            case "map":
                return "map"
        return "atomic"

    @property
    def keys(self) -> tuple[str, ...]:
        """The key fields, from ``x-kubernetes-list-map-keys``."""
        keys = self.schema.get("x-kubernetes-list-map-keys")
        return tuple(str(key) for key in keys) if isinstance(keys, list) else ()

    @property
    def atomic(self) -> bool:
        """Whether ``x-kubernetes-map-type`` is ``atomic``."""
        return self.schema.get("x-kubernetes-map-type") == "atomic"

    def field(self, name: str) -> Shape:
        """Return the shape of a field, from ``properties`` or ``additionalProperties``."""
        properties = self.schema.get("properties")
        found = properties.get(name) if isinstance(properties, dict) else None
        values = self.schema.get(VALUES)
        always = isinstance(values, list) and name in values
        return _schema_shape(found if found is not None else self.schema.get("additionalProperties"), always=always)

    def item(self) -> Shape:
        """Return the shape of the items, from ``items``."""
        return _schema_shape(self.schema.get("items"))

    def default(self, key: str) -> object:
        """Return the default of a key field in the schema of the items."""
        field = self.item().field(key)
        found = field.schema.get("default") if isinstance(field, SchemaShape) else None
        empty = self.schema.get(KEY_DEFAULTS)
        return empty.get(key) if found is None and isinstance(empty, dict) else found

    @property
    def patch_key(self) -> str:
        """The value of ``x-kubernetes-patch-merge-key``."""
        return str(self.schema.get("x-kubernetes-patch-merge-key", ""))

    @property
    def patch_merges(self) -> bool:
        """Whether ``x-kubernetes-patch-strategy`` includes ``merge``.

        It may name several strategies (``merge,retainKeys``).
        """
        return "merge" in self._strategies

    @property
    def patch_replaces(self) -> bool:
        """Whether ``x-kubernetes-patch-strategy`` includes ``replace``."""
        return "replace" in self._strategies

    @property
    def _strategies(self) -> list[str]:
        return str(self.schema.get("x-kubernetes-patch-strategy", "")).split(",")


def _schema_shape(schema: object, *, always: bool = False) -> SchemaShape:
    return SchemaShape(schema if isinstance(schema, dict) else {}, always)


@dataclass(frozen=True, slots=True)
class _CustomRoot(SchemaShape):
    """The shape of a custom resource. Its metadata always has the shape of ObjectMeta."""

    def declares(self, name: str) -> bool:
        return name in {"apiVersion", "kind", "metadata"} or SchemaShape.declares(self, name)

    def field(self, name: str) -> Shape:
        if name == "metadata":
            return SchemaShape(builtin_schemas().resolved(OBJECT_META), always=True)
        return SchemaShape.field(self, name)


def custom_shape(schema: Mapping[str, object]) -> Shape:
    """Return the shape of custom resources with this ``openAPIV3Schema``."""
    return _CustomRoot(schema)


def shape_of(kind: Kind) -> Shape:
    """Return the shape of whole objects of ``kind``."""
    schema = kind.schema or {}
    return SchemaShape(schema) if kind.crd_uid is None else custom_shape(schema)
