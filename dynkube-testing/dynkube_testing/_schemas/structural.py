"""A parsed schema in the dialect of ``openAPIV3Schema``, as a graph of nodes.

Nodes are created on first use, because schemas of built-in kinds are large, share parts, and may be recursive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Source: TypeAlias = Mapping[str, Any]

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


class Structural:
    """A parsed schema, with one node for each sub-schema (by identity).

    Args:
        source: The schema as decoded JSON. It is kept, and must not be changed.
        version: The API version of the schema, if the kind has several versions.
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
            # The node keeps a reference to its source, so that the id is not reused.
            found = self._nodes[id(source)] = Node(source, self)
        return found


class Node:
    """The schema of one value: its keywords, and the nodes of fields and items.

    Attributes:
        source: The schema as decoded JSON, with the keywords that have no attribute here.
        types: The names in ``type``; two of them for ``x-kubernetes-int-or-string``.
        nullable: Whether ``null`` is allowed.
        has_default: Whether there is a default that is not ``null``.
        preserves: Whether unknown fields are kept.
        embedded: Whether the value is a Kubernetes object, with metadata.
        list_type: ``"set"``, ``"map"`` or ``"atomic"``.
        map_keys: The key fields of the items if the list type is ``map``.
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
        #: Whether ``additionalProperties`` is present. If it is ``true``, there is no schema, and no node, for them.
        self.allows_additional: bool = additional is not None
        self._with_defaults: bool | None = None
        self._with_rules: bool | None = None
        #: A cache for the module ``validation``.
        self.checks: object = None
        #: A cache for the module ``rules``.
        self.rules: Any = None

    @property
    def properties(self) -> dict[str, Node]:
        """Nodes of the fields in ``properties``, by name."""
        if self._properties is None:
            named: Mapping[str, Source] = self.source.get("properties") or {}
            self._properties = {name: self._structural.node(schema) for name, schema in named.items()}
        return self._properties

    @property
    def items(self) -> Node | None:
        """Node of the items of a list; ``None`` if there is no schema for them."""
        if self._items is None and isinstance(items := self.source.get("items"), Mapping):
            self._items = self._structural.node(items)
        return self._items

    @property
    def additional(self) -> Node | None:
        """Node of ``additionalProperties``; ``None`` if there is no schema for them."""
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
        """Node under ``not``, if any."""
        schema = self.source.get("not")
        return self._structural.node(schema) if isinstance(schema, Mapping) else None

    @property
    def default(self) -> object:
        """The default value. It is shared: copy it before adding it to an object."""
        return self.source.get("default")

    @property
    def with_defaults(self) -> bool:
        """Whether a field or item has a default, at any level below this node.

        The default of an item replaces ``null``.
        """
        if self._with_defaults is None:
            self._with_defaults = False  # read if the schema is recursive
            below = [*self.properties.values(), self.items, self.additional]
            self._with_defaults = any(node is not None and (node.has_default or node.with_defaults) for node in below)
        return self._with_defaults

    @property
    def with_rules(self) -> bool:
        """Whether this node or one below has CEL rules (``x-kubernetes-validations``)."""
        if self._with_rules is None:
            self._with_rules = bool(self.source.get("x-kubernetes-validations"))
            below = [*self.properties.values(), self.items, self.additional]
            self._with_rules = self._with_rules or any(node is not None and node.with_rules for node in below)
        return self._with_rules


def walk(value: Any, node: Node | None, path: str = "") -> Iterator[tuple[Any, Node, str]]:
    """Yield each object and list in ``value`` with its schema and path, outermost first."""
    if node is None:
        return
    if isinstance(value, dict):
        yield value, node, path
        for name, content in value.items():
            if (child := node.properties.get(name)) is not None:
                yield from walk(content, child, f"{path}.{name}" if path else name)
            elif node.additional is not None:
                yield from walk(content, node.additional, f"{path}[{name}]")
    elif isinstance(value, list):
        yield value, node, path
        for index, item in enumerate(value):
            yield from walk(item, node.items, f"{path}[{index}]")
