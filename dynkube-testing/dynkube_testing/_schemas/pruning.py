"""Pruning: removal of fields that are not in the schema.

Nulls that the schema does not allow, and has no default for, are removed too, as the real server drops them while
decoding. Objects are not modified. The result shares unchanged parts with its input.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.schemas import KEPT, OMITTED
from dynkube_testing._schemas.objectmeta import pruned_metadata
from dynkube_testing._schemas.structural import META_FIELDS, Node

# The path of a value: the parent's path and a field name or index; ``None`` for the whole object. It is formatted by
# ``path_text`` only if it is reported.
Place: TypeAlias = "tuple[Place, str | int] | None"


def pruned(obj: JSONObject, node: Node, *, nulls: bool = False) -> tuple[JSONObject, list[str]]:
    """Prune a custom resource; return it and the sorted paths of unknown fields.

    apiVersion, kind and metadata are always known, and metadata is not pruned. With ``nulls``, nulls that the schema
    does not allow are kept, so that validation reports them.
    """
    walk = _Walk(keeps_nulls=nulls)
    result = walk.prune_object(obj, node, None, preserve=node.preserves, embedded=True)
    return result, sorted(walk.unknown) + sorted(walk.unknown_metadata)


def pruned_all(obj: JSONObject, node: Node) -> tuple[JSONObject, list[str]]:
    """Prune an object of a built-in kind; return it and the paths of unknown fields.

    Unlike in :func:`pruned`, metadata is pruned by the schema too. Paths are in the order of the fields in the object,
    as Go's decoder reports them. Empty lists and maps are removed, as Go's encoder omits them, unless the field is
    required.
    """
    walk = _Walk(omits_empty=True)
    return walk.prune_object(obj, node, None, preserve=node.preserves, embedded=False), walk.unknown


class _Walk:
    """One walk over an object, which prunes it and collects unknown fields."""

    __slots__ = ("keeps_nulls", "omits_empty", "unknown", "unknown_metadata")

    def __init__(self, *, omits_empty: bool = False, keeps_nulls: bool = False) -> None:
        self.keeps_nulls = keeps_nulls
        self.omits_empty = omits_empty
        self.unknown: list[str] = []
        self.unknown_metadata: list[str] = []

    def prune(self, value: Any, node: Node | None, place: Place, *, preserve: bool = False) -> Any:
        """Prune a value.

        ``preserve`` is whether the value is in a list whose schema preserves unknown fields.
        """
        if isinstance(value, dict):
            if node is None:
                if not preserve:
                    self._note(value, place)
                return value if preserve or not value else {}
            preserve = preserve or node.preserves
            return self.prune_object(value, node, place, preserve=preserve, embedded=node.embedded)
        if isinstance(value, list):
            preserve = preserve or (node is not None and node.preserves)
            items = node.items if node is not None else None
            result = [self.prune(item, items, (place, index), preserve=preserve) for index, item in enumerate(value)]
            changed = any(before is not after for before, after in zip(value, result, strict=True))
            return result if changed else value
        return value

    def prune_object(
        self, value: JSONObject, node: Node, place: Place, *, preserve: bool, embedded: bool
    ) -> JSONObject:
        properties, additional = node.properties, node.additional
        kept: JSONObject = {}
        changed = False
        for name, content in value.items():
            if embedded and name in META_FIELDS:
                kept[name] = self._meta(name, content, place) if place is not None else content
                changed = changed or kept[name] is not content
                continue
            child = properties.get(name)
            if child is None and not node.allows_additional:
                if preserve:
                    kept[name] = content
                    continue
                if place is not None or name not in META_FIELDS:
                    self.unknown.append(path_text((place, name)))
                changed = True
                continue
            child = child or additional
            refused = content is None and child is not None and not child.nullable and not child.has_default
            if refused and not self.keeps_nulls:
                changed = True
                if self.omits_empty and name not in properties and child is not None and child.types == ("string",):
                    kept[name] = ""  # a Go map of strings stores null as ""
                continue
            after = self.prune(content, child, (place, name))
            if self.omits_empty and _is_omitted(name, after, node, child):
                changed = True
                continue
            kept[name] = after
            changed = changed or after is not content
        return kept if changed else value

    def _note(self, value: JSONObject, place: Place) -> None:
        self.unknown += [path_text((place, name)) for name in value]

    def _meta(self, name: str, content: object, place: Place) -> object:
        """Return the metadata of an embedded object without fields unknown to ObjectMeta."""
        if name != "metadata" or not isinstance(content, dict):
            return content
        result, unknown = pruned_metadata(content)
        self.unknown_metadata += [f"{path_text(place)}.{path}" for path in unknown]
        return result


_NEVER_OMITTED = {"managedFields", "policies"}


def _is_omitted(name: str, value: object, parent: Node, child: Node | None) -> bool:
    """Return whether Go's encoder would omit a field with an empty value.

    Structs are always kept. So are some lists, because empty ones are not the same as missing ones: an empty
    ``managedFields`` resets it, and the ``policies`` of a HorizontalPodAutoscaler have a default.
    """
    if name in parent.source.get(OMITTED, ()):
        return value in (False, 0, "")
    if not isinstance(value, dict | list) or value or child is None or name in _NEVER_OMITTED:
        return False
    is_map = child.allows_additional and not child.properties
    kept = name in (parent.source.get("required") or ()) or name in parent.source.get(KEPT, ())
    return (is_map or isinstance(value, list)) and not kept


def path_text(place: Place) -> str:
    """Return a path in the form of error messages: ``spec.items[0].name``."""
    parts: list[str] = []
    while place is not None:
        place, step = place
        parts.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(parts)).removeprefix(".")
