"""Calls on an engine with the built-in kinds, without HTTP."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import trio

from dynkube.meta import GVR, ResourceArg
from dynkube_testing._calls.api import APPLY_PATCH, MERGE_PATCH, Call, JSONObject, Verb, WatchStream
from dynkube_testing._engine import Engine
from dynkube_testing._engine_options import EngineOptions
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Kind
from tests.contract.objects import version

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Cluster:
    """Calls on one engine, by resource name; the default namespace of a namespaced resource is ``default``."""

    def __init__(self, **options: Any) -> None:
        fixed: dict[str, Any] = {"now": lambda: NOW, "random": random.Random(7), "managed_fields": False}
        self.engine = Engine(EngineOptions(**{**fixed, **options}))
        self.engine.register(*builtin_kinds())

    def kind(self, resource: str) -> Kind:
        arg = ResourceArg.parse(resource)
        found = [
            kind
            for kind in self.engine.registry
            if kind.gvr.resource == arg.name
            and arg.group in {None, kind.gvr.group}
            and arg.version in {None, kind.gvr.version}
        ]
        assert found, f"{resource} is not served"
        return found[0]

    def serves(self, resource: str) -> bool:
        return self.engine.registry.get(GVR.parse(resource)) is not None

    def request(
        self, verb: Verb, resource: str, name: str = "", *, params: dict[str, str] | None = None, **parts: Any
    ) -> Call:
        kind = self.kind(resource)
        namespace = parts.pop("namespace", None)
        if namespace is None:
            namespace = "default" if kind.namespaced and (name or verb == "create") else ""
        return Call(verb=verb, kind=kind, name=name, namespace=namespace, params=params or {}, **parts)

    def call(self, verb: Verb, resource: str, name: str = "", **parts: Any) -> JSONObject:
        return self.engine.handle(self.request(verb, resource, name, **parts)).document.data

    def create(self, resource: str, body: JSONObject, **parts: Any) -> JSONObject:
        return self.call("create", resource, body=body, **parts)

    def get(self, resource: str, name: str, **parts: Any) -> JSONObject:
        return self.call("get", resource, name, **parts)

    def update(self, resource: str, body: JSONObject, **parts: Any) -> JSONObject:
        return self.call("update", resource, body["metadata"]["name"], body=body, **parts)

    def patch(
        self, resource: str, name: str, body: object, content_type: str = MERGE_PATCH, **parts: Any
    ) -> JSONObject:
        return self.call("patch", resource, name, body=body, content_type=content_type, **parts)

    def apply(self, resource: str, body: JSONObject, manager: str, *, force: bool = False, **parts: Any) -> JSONObject:
        params = {"fieldManager": manager, "force": str(force).lower()}
        return self.patch(resource, body["metadata"]["name"], body, APPLY_PATCH, params=params, **parts)

    def delete(self, resource: str, name: str, **parts: Any) -> JSONObject:
        return self.call("delete", resource, name, **parts)

    def list_of(self, resource: str, **params: str) -> JSONObject:
        namespace = params.pop("namespace", "")
        return self.call("list", resource, namespace=namespace, params=params)

    def names(self, resource: str, **params: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.list_of(resource, **params)["items"]]

    def watch(self, resource: str, **params: str) -> WatchStream:
        namespace = params.pop("namespace", "")
        return self.engine.open_watch(self.request("watch", resource, namespace=namespace, params=params))

    async def rest_of(self, stream: WatchStream) -> list[JSONObject]:
        """End the stream now, and return the events that were not read yet."""
        self.engine.end_watches()
        return await read_ended(stream)


async def read_all(stream: WatchStream) -> list[JSONObject]:
    """Return all events until the stream ends."""
    try:
        return [json.loads(event.line) async for batch in stream for event in batch]
    finally:
        stream.close()


async def read_ended(stream: WatchStream) -> list[JSONObject]:
    """Return all events of a stream that the server has ended or is about to end; fail if it waits for its timeout."""
    with trio.fail_after(1):
        return await read_all(stream)


async def read_some(stream: WatchStream) -> list[JSONObject]:
    """Return the next batch of events."""
    return [json.loads(event.line) for event in await anext(aiter(stream))]


def crd(plural: str = "widgets", kind: str = "Widget", scope: str = "Namespaced", **spec: Any) -> JSONObject:
    """Return a CRD of the group ``example.com``."""
    names = {"plural": plural, "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": scope, "names": names, "versions": [version()], **spec},
    }


def widget(name: str = "w", api_version: str = "example.com/v1", **fields: Any) -> JSONObject:
    """Return an object of the default :func:`crd`."""
    return {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, **fields}
