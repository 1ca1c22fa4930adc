"""Subresources of pods: what works on the object, and what needs a kubelet that is not there."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "a", "image": "x"}]},
}
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _eviction(name: str = "p", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


async def _running(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)
    await client.patch(
        f"{PODS}/p/status",
        json={"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        headers={"Content-Type": "application/merge-patch+json"},
    )


# ── binding ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", "/api/v1/namespaces/default/bindings"])
async def test_a_binding_assigns_a_pod_to_its_node(client: httpx2.AsyncClient, path: str) -> None:
    await client.post(PODS, json=POD)

    answer = await client.post(path, json={"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}})

    pod = (await client.get(f"{PODS}/p")).json()
    assert (answer.status_code, answer.json()) == (201, SUCCESS)
    assert pod["spec"]["nodeName"] == "n1"
    assert [(c["type"], c["status"]) for c in pod["status"]["conditions"]] == [("PodScheduled", "True")]


async def test_a_pod_is_assigned_once(client: httpx2.AsyncClient) -> None:
    binding = {"metadata": {"name": "p"}, "target": {"name": "n1"}}
    await client.post(PODS, json=POD)
    await client.post(f"{PODS}/p/binding", json=binding)

    answer = await client.post(f"{PODS}/p/binding", json=binding)

    assert answer.status_code == 409
    assert answer.json()["message"] == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )


@pytest.mark.parametrize(
    ("binding", "code", "message"),
    [
        (
            {"metadata": {"name": "z"}, "target": {"name": "n"}},
            400,
            "name in URL does not match name in Binding object",
        ),
        ({"metadata": {"name": "p"}, "target": {}}, 500, "target.name: Required value"),
        (
            {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}},
            500,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
    ],
)
async def test_a_binding_that_makes_no_sense_is_refused(
    client: httpx2.AsyncClient, binding: object, code: int, message: str
) -> None:
    await client.post(PODS, json=POD)

    answer = await client.post(f"{PODS}/p/binding", json=binding)

    assert (answer.json()["code"], answer.json()["message"]) == (code, message)


# ── eviction ──────────────────────────────────────────────────────────────────────────────────


async def test_an_eviction_deletes_a_pod_that_no_budget_protects(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)

    answer = await client.post(f"{PODS}/p/eviction", json=_eviction())

    assert (answer.status_code, answer.json()) == (201, SUCCESS)
    assert (await client.get(f"{PODS}/p")).status_code == 404


async def test_an_eviction_for_a_dry_run_leaves_the_pod(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)

    await client.post(f"{PODS}/p/eviction", json=_eviction(deleteOptions={"dryRun": ["All"]}))

    assert (await client.get(f"{PODS}/p")).status_code == 200


@pytest.mark.parametrize(
    ("status", "cause", "retry_after"),
    [
        ({}, "The disruption budget b is still being processed by the server.", 10),
        (
            {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0},
            "The disruption budget b needs 1 healthy pods and has 1 currently",
            None,
        ),
    ],
)
async def test_a_budget_refuses_an_eviction(
    client: httpx2.AsyncClient, status: dict[str, int], cause: str, retry_after: int | None
) -> None:
    await _running(client)
    budget = (await client.post(BUDGETS, json=BUDGET)).json()
    await client.put(f"{BUDGETS}/b/status", json={**budget, "status": status})

    answer = await client.post(f"{PODS}/p/eviction", json=_eviction())

    assert answer.status_code == 429
    assert answer.json()["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer.json()["details"]["causes"] == [{"reason": "DisruptionBudget", "message": cause}]
    assert answer.json()["details"].get("retryAfterSeconds") == retry_after


async def test_a_budget_counts_the_evictions_it_allowed(client: httpx2.AsyncClient) -> None:
    await _running(client)
    budget = (await client.post(BUDGETS, json=BUDGET)).json()
    status = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1}
    await client.put(f"{BUDGETS}/b/status", json={**budget, "status": status})

    answer = await client.post(f"{PODS}/p/eviction", json=_eviction())

    left = (await client.get(f"{BUDGETS}/b")).json()["status"]
    assert answer.status_code == 201
    assert left["disruptionsAllowed"] == 0
    assert list(left["disruptedPods"]) == ["p"]


# ── parts of a pod ────────────────────────────────────────────────────────────────────────────


async def test_resize_reaches_the_resources_of_containers_and_nothing_else(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)
    wanted = {"name": "a", "image": "other", "resources": {"requests": {"cpu": "2"}}}

    answer = await client.patch(
        f"{PODS}/p/resize",
        json={"spec": {"containers": [wanted]}},
        headers={"Content-Type": "application/strategic-merge-patch+json"},
    )

    (container,) = answer.json()["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("x", {"requests": {"cpu": "2"}})


async def test_ephemeral_containers_are_added_through_their_subresource(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)
    spec = {"nodeName": "ignored", "ephemeralContainers": [{"name": "debug", "image": "b"}]}

    answer = await client.patch(
        f"{PODS}/p/ephemeralcontainers",
        json={"spec": spec},
        headers={"Content-Type": "application/strategic-merge-patch+json"},
    )

    pod = answer.json()["spec"]
    assert [container["name"] for container in pod["ephemeralContainers"]] == ["debug"]
    assert "nodeName" not in pod


# ── what leads to a kubelet ───────────────────────────────────────────────────────────────────


async def test_a_pod_without_a_node_has_an_empty_log(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)

    answer = await client.get(f"{PODS}/p/log")

    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("POST", "p/exec?command=ls", 400, "pod p does not have a host assigned"),
        ("GET", "p/attach", 400, "pod p does not have a host assigned"),
        ("POST", "p/portforward", 400, "pod p does not have a host assigned"),
        ("GET", "p/log?container=zz", 400, "container zz is not valid for pod p"),
        ("GET", "p/proxy/a/b", 400, "address not allowed"),
        ("GET", "nope/log", 404, 'pods "nope" not found'),
    ],
)
async def test_what_needs_a_kubelet_says_what_is_missing(
    client: httpx2.AsyncClient, method: str, path: str, code: int, message: str
) -> None:
    await client.post(PODS, json=POD)

    answer = await client.request(method, f"{PODS}/{path}")

    assert (answer.status_code, answer.json()["message"]) == (code, message)


async def test_a_node_without_an_address_cannot_be_reached(client: httpx2.AsyncClient) -> None:
    await client.post("/api/v1/nodes", json={"metadata": {"name": "n1"}})
    await client.post(PODS, json={**POD, "spec": {**POD["spec"], "nodeName": "n1"}})

    answer = await client.get(f"{PODS}/p/log")

    assert (answer.status_code, answer.json()["message"]) == (500, "no preferred addresses found; known addresses: []")


async def test_a_verb_that_a_subresource_does_not_have_is_refused(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=POD)

    assert (await client.put(f"{PODS}/p/log", json={})).status_code == 405
    assert (await client.get(f"{PODS}/p/eviction")).status_code == 405
