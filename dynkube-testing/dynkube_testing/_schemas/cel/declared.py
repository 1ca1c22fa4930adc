"""Types of CEL expressions from schemas, with the largest and smallest sizes of their values.

The sizes are those that kube-apiserver takes for the costs of rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.names import escaped
from dynkube_testing._schemas.structural import Source

#: The largest request that a server accepts, in bytes.
MAX_REQUEST = 3 * 1024 * 1024
_MAX_TEXT = MAX_REQUEST - 2
_STRING: Source = {"type": "string"}
_NAMES: Source = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """The type of the values of a schema.

    Attributes:
        type: The type in CEL.
        fields: The fields of an object, by their names in CEL.
        item: The type of the items of a list or the values of a map.
        most: The largest number of items, fields, or characters.
        least_bytes: The size of the smallest value as JSON.
    """

    type: Type
    fields: Mapping[str, Declared] | None = None
    item: Declared | None = None
    most: int = 0
    least_bytes: int = 1

    def named(self, name: str) -> Declared:
        """Return the declaration with ``name`` as the name of its object type, and as a prefix of those inside."""
        if self.fields is not None:
            fields = {each: below.named(f"{name}.{each}") for each, below in self.fields.items()}
            return Declared(Type("struct", name), fields, least_bytes=self.least_bytes)
        if self.item is None:
            return self
        if self.type.kind == "map":
            item = self.item.named(f"{name}.@elem")
            return replace(self, type=types.map_of(types.STRING, item.type), item=item)
        item = self.item.named(f"{name}.@idx")
        return replace(self, type=types.list_of(item.type), item=item)

    def structs(self) -> dict[str, Declared]:
        """Return all object types in the declaration, by name."""
        found = {} if self.fields is None else {self.type.name: self}
        for below in (*(self.fields or {}).values(), *([self.item] if self.item is not None else [])):
            found |= below.structs()
        return found

    def at(self, path: tuple[str, ...]) -> Declared | None:
        """Return the declaration at a path of fields, ``@items``, ``@values`` and ``@keys``."""
        if not path:
            return self
        match path[0]:
            case "@items" | "@values":
                below = self.item
            case "@keys":
                below = _KEY if self.type.kind == "map" else None
            case name:
                below = (self.fields or {}).get(name)
        return below.at(path[1:]) if below is not None else None


_KEY = Declared(types.STRING, least_bytes=2)


def declared(schema: Source, *, resource: bool = False) -> Declared | None:
    """Return the declaration of a schema; ``None`` if CEL cannot use its values.

    Args:
        schema: A structural schema.
        resource: Whether it is that of a Kubernetes object; ``x-kubernetes-embedded-resource`` counts as well.
    """
    if schema.get("x-kubernetes-int-or-string"):
        limit = schema.get("maxLength")
        return Declared(types.DYN, most=_MAX_TEXT if limit is None else max(limit, 0) * 4)
    if resource or schema.get("x-kubernetes-embedded-resource"):
        schema = _with_identity(schema)
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            additional = schema.get("additionalProperties")
            return _map(schema, additional) if isinstance(additional, dict) else _object(schema)
        case "string":
            return _text(schema)
        case "boolean":
            return Declared(types.BOOL, least_bytes=4)
        case "number":
            return Declared(types.DOUBLE)
        case "integer":
            return Declared(types.INT)
    return None


def _with_identity(schema: Source) -> Source:
    """Return the schema of an object with apiVersion, kind and names, which rules may always use."""
    properties = schema.get("properties", {})
    metadata = properties.get("metadata", {})
    texts = [
        *(properties.get(name, {}) for name in ("kind", "apiVersion")),
        *(metadata.get("properties", {}).get(name, {}) for name in ("name", "generateName")),
    ]
    if metadata.get("type") == "object" and all(text.get("type") == "string" for text in texts):
        return schema
    return {**schema, "properties": {**properties, "kind": _STRING, "apiVersion": _STRING, "metadata": _NAMES}}


def _list(schema: Source) -> Declared | None:
    items = schema.get("items")
    item = declared(items) if isinstance(items, dict) else None
    if item is None:
        return None
    limit = schema.get("maxItems")
    most = (MAX_REQUEST - 2) // (item.least_bytes + 1) if limit is None else max(limit, 0)
    return Declared(types.list_of(item.type), item=item, most=most, least_bytes=2)


def _map(schema: Source, additional: Source) -> Declared | None:
    item = declared(additional)
    if item is None:
        return None
    limit = schema.get("maxProperties")
    most = (MAX_REQUEST - 2) // (item.least_bytes + 6) if limit is None else max(limit, 0)
    return Declared(types.map_of(types.STRING, item.type), item=item, most=most, least_bytes=2)


def _object(schema: Source) -> Declared:
    fields: dict[str, Declared] = {}
    least = 2
    for name, below in schema.get("properties", {}).items():
        content = declared(below)
        if content is None:
            continue
        if (short := escaped(name)) is not None:
            fields[short] = content
        if name in schema.get("required", ()) and below.get("default") is None:
            least += len(name.encode()) + content.least_bytes + 4
    return Declared(Type("struct", "object"), fields, least_bytes=least)


def _text(schema: Source) -> Declared:
    limit, given = schema.get("maxLength"), schema.get("format")
    if given == "byte":
        return Declared(types.BYTES, most=_MAX_TEXT if limit is None else max(limit, 0), least_bytes=2)
    if given in _TIMES:
        return _TIMES[given]
    if limit is not None:
        most = max(limit, 0) * 4
    elif enum := schema.get("enum"):
        most = max((len(value.encode()) for value in enum if isinstance(value, str)), default=0)
    else:
        most = _MAX_TEXT
    return Declared(types.STRING, most=most, least_bytes=2)


_TIMES = {
    "duration": Declared(types.DURATION, most=32, least_bytes=3),
    "date": Declared(types.TIMESTAMP, most=12, least_bytes=12),
    "date-time": Declared(types.TIMESTAMP, most=32, least_bytes=21),
}
