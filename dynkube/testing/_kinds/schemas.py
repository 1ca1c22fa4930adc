"""The built-in types: the schemas of an OpenAPI document, without descriptions.

They are read on first use from ``builtin_schemas.json.gz``, which ``tools/builtin_schemas.py`` writes from a release of
Kubernetes; what is known from Go's types only is in ``go_fields.json.gz``, by ``tools/go_fields.py``. There are two
forms of a type: as published (:attr:`BuiltinSchemas.definitions`, with ``$ref``), and in the dialect of a CRD's
``openAPIV3Schema`` (:meth:`BuiltinSchemas.resolved`).
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec

from dynkube.meta import GVK

# A schema as decoded JSON: its keywords are checked where they are used. Not modified after it was built.
Schema: TypeAlias = dict[str, Any]

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_PREFIX = "#/components/schemas/"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_COPIED = (
    "type",
    "format",
    "enum",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
)


# Fields that are structs and no pointers to one, or required: for the real server they are never absent.
VALUES = "x-go-values"
# Lists and maps that are written even if they are empty.
KEPT = "x-go-kept"
# Scalar fields that are omitted if they are zero.
OMITTED = "x-go-omitted"
# String fields with a named Go type, and its name; for lists it is that of the items.
TEXTS = "x-go-texts"


# Zero defaults of the keys of a list, which are part of an item's identity nevertheless.
KEY_DEFAULTS = "x-go-key-defaults"


class _File(msgspec.Struct, frozen=True):
    release: str
    definitions: dict[str, Schema]


class _GoFields(msgspec.Struct, frozen=True):
    kept: list[str]
    omitted: list[str]
    texts: dict[str, str]


class BuiltinSchemas:
    """The built-in types of one release; what is returned is shared and read-only."""

    def __init__(self) -> None:
        self._resolved: dict[str, Schema] = {}

    @cached_property
    def _file(self) -> _File:
        packed = files(__package__).joinpath("builtin_schemas.json.gz").read_bytes()
        return msgspec.json.decode(gzip.decompress(packed), type=_File)

    @cached_property
    def _go_fields(self) -> Mapping[str, _GoFields]:
        packed = files(__package__).joinpath("go_fields.json.gz").read_bytes()
        return msgspec.json.decode(gzip.decompress(packed), type=dict[str, _GoFields])

    @cached_property
    def _names(self) -> Mapping[GVK, str]:
        return {
            GVK(kind["group"], kind["version"], kind["kind"]): name
            for name, schema in self.definitions.items()
            for kind in schema.get("x-kubernetes-group-version-kind", ())
        }

    @property
    def release(self) -> str:
        """The release they were read from, like ``"1.36.3"``."""
        return self._file.release

    @property
    def definitions(self) -> Mapping[str, Schema]:
        """Every type by its published name (``io.k8s.api.core.v1.PodSpec``).

        References are ``$ref``, as published.
        """
        return self._file.definitions

    def name_of(self, gvk: GVK) -> str | None:
        """Return the type of a built-in kind or its list; ``None`` for other kinds."""
        return self._names.get(gvk)

    def resolved(self, name: str) -> Schema:
        """Return a type in the dialect of ``openAPIV3Schema``.

        References are replaced by the types they name; the same type is the same dict wherever it is referred to, also
        inside itself (``JSONSchemaProps``), so a walk over a schema must stop by identity, or by an object's depth.
        Fields that allow any value have ``x-kubernetes-preserve-unknown-fields``, those for numbers or strings
        ``x-kubernetes-int-or-string``, and quantities have the format ``quantity``. Empty defaults are removed: they
        only mean that the field's Go type has no null, and :data:`VALUES` lists these fields. :data:`KEPT`,
        :data:`OMITTED` and :data:`TEXTS` have further facts about Go's types. The title of a type is its name in Go's
        messages (``v1.PodSpec``).

        Raises:
            KeyError: There is no such type.
        """
        if name not in self._resolved:
            schema = self._resolved[name] = {}
            schema.update(_special(name) or self._translated(self.definitions[name]))
            package, _, go_name = name.rpartition(".")
            schema["title"] = f"{package.rpartition('.')[2]}.{go_name}"
            if (more := self._go_fields.get(name)) is not None:
                schema |= {KEPT: more.kept, OMITTED: more.omitted, TEXTS: more.texts}
        return self._resolved[name]

    def _translated(self, schema: Schema) -> Schema:
        """Return ``schema`` in the dialect.

        A mere reference returns its target itself, not a copy.
        """
        target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), None)
        own = {key: schema[key] for key in _COPIED if key in schema}
        if default := schema.get("default"):
            own["default"] = default
        if target is not None:
            referred = self.resolved(target.removeprefix(_PREFIX))
            return {**referred, **own} if own else referred
        for key in ("items", "additionalProperties"):
            if key in schema:
                own[key] = self._translated(schema[key])
        if empty := self._empty_keys(schema):
            own[KEY_DEFAULTS] = empty
        if "properties" in schema:
            own["properties"] = {key: self._translated(part) for key, part in schema["properties"].items()}
            structs = {key for key, part in schema["properties"].items() if part.get("default") == {}}
            if present := sorted(structs.union(schema.get("required", ()))):
                own[VALUES] = present
        elif own.get("type", "object") == "object" and "additionalProperties" not in own:
            # The content is unknown, so merges treat it as one value.
            own |= {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}
        return own

    def _empty_keys(self, schema: Schema) -> Schema:
        """Return the zero defaults of the keys of a list."""
        keys, items = schema.get("x-kubernetes-list-map-keys", ()), schema.get("items", {})
        target = items.get("$ref") or next((part["$ref"] for part in items.get("allOf", ())), None)
        fields = (self.definitions[target.removeprefix(_PREFIX)] if target else items).get("properties", {})
        found = {key: fields.get(key, {}).get("default") for key in keys}
        return {key: default for key, default in found.items() if default is not None and not default}


def _special(name: str) -> Schema | None:
    """Return the schema of a type that the document describes incompletely."""
    if name == _QUANTITY:
        return {"format": "quantity", "oneOf": [{"type": "string"}, {"type": "number"}]}
    if name == _INT_OR_STRING:
        return {"x-kubernetes-int-or-string": True}
    return None


@cache
def builtin_schemas() -> BuiltinSchemas:
    """Return the types in the package: constants, so that a process reads them once."""
    return BuiltinSchemas()
