"""A schema in the dialect of ``openAPIV3Schema``, as a graph of nodes.

Nodes are made on first use: schemas of built-in kinds are large, share parts, and may be recursive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Source: TypeAlias = Mapping[str, Any]

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


class Structural:
    """The nodes of one schema; the same sub-schema (by identity) has one node.

    Args:
        source: The schema as decoded JSON. It is kept, and must not be changed.
        version: Its API version, if there are several.
    """

    __slots__ = ("__weakref__", "_nodes", "root", "source", "version")

    def __init__(self, source: Source, version: str = "") -> None:
        self.source = source
        self.version = version
        self._nodes: dict[int, Node] = {}
        self.root = self.node(source)

    def node(self, source: Source) -> Node:
        """Return the node of ``source``, a part of this schema."""
        found = self._nodes.get(id(source))
        if found is None:
            # The node refers to its source, so the id is not reused.
            found = self._nodes[id(source)] = Node(source, self)
        return found


class Node:
    """One schema inside another: its keywords, and the nodes below.

    Attributes:
        source: Its keywords, for those without an attribute.
        types: The names in ``type``; two of them for ``x-kubernetes-int-or-string``.
        nullable: Whether ``null`` is allowed.
        has_default: Whether there is a default that is not ``null``.
        preserves: Whether unknown fields are kept.
        embedded: Whether the value is a Kubernetes object, with metadata.
        list_type: ``"set"``, ``"map"`` or ``"atomic"``.
        map_keys: The key fields of items of a ``map``.
    """

    __slots__ = (
        "_additional",
        "_items",
        "_properties",
        "_structural",
        "_with_defaults",
        "_with_rules",
        "allows_additional",
        "checks",
        "embedded",
        "has_default",
        "list_type",
        "map_keys",
        "nullable",
        "preserves",
        "rules",
        "source",
        "types",
    )

    def __init__(self, source: Source, structural: Structural) -> None:
        self.source = source
        self._structural = structural
        int_or_string = source.get("x-kubernetes-int-or-string") is True
        kind = source.get("type")
        self.types: tuple[str, ...] = ("integer", "string") if int_or_string else (kind,) if kind else ()
        self.nullable: bool = source.get("nullable") is True
        self.has_default: bool = source.get("default") is not None
        self.preserves: bool = source.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded: bool = source.get("x-kubernetes-embedded-resource") is True
        self.list_type: str = source.get("x-kubernetes-list-type") or "atomic"
        self.map_keys: tuple[str, ...] = tuple(source.get("x-kubernetes-list-map-keys") or ())
        self._properties: dict[str, Node] | None = None
        self._items: Node | None = None
        self._additional: Node | None = None
        additional = source.get("additionalProperties")
        #: Whether ``additionalProperties`` is present; ``true`` gives no schema for them.
        self.allows_additional: bool = additional is not None
        self._with_defaults: bool | None = None
        self._with_rules: bool | None = None
        #: A cache of ``validation``.
        self.checks: object = None
        #: A cache of ``cel``.
        self.rules: Any = None

    @property
    def properties(self) -> dict[str, Node]:
        """Nodes of the named fields."""
        if self._properties is None:
            named: Mapping[str, Source] = self.source.get("properties") or {}
            self._properties = {name: self._structural.node(schema) for name, schema in named.items()}
        return self._properties

    @property
    def items(self) -> Node | None:
        """Node of the items of a list."""
        if self._items is None and isinstance(items := self.source.get("items"), Mapping):
            self._items = self._structural.node(items)
        return self._items

    @property
    def additional(self) -> Node | None:
        """Node of the fields that are not in :attr:`properties`."""
        if self._additional is None and isinstance(schema := self.source.get("additionalProperties"), Mapping):
            self._additional = self._structural.node(schema)
        return self._additional

    def field(self, name: str) -> Node | None:
        """Return the node of a field, from ``properties`` or ``additionalProperties``."""
        return self.properties.get(name) or self.additional

    def branches(self, keyword: str) -> tuple[Node, ...]:
        """Return the nodes under ``allOf``, ``anyOf`` or ``oneOf``."""
        return tuple(self._structural.node(schema) for schema in self.source.get(keyword) or ())

    @property
    def negated(self) -> Node | None:
        """Node under ``not``."""
        schema = self.source.get("not")
        return self._structural.node(schema) if isinstance(schema, Mapping) else None

    @property
    def default(self) -> object:
        """The default, which must be copied before it is put into an object."""
        return self.source.get("default")

    @property
    def with_defaults(self) -> bool:
        """Whether there is a default anywhere below, including those for ``null`` items."""
        if self._with_defaults is None:
            self._with_defaults = False  # the value for recursive schemas
            below = [*self.properties.values(), self.items, self.additional]
            self._with_defaults = any(node is not None and (node.has_default or node.with_defaults) for node in below)
        return self._with_defaults

    @property
    def with_rules(self) -> bool:
        """Whether there are rules (``x-kubernetes-validations``) here or anywhere below."""
        if self._with_rules is None:
            self._with_rules = bool(self.source.get("x-kubernetes-validations"))
            below = [*self.properties.values(), self.items, self.additional, *self.branches("allOf")]
            self._with_rules = self._with_rules or any(node is not None and node.with_rules for node in below)
        return self._with_rules
