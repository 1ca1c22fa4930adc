"""CRDs with small random schemas: slow, as the server processes each write asynchronously."""

from __future__ import annotations

from typing import Any

import trio
from hypothesis import strategies as st

from tests.contract.cluster import MERGE, Cluster
from tests.contract.differential.areas.values import Draw, Values, mostly, rarely
from tests.contract.differential.requests import Request
from tests.contract.differential.side_by_side import Setup
from tests.contract.objects import CRDS, JSONObject, version

_PLURALS = ("crates", "boxes")
_TIMEOUT = 10.0
_TYPES = mostly(["string", "integer", "object", "boolean", "number"], ["array", "null", "", "text"])
_KEYWORDS: dict[str, Values] = {
    "nullable": st.booleans(),
    "default": st.sampled_from([1, "x", None, {}, [], True]),
    "minimum": st.sampled_from([0, 1.5, -1]),
    "maxLength": st.sampled_from([1, 0, -1]),
    "pattern": st.sampled_from(["^a$", "("]),
    "enum": st.sampled_from([["a"], [], [1, None], ["a", "a"]]),
    "format": st.sampled_from(["date-time", "int32", "bogus"]),
    "required": st.sampled_from([["a"], ["z"], ["a", "a"]]),
    "x-kubernetes-preserve-unknown-fields": st.sampled_from([True, False]),
    "x-kubernetes-int-or-string": st.just(True),
    "x-kubernetes-map-type": st.sampled_from(["atomic", "bogus"]),
    "uniqueItems": st.booleans(),
    "items": st.sampled_from([{"type": "string"}, {}]),
    "additionalProperties": st.sampled_from([{"type": "string"}, True, False]),
    "not": st.sampled_from([{"type": "string"}, {"maxLength": 1}]),
    "$ref": st.just("#/definitions/x"),
    "description": st.just("text"),
}


@st.composite
def _schemas(draw: Draw, depth: int = 2) -> JSONObject:
    schema: JSONObject = {"type": draw(_TYPES)}
    if schema["type"] == "object" and depth:
        schema["properties"] = draw(st.dictionaries(st.sampled_from(["a", "b", "c"]), _schemas(depth - 1), max_size=2))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        keyword = draw(st.sampled_from(sorted(_KEYWORDS)))
        schema[keyword] = draw(_KEYWORDS[keyword])
    return schema


@st.composite
def _versions(draw: Draw, name: str, *, storage: bool) -> JSONObject:
    root = {
        "type": "object",
        "properties": draw(st.dictionaries(st.sampled_from(["spec", "status", "a"]), _schemas(), max_size=2)),
    }
    made = version(name, storage=storage, served=not rarely(draw, 6), schema={"openAPIV3Schema": root})
    if rarely(draw, 4):
        made["subresources"] = draw(
            mostly(
                [{"status": {}}],
                [{"scale": {}}, {"bogus": {}}, {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".a"}}],
            )
        )
    if rarely(draw, 6):
        column = {"name": "A", "type": "string", "jsonPath": ".spec.a"}
        made["additionalPrinterColumns"] = draw(
            mostly([[column]], [[{**column, "jsonPath": "spec"}], [{**column, "type": "bogus"}]])
        )
    if rarely(draw, 10):
        made["selectableFields"] = draw(st.sampled_from([[{"jsonPath": ".spec.a"}], [{"jsonPath": "x"}]]))
    return made


@st.composite
def _crd(draw: Draw, plural: str) -> JSONObject:
    versions = [draw(_versions("v1", storage=not rarely(draw, 12)))]
    if rarely(draw, 3):
        versions.append(draw(_versions(draw(mostly(["v2"], ["v1", "V2"])), storage=rarely(draw, 12))))
    names = {"plural": plural, "kind": draw(mostly([plural.capitalize()], ["Shared", "lower", ""]))}
    if rarely(draw, 4):
        names |= draw(
            mostly(
                [{"singular": "one"}, {"shortNames": ["c"]}, {"categories": ["all"]}],
                [{"singular": "One"}, {"shortNames": ["A B"]}, {"listKind": "x"}],
            )
        )
    spec = {
        "group": "{group}",
        "scope": draw(mostly(["Namespaced", "Cluster"], ["Bogus", ""])),
        "names": names,
        "versions": versions,
    }
    if rarely(draw, 12):
        spec |= draw(
            st.sampled_from(
                [
                    {"preserveUnknownFields": True},
                    {"conversion": {"strategy": "Webhook"}},
                    {"conversion": {"strategy": "None"}},
                    {"group": "x"},
                ]
            )
        )
    metadata = {"name": f"{plural}.{{group}}", "labels": {"owner": "{ns}"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


@st.composite
def requests(draw: Draw) -> Request:
    """Return a strategy for creates, updates, deletes and reads of CRDs."""
    plural = draw(st.sampled_from(_PLURALS))
    target = f"{CRDS}/{plural}.{{group}}"
    body = draw(_crd(plural))
    match draw(st.sampled_from(["create"] * 4 + ["update"] * 2 + ["patch", "get", "delete"])):
        case "create":
            return Request(method="POST", target=CRDS, body=body)
        case "update":
            body["metadata"]["resourceVersion"] = "{rv}"
            return Request(method="PUT", target=target, body=body)
        case "patch":
            patch: Any = {"spec": {"versions": body["spec"]["versions"]}}
            return Request(method="PATCH", target=target, body=patch, content_type=MERGE)
        case "get":
            return Request(method="GET", target=target)
        case _:
            return Request(method="DELETE", target=target)


async def settle(cluster: Cluster) -> None:
    """Wait until all CRDs of this area have their conditions, or are gone.

    This polls, as the conditions to wait for depend on the random writes.
    """
    with trio.fail_after(_TIMEOUT):
        seen, same = "", 0
        while same < 3:
            found = (await cluster.list_of(CRDS, labelSelector=f"owner={cluster.namespace}"))["items"]
            now = str([(item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in found])
            waiting = any(
                "deletionTimestamp" in item["metadata"] or not item["status"].get("conditions") for item in found
            )
            seen, same = now, (same + 1 if now == seen and not waiting else 0)
            await trio.sleep(0.02)


SETUP = Setup(owned={CRDS: "owner={ns}"}, settle=settle)
