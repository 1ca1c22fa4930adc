"""Correlation of the values in a new object with those in the old one.

It serves validation ratcheting (KEP-4008): an update may keep values that have become invalid.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dynkube_testing._schemas.structural import Node


class Link:
    """A value, and the old value that it replaces.

    Fields correspond if their names are equal. Items of a list correspond only if the list type is ``map`` and their
    keys are equal.
    """

    __slots__ = ("_by_keys", "_equal", "_links", "node", "old", "value")

    def __init__(self, value: Any, old: Any, node: Node) -> None:
        self.value = value
        self.old = old
        self.node = node
        self._links: dict[str, Link | None] = {}
        self._by_keys: dict[bytes | None, Any] | None = None
        self._equal: bool | None = None

    def key(self, name: str) -> Link | None:
        """Return the link of a field; ``None`` if the field has no old value or no schema."""
        if name not in self._links:
            self._links[name] = self._field(name)
        return self._links[name]

    def index(self, index: int) -> Link | None:
        """Return the link of an item; ``None`` if it has no old item or no schema.

        Links of items are not cached, because for a long list they would take more memory than the list itself.
        """
        node = self.node.items
        if node is None or self.node.list_type != "map" or not isinstance(self.old, list):
            return None
        if not isinstance(self.value, list):
            return None
        if self._by_keys is None:
            self._by_keys = {}
            for item in self.old:
                self._by_keys.setdefault(self._keys_of(item), item)
        item = self.value[index]
        before = self._by_keys.get(self._keys_of(item))
        return Link(item, before, node) if before is not None else None

    @property
    def unchanged(self) -> bool:
        """Whether both values are equal, apart from the order of items in ``map`` lists."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _field(self, name: str) -> Link | None:
        if not isinstance(self.value, dict) or not isinstance(self.old, dict):
            return None
        node = self.node.field(name)
        if node is None or name not in self.value or name not in self.old:
            return None
        return Link(self.value[name], self.old[name], node)

    def _keys_of(self, item: Any) -> bytes | None:
        if not isinstance(item, dict):
            return None
        # Compared as JSON text, which distinguishes true from 1. The inner lists distinguish an absent key from null.
        return msgspec.json.encode([[item[key]] if key in item else [] for key in self.node.map_keys])

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if isinstance(value, dict) and isinstance(old, dict):
            return len(value) == len(old) and all(self._same_field(name, old) for name in value)
        if isinstance(value, list) and isinstance(old, list) and self.node.list_type == "map" and self.node.items:
            return len(value) == len(old) and all(
                (link := self.index(index)) is not None and link.unchanged for index in range(len(value))
            )
        return same_json(value, old)

    def _same_field(self, name: str, old: dict[str, Any]) -> bool:
        link = self.key(name)
        if link is not None:
            return link.unchanged
        return name in old and self.node.field(name) is None and same_json(self.value[name], old[name])


def same_json(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON.

    Unlike ``==``, this distinguishes ``True`` from ``1``.
    """
    return bool(one == other) and _same_types(one, other)


def _same_types(one: Any, other: Any) -> bool:
    """Return whether two values that are ``==`` have booleans at the same positions."""
    if isinstance(one, dict):
        return all(_same_types(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(_same_types, one, other))
    return isinstance(one, bool) == isinstance(other, bool)
