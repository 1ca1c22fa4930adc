"""Encoded definitions for OpenAPI documents.

Definitions of built-in types are encoded once for all documents, those of custom resources for each document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import builtin_schemas
from dynkube_testing._wire.openapi import custom
from dynkube_testing._wire.openapi.custom import Schema
from dynkube_testing._wire.openapi.naming import V2_PREFIX, V3_PREFIX, is_known, list_name_of, name_of

_REFERENCE = re.compile(rb'"\$ref":"' + re.escape(V3_PREFIX.encode()) + rb'([^"]+)"')
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"


class Definitions:
    """Definitions for OpenAPI v3.

    Those of built-in types are encoded on first use and cached.
    """

    def __init__(self) -> None:
        self._encoded: dict[str, msgspec.Raw] = {}
        self._referred: dict[str, frozenset[str]] = {}

    def of(self, kinds: Iterable[Kind], names: Iterable[str]) -> dict[str, msgspec.Raw]:
        """Return the definitions of ``kinds`` and ``names``, sorted by name.

        Definitions to which these refer are included.
        """
        found: dict[str, msgspec.Raw] = {}
        wanted = set(names)
        for kind in kinds:
            for name, schema in custom_definitions(kind):
                encoded = msgspec.json.encode(schema)
                found[name] = msgspec.Raw(encoded)
                wanted |= _references(encoded)
        while wanted:
            name = wanted.pop()
            if name not in found and name in builtin_schemas().definitions:
                found[name] = self._encode(name)
                wanted |= self._referred[name]
        return dict(sorted(found.items()))

    def _encode(self, name: str) -> msgspec.Raw:
        if name not in self._encoded:
            encoded = msgspec.json.encode(builtin_schemas().definitions[name])
            self._referred[name] = _references(encoded)
            self._encoded[name] = msgspec.Raw(encoded)
        return self._encoded[name]


def custom_definitions(kind: Kind, *, v2: bool = False) -> Iterator[tuple[str, Schema]]:
    """Return the definitions of a custom kind and its list.

    There are none for built-in kinds.
    """
    if is_known(kind):
        return
    yield name_of(kind), custom.definition(kind, v2=v2)
    if "list" in kind.verbs:
        yield list_name_of(kind), custom.list_definition(kind, v2=v2)


def builtin_v2(name: str) -> Schema:
    """Return the OpenAPI v2 definition of a built-in type.

    It has no defaults, and no other keys beside references.
    """
    return _to_v2(builtin_schemas().definitions[name], name)


def _to_v2(schema: Mapping[str, Any], name: str = "") -> Schema:
    published: Schema = {key: value for key, value in schema.items() if key not in {"default", "allOf", "oneOf"}}
    for part in schema.get("allOf", ()):
        published |= part
    if "oneOf" in schema:
        published["type"] = "string"
    if name == _INT_OR_STRING:
        published["format"] = "int-or-string"
    if "$ref" in published:
        published["$ref"] = published["$ref"].replace(V3_PREFIX, V2_PREFIX)
    if "properties" in schema:
        published["properties"] = {key: _to_v2(part) for key, part in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            published[key] = _to_v2(schema[key])
    return published


def _references(encoded: bytes) -> frozenset[str]:
    return frozenset(name.decode() for name in _REFERENCE.findall(encoded))
