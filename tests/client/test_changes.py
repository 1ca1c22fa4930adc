"""``scale``, ``label`` and ``annotate``: requests, races, and invalid arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynkube.client._client import APIClient
from dynkube.errors import Conflict, InvalidInput
from tests.client.wire import ScriptedServer, connect, error_response, ok, pod

SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 3}}
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
POD = "/api/v1/namespaces/shop/pods/a"
CONFLICT = error_response(409, "Conflict")


async def test_without_a_precondition_each_is_one_patch() -> None:
    server = ScriptedServer(ok(SCALE), ok(pod("a")), ok(pod("a")))
    client = connect(server)

    await client.resource("deploy").scale("web", 3)
    await client.resource("pods").label("a", {"tier": "web", "old": None}, overwrite=True)
    await client.resource("pods").annotate("a", {"Note/X": "any text"}, overwrite=True)

    assert server.request_lines == [f"PATCH {WEB}/scale", f"PATCH {POD}", f"PATCH {POD}"]
    assert server.bodies == [
        {"spec": {"replicas": 3}},
        {"metadata": {"labels": {"tier": "web", "old": None}}},
        {"metadata": {"annotations": {"Note/X": "any text"}}},
    ]


async def test_a_scale_with_a_precondition_is_repeated_after_a_concurrent_write() -> None:
    server = ScriptedServer(ok(SCALE), CONFLICT, ok(SCALE), ok(SCALE))

    await connect(server).resource("deploy").scale("web", 4, current=3)

    assert server.request_lines == [f"GET {WEB}/scale", f"PUT {WEB}/scale"] * 2


async def test_labels_are_written_for_the_version_that_was_read() -> None:
    server = ScriptedServer(ok(pod("a", 5)), CONFLICT, ok(pod("a", 6)), ok(pod("a", 7)))

    await connect(server).resource("pods").label("a", {"tier": "web"})

    patches = [json.loads(request.content) for request in server.requests if request.method == "PATCH"]
    assert [patch["metadata"]["resourceVersion"] for patch in patches] == ["5", "6"]


async def test_five_concurrent_writes_are_a_conflict() -> None:
    server = ScriptedServer(*[ok(pod("a", 5)), CONFLICT] * 5)

    with pytest.raises(Conflict):
        await connect(server).resource("pods").label("a", {"tier": "web"})

    assert server.responses == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("scale", "web", -1), "replicas is -1: pass a number of replicas >= 0"),
        (("scale", "web", True), "replicas is True"),
        (("scale", "web", "3"), "replicas is '3'"),
        (("label", "a", {}), "labels is {}: pass a dict like"),
        (("label", "a", "tier=web"), "labels is 'tier=web'"),
        (("label", "a", {"tier": 1}), "the value of the label 'tier' is an int: pass a string, or None"),
        (("label", "a", {"tier": "a b"}), "the value 'a b' of the label 'tier' may only contain"),
        (("label", "a", {"-": "x"}), "the label key '-' may only contain"),
        (("annotate", "a", {"a/b/c": "x"}), "the annotation key 'a/b/c' has more than one '/'"),
        (("annotate", "a", {1: "x"}), "the annotation key 1 is an int"),
    ],
)
async def test_invalid_arguments_are_rejected_before_a_request(arguments: tuple[Any, ...], problem: str) -> None:
    server = ScriptedServer()
    client: APIClient = connect(server)
    verb, *rest = arguments

    with pytest.raises(InvalidInput) as caught:
        await getattr(client.resource("pods"), verb)(*rest)

    assert problem in str(caught.value)
