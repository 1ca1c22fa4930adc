"""OpenAPI v2: one document for the whole server.

It is composed of a piece for each group-version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import trio

from dynkube.meta import GroupVersion
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import builtin_schemas
from dynkube_testing._wire.discovery import Discovery, Document
from dynkube_testing._wire.openapi import gnostic, operations, parameters
from dynkube_testing._wire.openapi.definitions import builtin_v2, custom_definitions
from dynkube_testing._wire.openapi.naming import V2_PREFIX
from dynkube_testing._wire.openapi.operations import Operation, Path
from dynkube_testing._wire.openapi.parameters import Parameter
from dynkube_testing._wire.openapi.published import SECURITY, Published, same

# Paths or definitions encoded between two checkpoints: a few milliseconds in the slower form.
_SLICE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueForm:
    """An encoding of the document: functions for a path, a definition, and the document as a whole."""

    content_type: str
    path: Callable[[str, Mapping[str, Any]], bytes]
    definition: Callable[[str, Mapping[str, Any]], bytes]
    document: Callable[[Mapping[str, Any], Iterable[bytes], Iterable[bytes]], bytes]


def _json_entry(name: str, part: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(name) + b":" + msgspec.json.encode(part)


def _json_document(part: Mapping[str, Any], paths: Iterable[bytes], definitions: Iterable[bytes]) -> bytes:
    joined = {"paths": b",".join(paths), "definitions": b",".join(definitions)}
    return msgspec.json.encode({**part, **{key: msgspec.Raw(b"{" + value + b"}") for key, value in joined.items()}})


JSON = ValueForm(content_type="application/json", path=_json_entry, definition=_json_entry, document=_json_document)
PROTOBUF = ValueForm(
    content_type="application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    path=lambda name, part: gnostic.named(2, name, gnostic.path_item(part)),
    definition=lambda name, part: gnostic.named(1, name, gnostic.schema(part)),
    document=gnostic.document,
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The encoded part of the document for one group-version, in one form."""

    kinds: tuple[Kind, ...]
    paths: tuple[bytes, ...]
    definitions: tuple[bytes, ...]


class DocumentV2:
    """The document of the kinds that ``discovery`` lists.

    Its pieces are cached until their kinds change.

    Args:
        discovery: Lists the served kinds.
        version: The version of the server, like ``1.36``.
    """

    def __init__(self, discovery: Discovery, version: str) -> None:
        self._discovery = discovery
        self._frame = _frame(version)
        self._pieces: dict[tuple[str, GroupVersion], _Piece] = {}
        self._builtin: dict[str, tuple[bytes, ...]] = {}
        self._last: dict[str, tuple[tuple[_Piece, ...], Published]] = {}

    async def published(self, form: ValueForm) -> Published:
        """Return the document in one form.

        Building it has checkpoints, so that it does not block the event loop. The built-in part is built only once.
        """
        pieces = tuple([await self._piece(form, gv) for gv in self._discovery.group_versions()])
        last = self._last.get(form.content_type)
        if last is None or not same(last[0], pieces):
            builtin = await self._builtin_definitions(form)
            paths = (path for piece in pieces for path in piece.paths)
            custom = (definition for piece in pieces for definition in piece.definitions)
            last = pieces, Published.of(form.document(self._frame, paths, (*builtin, *custom)))
            self._last[form.content_type] = last
        return last[1]

    async def _piece(self, form: ValueForm, gv: GroupVersion) -> _Piece:
        kinds, key = self._discovery.kinds(gv), (form.content_type, gv)
        held = self._pieces.get(key)
        if held is None or not same(held.kinds, kinds):
            paths = await _written(
                form.path, ((item.path, _path_item(item)) for item in operations.paths_of_version(gv, kinds))
            )
            schemas = (entry for kind in kinds for entry in custom_definitions(kind, v2=True))
            held = self._pieces[key] = _Piece(kinds, paths, await _written(form.definition, schemas))
        return held

    async def _builtin_definitions(self, form: ValueForm) -> tuple[bytes, ...]:
        if form.content_type not in self._builtin:
            schemas = ((name, builtin_v2(name)) for name in builtin_schemas().definitions)
            self._builtin[form.content_type] = await _written(form.definition, schemas)
        return self._builtin[form.content_type]


async def _written(
    write: Callable[[str, Mapping[str, Any]], bytes], entries: Iterable[tuple[str, Document]]
) -> tuple[bytes, ...]:
    written: list[bytes] = []
    for name, part in entries:
        written.append(write(name, part))
        if len(written) % _SLICE == 0:
            await trio.lowlevel.checkpoint()
    return tuple(written)


def _frame(version: str) -> Document:
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "parameters": {name: _parameter(parameter) for parameter, name in parameters.SHARED.items()},
        "securityDefinitions": SECURITY,
        "security": [{name: [] for name in SECURITY}],
    }


# ── as version 2 writes them ──────────────────────────────────────────────────────────────────


def _path_item(item: Path) -> Document:
    common = item.common_parameters()
    written: Document = {operation.method: _operation(operation, common) for operation in item.operations}
    if common:
        written["parameters"] = [_reference(parameter) for parameter in common]
    return written


def _operation(operation: Operation, common: tuple[Parameter, ...]) -> Document:
    own = [_reference(parameter) for parameter in operation.parameters if parameter not in common]
    shown = {"schema": {"$ref": V2_PREFIX + operation.schema} if operation.schema else {"type": "string"}}
    written: Document = {
        "description": operation.description,
        "produces": operation.media_types,
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
    }
    if operation.body is not None:
        body: Document = {"name": "body", "in": "body", "schema": {"$ref": V2_PREFIX + operation.body.schema}}
        own.insert(0, body | {"required": True} if operation.body.required else body)
        written["consumes"] = operation.body.media_types
    if own:
        written["parameters"] = own
    written["responses"] = operation.responses(shown)
    return written | operation.extensions()


def _reference(parameter: Parameter) -> Document:
    name = parameters.SHARED.get(parameter)
    return _parameter(parameter) if name is None else {"$ref": f"#/parameters/{name}"}


def _parameter(parameter: Parameter) -> Document:
    written: Document = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.place,
    }
    return written | {"required": True} if parameter.place == "path" else written
