"""Fields of a kind, from the schemas of an OpenAPI v3 document or of a CRD. Pure.

A schema refers to others by ``$ref``, alone or in ``allOf``; lists and maps are passed through, so that a path names
fields only: ``spec.template.spec.containers.image``. Types are written as ``kubectl explain`` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from dynkube.meta import GVK

Schema: TypeAlias = Mapping[str, Any]

_REF: Final = "#/components/schemas/"
_GVKS: Final = "x-kubernetes-group-version-kind"
_MOST: Final = 20_000  # fields of one recursive explanation; a Pod has about a thousand
_DEEPEST: Final = 40


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a kind.

    Attributes:
        name: its name.
        type: as kubectl writes it: ``"string"``, ``"[]Container"``, ``"map[string]string"``, ``"Object"``.
        description: its text; may be empty.
        required: whether the server requires it.
        enum: its allowed values, if they are restricted.
        fields: the fields below it, if a recursive explanation was requested.
    """

    name: str
    type: str
    description: str
    required: bool
    enum: tuple[Any, ...] = ()
    fields: tuple[SchemaField, ...] = ()


class Schemas:
    """The schemas of one document, decoded when they are used.

    Args:
        raw: JSON by the name of the schema.
    """

    def __init__(self, raw: Mapping[str, msgspec.Raw]) -> None:
        self._raw = raw
        self._decoded: dict[str, Schema] = {}

    def of_kind(self, gvk: GVK) -> Schema | None:
        """Return the schema of a kind."""
        for name, raw in self._raw.items():
            for found in _kinds.decode(raw).kinds:
                if (found.group, found.version, found.kind) == (gvk.group, gvk.version, gvk.kind):
                    return self._named(name)
        return None

    def _named(self, name: str) -> Schema:
        if name not in self._decoded:
            self._decoded[name] = msgspec.json.decode(self._raw[name], type=dict[str, Any]) if name in self._raw else {}
        return self._decoded[name]

    def resolved(self, schema: Schema) -> Schema:
        """Return the schema that ``schema`` refers to; itself if it refers to none."""
        reference = schema.get("$ref")
        return self._named(reference.removeprefix(_REF)) if isinstance(reference, str) else schema

    def follow(self, schema: Schema, name: str) -> Schema | None:
        """Return the schema of a field, through lists and maps; ``None`` if there is no such field."""
        return next((each[name] for _, each in self._properties(schema) if name in each), None)

    def names(self, schema: Schema) -> list[str]:
        """Return the names of the fields of a schema, sorted."""
        return sorted({name for _, each in self._properties(schema) for name in each})

    def _properties(self, schema: Schema) -> Iterator[tuple[Schema, dict[str, Schema]]]:
        """Yield the schemas that have a schema's fields, with these."""
        pending, seen = [(schema, 0)], set[str]()
        while pending:
            current, depth = pending.pop(0)
            reference = current.get("$ref")
            if depth > _DEEPEST or (isinstance(reference, str) and reference in seen):
                continue
            if isinstance(reference, str):
                seen.add(reference)
            found = self.resolved(current)
            properties = found.get("properties")
            if isinstance(properties, dict):
                yield found, {name: each for name, each in properties.items() if isinstance(each, dict)}
            pending += [(inner, depth + 1) for inner in _inner(found)]

    def fields(self, schema: Schema, *, recursive: bool) -> tuple[SchemaField, ...]:
        """Return the fields of a schema, sorted by name."""
        return self._fields(schema, recursive, frozenset(), [_MOST])

    def _fields(
        self, schema: Schema, recursive: bool, above: frozenset[str], left: list[int]
    ) -> tuple[SchemaField, ...]:
        references = self._references(schema)
        if references & above:  # such as the schemas of a CRD, which contain themselves
            return ()
        found = {}
        for owner, properties in self._properties(schema):
            required = owner.get("required")
            for name, each in properties.items():
                left[0] -= 1
                if name not in found and left[0] >= 0:
                    below = self._fields(each, True, above | references, left) if recursive else ()
                    is_required = isinstance(required, list) and name in required
                    found[name] = self._field(name, each, is_required, below)
        return tuple(found[name] for name in sorted(found))

    def _field(self, name: str, schema: Schema, required: bool, below: tuple[SchemaField, ...]) -> SchemaField:
        enum = schema.get("enum")
        text = schema.get("description")
        return SchemaField(
            name=name,
            type=self.type_of(schema),
            description=text if isinstance(text, str) else "",
            required=required,
            enum=tuple(enum) if isinstance(enum, list) else (),
            fields=below,
        )

    def _references(self, schema: Schema) -> frozenset[str]:
        """Return the names that a schema refers to, itself or as a list, map or ``allOf``."""
        pending, found = [schema], set[str]()
        while pending:
            current = pending.pop()
            reference = current.get("$ref")
            if isinstance(reference, str):
                found.add(reference)
            pending += _inner(current)
        return frozenset(found)

    def description(self, schema: Schema) -> str:
        """Return the texts of a schema and of those that it refers to, one after the other."""
        pending, texts, left = [schema], list[str](), _DEEPEST
        while pending and left:
            left -= 1
            found = self.resolved(pending.pop(0))
            text = found.get("description")
            texts += [text] if isinstance(text, str) and text else []
            pending = [*_inner(found), *pending]
        return "\n".join(texts)

    def type_of(self, schema: Schema) -> str:
        """Return the type of a schema as kubectl writes it."""
        prefix = ""
        for _ in range(_DEEPEST):
            items, extra, parts = (schema.get(name) for name in ("items", "additionalProperties", "allOf"))
            if isinstance(items, dict):
                prefix, schema = f"{prefix}[]", items
            elif isinstance(extra, dict) and extra:
                prefix, schema = f"{prefix}map[string]", extra
            elif isinstance(parts, list) and len(parts) == 1 and not schema.get("properties"):
                schema = parts[0]
            else:
                break
        return prefix + self._name_of(schema)

    def _name_of(self, schema: Schema) -> str:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            kind = self.resolved(schema).get("type") or "object"
            if kind == "object":
                return reference.rpartition("/")[2].rpartition(".")[2] or "Object"
            return str(kind)
        kind = schema.get("type")
        return "Object" if kind in (None, "object") else str(kind)


def _inner(schema: Schema) -> list[Schema]:
    """Return the schemas whose fields are also those of ``schema``."""
    parts = schema.get("allOf")
    found = [*parts] if isinstance(parts, list) else []
    found += [schema.get("items"), schema.get("additionalProperties")]
    return [each for each in found if isinstance(each, dict)]


class _Kind(msgspec.Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Kinds(msgspec.Struct):
    kinds: list[_Kind] = msgspec.field(default_factory=list, name=_GVKS)


_kinds: Final = msgspec.json.Decoder(_Kinds)
