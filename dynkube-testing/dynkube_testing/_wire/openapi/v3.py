"""OpenAPI v3: one document for each group-version.

An index has the documents with their hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from dynkube.meta import GroupVersion
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._wire.discovery import Discovery, Document
from dynkube_testing._wire.openapi import operations
from dynkube_testing._wire.openapi.definitions import Definitions
from dynkube_testing._wire.openapi.naming import V3_PREFIX
from dynkube_testing._wire.openapi.operations import Operation, Path
from dynkube_testing._wire.openapi.parameters import Parameter
from dynkube_testing._wire.openapi.published import SECURITY, Published, same


class DocumentsV3:
    """The documents of the kinds that ``discovery`` lists.

    They are built on request and cached until their kinds change.

    Args:
        discovery: Lists the served kinds.
        version: The version of the server, like ``1.36``.
    """

    def __init__(self, discovery: Discovery, version: str) -> None:
        self._discovery = discovery
        self._version = version
        self._definitions = Definitions()
        self._cache: dict[str, tuple[tuple[Kind, ...], Published]] = {}

    def paths(self) -> Iterator[str]:
        """Return the paths of the documents: ``api``, ``api/v1``, ``apis/apps/v1``, ..."""
        yield from ("api", "apis", "version")
        for gv in self._discovery.group_versions():
            if gv.group and self._discovery.is_builtin(gv.group):
                yield f"apis/{gv.group}"
            yield operations.prefix(gv)

    def document(self, path: str) -> Published | None:
        """Return the document at one of :meth:`paths`; ``None`` if there is none."""
        match path.split("/"):
            case ["api"]:
                return self._built(path, (), lambda: [operations.group_path("")])
            case ["apis"]:
                return self._built(path, (), lambda: [operations.groups_path()])
            case ["version"]:
                return self._built(path, (), lambda: [operations.version_path()])
            case ["apis", group] if group and self._discovery.is_builtin(group):
                return self._built(path, (), lambda: [operations.group_path(group)])
            case ["api", version]:
                return self._group_version(GroupVersion("", version))
            case ["apis", group, version] if group:
                return self._group_version(GroupVersion(group, version))
        return None

    def _group_version(self, gv: GroupVersion) -> Published | None:
        kinds = self._discovery.kinds(gv)
        if not kinds:
            self._cache.pop(operations.prefix(gv), None)
            return None
        return self._built(operations.prefix(gv), kinds, lambda: operations.paths_of_version(gv, kinds))

    def _built(self, path: str, kinds: tuple[Kind, ...], items: Callable[[], Iterable[Path]]) -> Published:
        held = self._cache.get(path)
        if held is not None and same(held[0], kinds):
            return held[1]
        published = Published.of(msgspec.json.encode(self._build(kinds, tuple(items()))))
        self._cache[path] = kinds, published
        return published

    def _build(self, kinds: tuple[Kind, ...], items: tuple[Path, ...]) -> Document:
        named = {name for item in items for operation in item.operations for name in _definitions_in(operation)}
        schemas = self._definitions.of(kinds, named)
        components: Document = {"schemas": schemas} if schemas else {}
        info = {"title": "Kubernetes", "version": self._version}
        if kinds and all(kind.crd_uid for kind in kinds):
            info = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
        else:
            components["securitySchemes"] = SECURITY
        paths = {item.path: _path_item(item) for item in sorted(items)}
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": components}


def _definitions_in(operation: Operation) -> Iterator[str]:
    if operation.schema:
        yield operation.schema
    if operation.body is not None:
        yield operation.body.schema


# ── as version 3 writes them ──────────────────────────────────────────────────────────────────


def _path_item(item: Path) -> Document:
    common = item.common_parameters()
    written: Document = {operation.method: _operation(operation, common) for operation in item.operations}
    if common:
        written["parameters"] = [_parameter(parameter) for parameter in common]
    return written


def _operation(operation: Operation, common: tuple[Parameter, ...]) -> Document:
    written: Document = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
    }
    if own := [_parameter(parameter) for parameter in operation.parameters if parameter not in common]:
        written["parameters"] = own
    if operation.body is not None:
        body: Document = {"content": _content(operation.body.schema, operation.body.media_types)}
        written["requestBody"] = body | {"required": True} if operation.body.required else body
    content = _content(operation.schema, operation.media_types)
    written["responses"] = operation.responses({"content": content})
    return written | operation.extensions()


def _parameter(parameter: Parameter) -> Document:
    written: Document = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
    return written | {"required": True} if parameter.place == "path" else written


def _content(schema: str, media_types: tuple[str, ...]) -> Document:
    plain = {"type": "string" if media_types == ("text/plain",) else "object"}
    written = {"schema": {"$ref": V3_PREFIX + schema} if schema else plain}
    return dict.fromkeys(media_types, written)
