"""The schemas of the built-in types, from Kubernetes' OpenAPI document.

They have no descriptions. They are read on first use from ``builtin_schemas.json.gz``, which
``tools/builtin_schemas.py`` writes from a release of Kubernetes. Facts that are only in the Go source are in
``go_fields.json.gz``, written by ``tools/go_fields.py``. A type has two forms: as published
(:attr:`BuiltinSchemas.definitions`, with ``$ref``), and in the dialect of a CRD's ``openAPIV3Schema``
(:meth:`BuiltinSchemas.resolved`).
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec

from dynkube.meta import GVK

# A schema as decoded JSON, which is never modified once it is built. Keywords are checked where they are used.
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


# The keys below are extensions of this package, for facts about a type's fields in Go.
# Fields that are required, or structs by value (not pointers): in the real server they are never absent.
VALUES = "x-go-values"
# List and map fields that are encoded even if they are empty.
KEPT = "x-go-kept"
# Scalar fields that are not encoded if they have the zero value.
OMITTED = "x-go-omitted"
# String fields with a named Go type, by field the name of the type; for lists, the type of the items.
TEXTS = "x-go-texts"


# Defaults of key fields of a list that are zero values. They are part of the key of an item without these fields.
KEY_DEFAULTS = "x-go-key-defaults"


class _File(msgspec.Struct, frozen=True):
    release: str
    definitions: dict[str, Schema]


class _GoFields(msgspec.Struct, frozen=True):
    kept: list[str]
    omitted: list[str]
    texts: dict[str, str]


class BuiltinSchemas:
    """The built-in types of one release. Returned schemas are shared and read-only."""

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
        """The Kubernetes release of the schemas, like ``"1.36.3"``."""
        return self._file.release

    @property
    def definitions(self) -> Mapping[str, Schema]:
        """All schemas by the type's published name (``io.k8s.api.core.v1.PodSpec``).

        References to other types are ``$ref``, as published.
        """
        return self._file.definitions

    def name_of(self, gvk: GVK) -> str | None:
        """Return the type name of a built-in kind or its list; ``None`` for others."""
        return self._names.get(gvk)

    def resolved(self, name: str) -> Schema:
        """Return the schema of a type in the dialect of ``openAPIV3Schema``.

        A reference is replaced by the schema of its target. All references to a type yield the same dict, even inside
        the type itself (``JSONSchemaProps``). A schema may therefore be infinitely deep: stop at dicts already visited,
        or at the depth of an object.

        Fields that allow any value have ``x-kubernetes-preserve-unknown-fields``, those for numbers or strings
        ``x-kubernetes-int-or-string``, and quantities have the format ``quantity``. Empty defaults are removed; they
        only mean that the field's Go type cannot be null, and :data:`VALUES` lists these fields. :data:`KEPT`,
        :data:`OMITTED` and :data:`TEXTS` have further facts about Go's types. The title of a type is its name in Go's
        error messages (``v1.PodSpec``).

        Raises:
            KeyError: The type does not exist.
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
        """Return ``schema`` in the dialect of ``openAPIV3Schema``.

        A schema that is only a reference yields the target itself, not a copy.
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
        """Return the :data:`KEY_DEFAULTS` of a list, by key field."""
        keys, items = schema.get("x-kubernetes-list-map-keys", ()), schema.get("items", {})
        target = items.get("$ref") or next((part["$ref"] for part in items.get("allOf", ())), None)
        fields = (self.definitions[target.removeprefix(_PREFIX)] if target else items).get("properties", {})
        found = {key: fields.get(key, {}).get("default") for key in keys}
        return {key: default for key, default in found.items() if default is not None and not default}


def _special(name: str) -> Schema | None:
    """Return the schema of a type that the OpenAPI document describes incompletely.

    ``None`` for all other types.
    """
    if name == _QUANTITY:
        return {"format": "quantity", "oneOf": [{"type": "string"}, {"type": "number"}]}
    if name == _INT_OR_STRING:
        return {"x-kubernetes-int-or-string": True}
    return None


@cache
def builtin_schemas() -> BuiltinSchemas:
    """Return the schemas in this package, which each process reads only once."""
    return BuiltinSchemas()
