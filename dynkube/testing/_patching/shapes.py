"""Which lists are merged by key, which are sets and which are one value: what apply and strategic merge go by.

For custom resources the schema says so (``x-kubernetes-list-type`` and its neighbours). For built-in kinds a table
of field names does; it covers the lists people patch, and takes every other list as one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dynkube.testing._kinds.kinds import Kind

ListType: TypeAlias = Literal["atomic", "set", "map"]


class Shape(Protocol):
    """What is known about the value at one place of an object."""

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

    def field(self, name: str) -> Shape:
        """The shape of a field of it."""
        ...

    def item(self) -> Shape:
        """The shape of its items."""
        ...

    def default(self, key: str) -> object:
        """The default of a key field of its items, ``None`` where it has none."""
        ...


@dataclass(frozen=True, slots=True)
class SchemaShape:
    """A shape read from an ``openAPIV3Schema``."""

    schema: Mapping[str, object]

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
        return _schema_shape(found if found is not None else self.schema.get("additionalProperties"))

    def item(self) -> Shape:
        """From ``items``."""
        return _schema_shape(self.schema.get("items"))

    def default(self, key: str) -> object:
        """From the item's property."""
        items = self.item()
        field = items.field(key)
        return field.schema.get("default") if isinstance(field, SchemaShape) else None


def _schema_shape(schema: object) -> SchemaShape:
    return SchemaShape(schema if isinstance(schema, dict) else {})


_MAP_KEYS: Mapping[tuple[str, str], tuple[str, ...]] = {
    # (parent field, field); "" as parent: whatever it is.
    ("metadata", "ownerReferences"): ("uid",),
    ("", "conditions"): ("type",),
    ("", "containers"): ("name",),
    ("", "initContainers"): ("name",),
    ("", "ephemeralContainers"): ("name",),
    ("", "volumes"): ("name",),
    ("", "env"): ("name",),
    ("", "volumeMounts"): ("mountPath",),
    ("", "volumeDevices"): ("devicePath",),
    ("", "imagePullSecrets"): ("name",),
    ("", "secrets"): ("name",),
    ("", "hostAliases"): ("ip",),
    ("", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("containers", "ports"): ("containerPort", "protocol"),
    ("initContainers", "ports"): ("containerPort", "protocol"),
    ("spec", "ports"): ("port", "protocol"),
    ("webhooks", "webhooks"): ("name",),
    ("", "webhooks"): ("name",),
    ("", "taints"): ("key", "effect"),
}
_SETS = {("metadata", "finalizers"), ("spec", "loadBalancerSourceRanges"), ("spec", "podCIDRs")}
_ATOMIC_MAPS = {
    "selector",
    "nodeSelector",
    "secretRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fieldRef",
    "scaleTargetRef",
}


@dataclass(frozen=True, slots=True)
class BuiltinShape:
    """A shape of a built-in kind, known by the names of its field and of the field around it."""

    parent: str = ""
    name: str = ""

    @property
    def list_type(self) -> ListType:
        """From the table."""
        if self.keys:
            return "map"
        return "set" if (self.parent, self.name) in _SETS else "atomic"

    @property
    def keys(self) -> tuple[str, ...]:
        """From the table."""
        return _MAP_KEYS.get((self.parent, self.name)) or _MAP_KEYS.get(("", self.name), ())

    @property
    def atomic(self) -> bool:
        """From the table; a Service's selector, though, is merged."""
        return self.name in _ATOMIC_MAPS

    def field(self, name: str) -> Shape:
        """The field ``name`` in it."""
        return BuiltinShape(self.name, name)

    def item(self) -> Shape:
        """Items are known by the name of their list."""
        return BuiltinShape(self.parent, self.name)

    def default(self, key: str) -> object:
        """``protocol`` is TCP where a port does not say."""
        return "TCP" if key == "protocol" else None


@dataclass(frozen=True, slots=True)
class _CustomRoot(SchemaShape):
    """A custom resource: its metadata is that of every kind, whatever the schema says about it."""

    def field(self, name: str) -> Shape:
        return BuiltinShape("", "metadata") if name == "metadata" else SchemaShape.field(self, name)


def shape_of(kind: Kind) -> Shape:
    """The shape of whole objects of ``kind``."""
    if kind.crd_uid is None:
        return BuiltinShape()
    return _CustomRoot(kind.schema or {})
