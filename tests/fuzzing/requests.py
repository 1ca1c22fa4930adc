"""Requests to the embedded API server: patches of all types, and CRDs with unusual or invalid schemas."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import trio
import trio.testing
from hypothesis import strategies as st

from dynkube_testing import APIServer
from tests.fuzzing.inputs import scalars, texts, values

_PODS: Final = "/api/v1/namespaces/default/pods"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POD: Final = {
    "metadata": {"name": "a", "labels": {"l": "m"}, "annotations": {"a": "b"}},
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "v"}]},
            {"name": "d", "image": "i", "args": ["x", "y"]},
        ],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
}


async def _send(client: httpx2.AsyncClient, method: str, path: str, body: bytes, media_type: str) -> httpx2.Response:
    """Send a request. Unexpected exceptions of the server propagate; a response with 500 is valid."""
    return await client.request(method, path, content=body, headers={"Content-Type": media_type})


# ── patches ──────────────────────────────────────────────────────────────────────────────────

_KEYS: Final = [
    *["metadata", "labels", "annotations", "spec", "containers", "name", "image", "ports", "containerPort", "env"],
    *["args", "tolerations", "kind", "apiVersion", "status", "managedFields", "ownerReferences", "finalizers"],
    *["$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/args", "$setElementOrder/args"],
]
_paths = st.lists(st.sampled_from([*_KEYS, "0", "1", "-", "99", "00", "~0", "~1", "", "l"]), max_size=5).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
_operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "other"]), "path": _paths},
    optional={"from": _paths, "value": values(_KEYS)},
)
_changes = st.one_of(
    values(_KEYS),
    st.fixed_dictionaries({}, optional={"metadata": values(_KEYS), "spec": values(_KEYS), "status": values(_KEYS)}),
    st.fixed_dictionaries({"spec": st.fixed_dictionaries({"containers": st.lists(values(_KEYS), max_size=3)})}),
    st.fixed_dictionaries(
        {
            "apiVersion": st.just("v1"),
            "kind": st.just("Pod"),
            "metadata": st.just({"name": "a"}),
            "spec": values(_KEYS),
        }
    ),
)


@dataclass(frozen=True)
class Patch:
    """The body of a PATCH."""

    media_type: str
    body: bytes


patches: st.SearchStrategy[Patch] = st.one_of(
    st.builds(Patch, st.just("application/json-patch+json"), texts(st.lists(_operations, max_size=6))),
    st.builds(
        Patch,
        st.sampled_from(
            [
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                "application/apply-patch+yaml",
                "application/json-patch+json",
            ]
        ),
        texts(_changes),
    ),
)
"""Patches for a pod."""


def patch(given: Patch) -> None:
    """Check that the server applies or rejects the patch, and continues to respond."""
    trio.run(_patch, given, clock=trio.testing.MockClock(autojump_threshold=0))


async def _patch(given: Patch) -> None:
    async with APIServer() as server, _client(server) as client:
        await _send(client, "POST", _PODS, json.dumps(_POD).encode(), "application/json")
        path = f"{_PODS}/a?fieldManager=m&force=true" if "apply" in given.media_type else f"{_PODS}/a"
        await _send(client, "PATCH", path, given.body, given.media_type)
        await _send(client, "GET", _PODS, b"", "application/json")


def _client(server: APIServer) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=server.transport(), base_url=server.url, timeout=None)


# ── schemas ──────────────────────────────────────────────────────────────────────────────────

_TYPES: Final = ["string", "integer", "number", "boolean", "object", "array"]
_PATTERNS: Final = [
    "^a+$",
    "(a+)+$",
    "[",
    "\\pL",
    "(?i)a",
    "a{1,9999}",
    "(?=a)",
    "\\1",
    "",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
]
_FORMATS: Final = ["date-time", "date", "byte", "ipv4", "uuid", "int32", "duration", "unknown", ""]


def _schema(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    numbers = st.sampled_from([0, 1, 5, -1, 2**63, 0.5])
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from([*_TYPES, "null", "", 1]),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "metadata", "x-y", ""]), inner, max_size=3),
            "additionalProperties": st.one_of(inner, st.booleans()),
            "items": inner,
            "required": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
            "enum": st.lists(scalars, max_size=3),
            "default": values(["a", "b"]),
            "pattern": st.sampled_from(_PATTERNS),
            "format": st.sampled_from(_FORMATS),
            "minimum": numbers,
            "maximum": numbers,
            "minLength": numbers,
            "maxItems": numbers,
            "multipleOf": numbers,
            "uniqueItems": st.booleans(),
            "nullable": st.booleans(),
            "allOf": st.lists(inner, max_size=2),
            "not": inner,
            "x-kubernetes-preserve-unknown-fields": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
            "x-kubernetes-embedded-resource": st.booleans(),
            "x-kubernetes-list-type": st.sampled_from(["atomic", "set", "map", "other"]),
            "x-kubernetes-list-map-keys": st.lists(st.sampled_from(["a", "b"]), max_size=2),
            "x-kubernetes-map-type": st.sampled_from(["atomic", "granular", "other"]),
        },
    )


_schemas = st.recursive(st.sampled_from([{"type": kind} for kind in _TYPES]), _schema, max_leaves=8)


@dataclass(frozen=True)
class SchemaAndSpec:
    """A schema for the ``spec`` of a CRD, and a spec."""

    schema: Any
    spec: Any


crd_schemas: st.SearchStrategy[SchemaAndSpec] = st.builds(SchemaAndSpec, _schemas, values(["a", "b", "metadata"]))
"""Schemas, and objects that may violate them."""


def check_schema(given: SchemaAndSpec) -> None:
    """Check that the server accepts or rejects the CRD, and then an object of it."""
    trio.run(_check_schema, given, clock=trio.testing.MockClock(autojump_threshold=0))


async def _check_schema(given: SchemaAndSpec) -> None:
    schema = {"type": "object", "properties": {"spec": given.schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    crd = {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": given.spec}
    path = "/apis/example.com/v1/namespaces/default/things"
    async with APIServer() as server, _client(server) as client:
        created = await _send(client, "POST", _CRDS, json.dumps(crd).encode(), "application/json")
        if created.status_code == 201:
            await trio.sleep(1)  # until the CRD is established
            await _send(client, "POST", path, json.dumps(obj).encode(), "application/json")
            await _send(client, "GET", path, b"", "application/json")
