"""Cases: requests that may block the embedded server for all its clients."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import httpx2
import msgspec

from benchmarks.bounds.trial import Case, Trial
from dynkube_testing import APIServer

JSONObject: TypeAlias = dict[str, Any]

_CONFIGS = "/api/v1/namespaces/default/configmaps"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
_FINALIZERS = "/metadata/finalizers"
_SERVICE = "/api/v1/namespaces/default/services/a"
_JSON = "application/json"
_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_TIMEOUT = 300.0  # seconds; the process has its own deadline


class _Server:
    """An embedded server that listens on TCP, and a plain HTTP client in the same event loop."""

    def __init__(self, server: APIServer, client: httpx2.AsyncClient) -> None:
        self.server = server
        self._client = client

    async def send(self, trial: Trial, method: str, path: str, body: object, media_type: str = _JSON) -> str:
        """Send a request that is measured, and describe the response."""
        content = json.dumps(body).encode()
        trial.start(len(content))
        response = await self._client.request(
            method, path, content=content, headers={"Content-Type": media_type}, timeout=_TIMEOUT
        )
        return _described(response)

    async def patch(self, trial: Trial, kind: str, path: str, body: object) -> str:
        """Send a patch that is measured, and describe the response."""
        force = "&force=true" if kind == "apply" else ""
        return await self.send(trial, "PATCH", f"{path}?fieldManager=a{force}", body, _PATCHES[kind])


class _Status(msgspec.Struct):
    """The part of an error response that is shown; to decode all of it would block the loop that is measured."""

    message: str = ""


def _described(response: httpx2.Response) -> str:
    if response.status_code < 300:
        return f"{response.status_code}, {len(response.content):,} B"
    return f"{response.status_code} {msgspec.json.decode(response.content, type=_Status).message[:110]}"


@asynccontextmanager
async def _embedded() -> AsyncIterator[_Server]:
    async with (
        APIServer(managed_fields=False) as server,  # as those of long lists exceed the limit on an object's size
        server.serve() as endpoint,
        httpx2.AsyncClient(base_url=endpoint.url) as client,
    ):
        yield _Server(server, client)


def _config(**fields: Any) -> JSONObject:
    metadata = {"name": "a", "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def _crd(schema: JSONObject) -> JSONObject:
    """Return a CRD of Widgets with ``schema`` for their ``spec``."""
    properties = {"spec": schema}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _widget(spec: object, replaced: JSONObject | None = None) -> JSONObject:
    """Return a Widget; ``replaced`` is the one that it replaces."""
    metadata = {"name": "a", "namespace": "default"}
    if replaced is not None:
        metadata["resourceVersion"] = replaced["metadata"]["resourceVersion"]
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def _names(count: int) -> list[str]:
    return [f"example.com/{number}" for number in range(count)]


# ── JSON patches ──────────────────────────────────────────────────────────────────────────────


def _json_patch(operations: Sequence[JSONObject]) -> Case:
    async def case(trial: Trial) -> str:
        async with _embedded() as embedded:
            embedded.server.create(_config())
            return await embedded.patch(trial, "json", f"{_CONFIGS}/a", operations)

    return case


def _copies_into_itself() -> list[JSONObject]:
    copies = [
        {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/c{number}"}
        for number in range(40)
    ]
    return [{"op": "add", "path": "/metadata/annotations", "value": {"a": "x"}}, *copies]


def _on_long_list(operation: JSONObject, *, items: int) -> list[JSONObject]:
    return [{"op": "add", "path": _FINALIZERS, "value": ["e.com/x"] * items}, *[operation] * 9_999]


def _nested_by_moves() -> list[JSONObject]:
    steps: list[JSONObject] = [{"op": "add", "path": "/data", "value": {"a": {}}}]
    for _ in range(3_333):
        steps += [
            {"op": "add", "path": "/data/w", "value": {}},
            {"op": "move", "from": "/data/a", "path": "/data/w/a"},
            {"op": "move", "from": "/data/w", "path": "/data/a"},
        ]
    return steps


# ── strategic merge patches ───────────────────────────────────────────────────────────────────


def _strategic(present: JSONObject, patch: JSONObject) -> Case:
    async def case(trial: Trial) -> str:
        async with _embedded() as embedded:
            embedded.server.create(_config(**present))
            return await embedded.patch(trial, "strategic", f"{_CONFIGS}/a", patch)

    return case


def _element_order(count: int) -> Case:
    patch = {"$setElementOrder/finalizers": _names(count), "finalizers": _names(count)[::-7][::-1]}
    return _strategic({"metadata": {"finalizers": _names(count)[::2]}}, {"metadata": patch})


def _merged_by_key(count: int) -> Case:
    """Return a case that patches a Service's ports, half of which exist already."""

    def ports(first: int, step: int) -> list[JSONObject]:
        return [{"name": f"p{number}", "port": number} for number in range(first, first + count * step, step)]

    async def case(trial: Trial) -> str:
        async with _embedded() as embedded:
            service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "default"}}
            embedded.server.create({**service, "spec": {"ports": ports(1, 2)}})
            return await embedded.patch(trial, "strategic", _SERVICE, {"spec": {"ports": ports(1, 1)[::-1]}})

    return case


def _deleted_from(count: int) -> Case:
    patch = {"$deleteFromPrimitiveList/finalizers": _names(count)[::-1]}
    return _strategic({"metadata": {"finalizers": _names(count)}}, {"metadata": patch})


# ── lists of custom resources ─────────────────────────────────────────────────────────────────

_LIST_MAP: Final[JSONObject] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "value": {"type": "integer"}},
    },
}
_LIST_SET: Final[JSONObject] = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}


def _items(count: int, *, step: int = 1, **fields: Any) -> list[JSONObject]:
    return [{"name": f"n{number}", **fields} for number in range(0, count * step, step)]


def _custom(schema: JSONObject, method: str, before: object, after: object) -> Case:
    async def case(trial: Trial) -> str:
        async with _embedded() as embedded:
            embedded.server.create(_crd(schema))
            if before is not None:
                embedded.server.create(_widget(before))
            if method == "POST":
                return await embedded.send(trial, method, _WIDGETS, _widget(after))
            if method == "PUT":
                replaced = embedded.server.get("widgets.v1.example.com", "a", namespace="default")
                return await embedded.send(trial, method, f"{_WIDGETS}/a", _widget(after, replaced))
            return await embedded.patch(trial, method, f"{_WIDGETS}/a", _widget(after))

    return case


def _patterned(pattern: str, text: str) -> Case:
    return _custom({"type": "string", "pattern": pattern}, "POST", None, text)


def _many_patterns(count: int, pattern: str) -> Case:
    async def case(trial: Trial) -> str:
        properties = {f"f{number}": {"type": "string", "pattern": f"{pattern}{number}"} for number in range(count)}
        async with _embedded() as embedded:
            return await embedded.send(trial, "POST", _CRDS, _crd({"type": "object", "properties": properties}))

    return case


def _chosen(count: int) -> Case:
    """Return a case with a list of enum values, each the last allowed one."""
    schema = {"type": "array", "items": {"type": "string", "enum": _names(count)}}
    return _custom(schema, "POST", None, [_names(count)[-1]] * count)


CASES: Final[dict[str, Case]] = {
    "server: JSON patch, 40 copies into itself": _json_patch(_copies_into_itself()),
    "server: JSON patch, 10,000 copies of 10,000 items": _json_patch(
        _on_long_list({"op": "copy", "from": _FINALIZERS, "path": "/data"}, items=10_000)
    ),
    "server: JSON patch, 10,000 inserts into 100,000 items": _json_patch(
        _on_long_list({"op": "add", "path": f"{_FINALIZERS}/0", "value": "e.com/x"}, items=100_000)
    ),
    "server: JSON patch, 10,000 removals from 200,000 items": _json_patch(
        _on_long_list({"op": "remove", "path": f"{_FINALIZERS}/0"}, items=200_000)
    ),
    "server: JSON patch, 3,333 levels by moves": _json_patch(_nested_by_moves()),
    "server: JSON patch, 10,001 operations": _json_patch([{"op": "test", "path": "/data", "value": None}] * 10_001),
    "server: strategic patch, $setElementOrder of 50,000": _element_order(50_000),
    "server: strategic patch, 10,000 ports by number": _merged_by_key(10_000),
    "server: strategic patch, $deleteFromPrimitiveList of 50,000": _deleted_from(50_000),
    "server: list-map of 60,000 created": _custom(_LIST_MAP, "POST", None, _items(60_000)),
    "server: list-map of 60,000 updated": _custom(_LIST_MAP, "PUT", _items(60_000), _items(60_000)[::-1]),
    "server: list-map of 60,000 applied in another order": _custom(
        _LIST_MAP, "apply", _items(60_000), _items(60_000)[::-1]
    ),
    "server: list-map of 60,000 applied between others": _custom(
        _LIST_MAP, "apply", _items(30_000, step=2), _items(60_000)
    ),
    "server: list-map of 60,000, each twice": _custom(_LIST_MAP, "POST", None, _items(30_000) * 2),
    "server: set of 60,000 applied in another order": _custom(_LIST_SET, "apply", _names(60_000), _names(60_000)[::-1]),
    "server: 20,000 items of an enum of 20,000": _chosen(20_000),
    "server: pattern ^([a-z0-9]+-?)+$ on 27 characters": _patterned("^([a-z0-9]+-?)+$", "a" * 26 + "!"),
    "server: pattern ^([a-z0-9]+-?)+$ on 1,000,000 characters": _patterned("^([a-z0-9]+-?)+$", "a" * 1_000_000 + "!"),
    "server: pattern (.*a){1000} on 100,000 characters": _patterned("^(.*a){1000}$", "a" * 100_000 + "!"),
    "server: 500 patterns with a large program each": _many_patterns(500, r"^\pL{63}"),
    "server: 500 patterns with a program that is too large": _many_patterns(500, r"^\pL{1000}"),
    "server: format duration on 200,000 digits": _custom(
        {"type": "string", "format": "duration"}, "POST", None, "1" * 200_000
    ),
    "server: format email on 200,000 brackets": _custom(
        {"type": "string", "format": "email"}, "POST", None, "(" * 200_000
    ),
}
