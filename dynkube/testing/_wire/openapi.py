"""OpenAPI v3 documents: what kubectl needs to find out that the server validates fields by itself.

kubectl looks for the ``fieldValidation`` parameter on the PATCH of a kind before it leaves validation to the server,
and refuses to create anything where it finds no document at all. Schemas of custom resources are served as
their CRD has them; built-in kinds are open objects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from dynkube.meta import GroupVersion
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._wire.discovery import Discovery, Document

_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")


def _query(name: str, kind: str, description: str) -> Document:
    return {"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": True}}


_WRITE_PARAMETERS = [
    _query("dryRun", "string", "All: carry out everything but the storing."),
    _query("fieldManager", "string", "Who makes the change."),
    _query("fieldValidation", "string", "Ignore, Warn or Strict: what to do about unknown and duplicate fields."),
]
_FORCE = _query("force", "boolean", "Take fields over from other managers; for apply only.")


class OpenAPI:
    """The documents of one registry, built when they are asked for."""

    def __init__(self, registry: Registry, discovery: Discovery, version: str) -> None:
        self._registry = registry
        self._discovery = discovery
        self._version = version
        self._cache: dict[GroupVersion, tuple[int, bytes]] = {}

    def index(self) -> Document:
        """``/openapi/v3``: where the document of each group-version is, with its hash."""
        paths: Document = {}
        for gv in self._discovery.group_versions():
            digest = hashlib.sha512(self.document(gv) or b"").hexdigest().upper()
            paths[_prefix(gv)] = {"serverRelativeURL": f"/openapi/v3/{_prefix(gv)}?hash={digest}"}
        return {"paths": paths}

    def document(self, gv: GroupVersion) -> bytes | None:
        """``/openapi/v3/apis/GROUP/VERSION``, encoded; ``None`` where it is not served."""
        held = self._cache.get(gv)
        if held is not None and held[0] == self._registry.revision:
            return held[1]
        kinds = [kind for kind in self._registry if kind.listed and kind.gvr.group_version == gv]
        if not kinds:
            self._cache.pop(gv, None)
            return None
        body = msgspec.json.encode(self._build(kinds))
        self._cache[gv] = self._registry.revision, body
        return body

    def _build(self, kinds: list[Kind]) -> Document:
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self._version},
            "paths": dict(path for kind in kinds for path in _paths(kind)),
            "components": {"schemas": {_schema_name(kind): _schema(kind) for kind in kinds}},
        }


def _prefix(gv: GroupVersion) -> str:
    return f"apis/{gv}" if gv.group else f"api/{gv}"


def _paths(kind: Kind) -> Iterator[tuple[str, Document]]:
    base = f"/{_prefix(kind.gvr.group_version)}"
    collection = (
        f"{base}/namespaces/{{namespace}}/{kind.gvr.resource}" if kind.namespaced else f"{base}/{kind.gvr.resource}"
    )
    yield collection, _operations(kind, {"get": "list", "post": "create", "delete": "deletecollection"}, ())
    if "get" in kind.verbs:
        methods = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
        yield f"{collection}/{{name}}", _operations(kind, methods, ("name",))


def _operations(kind: Kind, methods: dict[str, str], names: tuple[str, ...]) -> Document:
    in_path = (*names, "namespace") if kind.namespaced else names
    operations: Document = {
        method: _operation(kind, method, verb) for method, verb in methods.items() if verb in kind.verbs
    }
    operations["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name in in_path
    ]
    return operations


def _operation(kind: Kind, method: str, verb: str) -> Document:
    reference = {"$ref": f"#/components/schemas/{_schema_name(kind)}"}
    operation: Document = {
        "tags": [kind.gvr.group or "core"],
        "operationId": f"{verb}{kind.kind}",
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": {
            "group": kind.gvr.group,
            "version": kind.gvr.version,
            "kind": kind.kind,
        },
    }
    if method in {"post", "put", "patch"}:
        types = _PATCH_TYPES if method == "patch" else ("application/json", "application/yaml")
        schema: Document = {"type": "object"} if method == "patch" else reference  # type: ignore[assignment]  # a str is an object
        operation["parameters"] = [*_WRITE_PARAMETERS, _FORCE] if method == "patch" else _WRITE_PARAMETERS
        operation["requestBody"] = {"content": {media_type: {"schema": schema} for media_type in types}}
    return operation


def _schema_name(kind: Kind) -> str:
    group = ".".join(reversed(kind.gvr.group.split("."))) if kind.gvr.group else "io.k8s.api.core"
    return f"{group}.{kind.gvr.version}.{kind.kind}"


def _schema(kind: Kind) -> Document:
    own = kind.schema if kind.crd_uid is not None else None
    schema: Document = dict(own or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    properties = schema.get("properties")
    schema["properties"] = {
        **(properties if isinstance(properties, dict) else {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    schema["x-kubernetes-group-version-kind"] = [
        {"group": kind.gvr.group, "version": kind.gvr.version, "kind": kind.kind}
    ]
    return schema
