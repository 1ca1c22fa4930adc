"""Subresources of pods: those that change the object, and those that need a kubelet, of which there is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster import MERGE, STRATEGIC, Cluster, Response

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "a", "image": "x"}]},
}
PODS = "/api/v1/namespaces/{namespace}/pods"
BUDGETS = "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
_EVICTIONS = pytest.mark.since("1.22", "evictions and budgets of policy/v1 came with 1.22")
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _eviction(name: str = "p", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


async def _call(
    cluster: Cluster, method: str, path: str, body: object = None, content_type: str = "application/json"
) -> Response:
    place = path.replace("{namespace}", cluster.namespace)
    return await cluster.call(method, place, body=body, content_type=content_type)


async def _running(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)
    await _call(
        cluster,
        "PATCH",
        f"{PODS}/p/status",
        {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        MERGE,
    )


# ── binding ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", "/api/v1/namespaces/{namespace}/bindings"])
async def test_a_binding_assigns_a_pod_to_its_node(cluster: Cluster, path: str) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "POST", path, {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}})

    pod = (await _call(cluster, "GET", f"{PODS}/p")).body
    assert (response.code, response.body) == (201, SUCCESS)
    assert pod["spec"]["nodeName"] == "n1"
    assert [(c["type"], c["status"]) for c in pod["status"]["conditions"]] == [("PodScheduled", "True")]


async def test_binding_a_pod_twice_is_a_conflict(cluster: Cluster) -> None:
    binding = {"metadata": {"name": "p"}, "target": {"name": "n1"}}
    await _call(cluster, "POST", PODS, POD)
    await _call(cluster, "POST", f"{PODS}/p/binding", binding)

    response = await _call(cluster, "POST", f"{PODS}/p/binding", binding)

    assert response.code == 409
    assert response.body["message"] == (
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
async def test_an_invalid_binding_is_an_error(cluster: Cluster, binding: object, code: int, message: str) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "POST", f"{PODS}/p/binding", binding)

    assert (response.body["code"], response.body["message"]) == (code, message)


# ── eviction ──────────────────────────────────────────────────────────────────────────────────


@_EVICTIONS
async def test_an_eviction_deletes_a_pod_that_no_budget_protects(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "POST", f"{PODS}/p/eviction", _eviction())

    assert (response.code, response.body) == (201, SUCCESS)
    assert (await _call(cluster, "GET", f"{PODS}/p")).code == 404


@_EVICTIONS
async def test_a_dry_run_of_an_eviction_keeps_the_pod(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)

    await _call(cluster, "POST", f"{PODS}/p/eviction", _eviction(deleteOptions={"dryRun": ["All"]}))

    assert (await _call(cluster, "GET", f"{PODS}/p")).code == 200


@_EVICTIONS
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
async def test_an_eviction_that_violates_a_budget_is_a_429(
    cluster: Cluster, status: dict[str, int], cause: str, retry_after: int | None
) -> None:
    await _running(cluster)
    budget = (await _call(cluster, "POST", BUDGETS, BUDGET)).body
    await _call(cluster, "PUT", f"{BUDGETS}/b/status", {**budget, "status": status})

    response = await _call(cluster, "POST", f"{PODS}/p/eviction", _eviction())

    assert response.code == 429
    assert response.body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert response.body["details"]["causes"] == [{"reason": "DisruptionBudget", "message": cause}]
    assert response.body["details"].get("retryAfterSeconds") == retry_after


@_EVICTIONS
async def test_an_allowed_eviction_is_counted_in_the_status_of_the_budget(cluster: Cluster) -> None:
    await _running(cluster)
    budget = (await _call(cluster, "POST", BUDGETS, BUDGET)).body
    status = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1}
    await _call(cluster, "PUT", f"{BUDGETS}/b/status", {**budget, "status": status})

    response = await _call(cluster, "POST", f"{PODS}/p/eviction", _eviction())

    budget_status = (await _call(cluster, "GET", f"{BUDGETS}/b")).body["status"]
    assert response.code == 201
    assert budget_status["disruptionsAllowed"] == 0
    assert list(budget_status["disruptedPods"]) == ["p"]


# ── parts of a pod ────────────────────────────────────────────────────────────────────────────


@pytest.mark.since("1.33", "pods are resized through a subresource since 1.33")
async def test_resize_changes_only_the_resources_of_containers(cluster: Cluster) -> None:
    with_requests = {"name": "a", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    await _call(cluster, "POST", PODS, {**POD, "spec": {"containers": [with_requests]}})
    wanted = {"name": "a", "image": "other", "resources": {"requests": {"cpu": "2"}}}

    response = await _call(cluster, "PATCH", f"{PODS}/p/resize", {"spec": {"containers": [wanted]}}, STRATEGIC)

    (container,) = response.body["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("x", {"requests": {"cpu": "2"}})


@pytest.mark.since("1.23", "the subresource accepts a Pod since 1.23")
async def test_ephemeral_containers_are_added_through_their_subresource(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)
    spec = {"nodeName": "ignored", "ephemeralContainers": [{"name": "debug", "image": "b"}]}

    response = await _call(cluster, "PATCH", f"{PODS}/p/ephemeralcontainers", {"spec": spec}, STRATEGIC)

    pod = response.body["spec"]
    assert [container["name"] for container in pod["ephemeralContainers"]] == ["debug"]
    assert "nodeName" not in pod


# ── status ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"podIP": "10.0.0.1"}, ["10.0.0.1", ["10.0.0.1"]]),
        ({"podIPs": [{"ip": "10.0.0.2"}, {"ip": "fd00::1"}]}, ["10.0.0.2", ["10.0.0.2", "fd00::1"]]),
        ({"podIP": "10.0.0.3", "podIPs": [{"ip": "10.0.0.4"}]}, ["10.0.0.3", ["10.0.0.3"]]),
        ({"podIP": "", "podIPs": [{"ip": "10.0.0.5"}]}, ["10.0.0.5", ["10.0.0.5"]]),
        ({"podIPs": []}, [None, []]),
    ],
)
async def test_the_address_of_a_pod_is_the_first_of_its_addresses(
    cluster: Cluster, given: dict[str, Any], shown: list[Any]
) -> None:
    await _call(cluster, "POST", PODS, POD)

    status = (await _call(cluster, "PATCH", f"{PODS}/p/status", {"status": given}, MERGE)).body["status"]

    assert [status.get("podIP"), [each["ip"] for each in status.get("podIPs", [])]] == shown


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            {"podIP": "x"},
            'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        pytest.param(
            {"hostIPs": [{"ip": "10.0.0.9"}]},
            'status.hostIPs[0].ip: Invalid value: "10.0.0.9": must be equal to `hostIP`',
            marks=pytest.mark.since("1.28", "the field came with 1.28"),
        ),
    ],
)
async def test_wrong_addresses_of_a_pod_are_errors(cluster: Cluster, status: dict[str, Any], message: str) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "PATCH", f"{PODS}/p/status", {"status": status}, MERGE)

    assert (response.code, response.body["message"]) == (422, f'Pod "p" is invalid: {message}')


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"podCIDR": "10.0.0.0/24"}, ("10.0.0.0/24", ["10.0.0.0/24"])),
        ({"podCIDRs": ["10.1.0.0/24"]}, ("10.1.0.0/24", ["10.1.0.0/24"])),
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24"]}, ("10.0.0.0/24", ["10.0.0.0/24"])),
    ],
)
async def test_the_range_of_a_node_is_the_first_of_its_ranges(
    cluster: Cluster, spec: dict[str, Any], shown: tuple[str, list[str]]
) -> None:
    node = await cluster.create("nodes", {"metadata": {"name": cluster.namespace}, "spec": spec})

    assert (node["spec"]["podCIDR"], node["spec"]["podCIDRs"]) == shown


# ── subresources that need a kubelet ──────────────────────────────────────────────────────────


async def test_a_pod_without_a_node_has_an_empty_log(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "GET", f"{PODS}/p/log")

    assert (response.code, response.body) == (204, "")


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
async def test_a_request_that_needs_a_kubelet_is_an_error(
    cluster: Cluster, method: str, path: str, code: int, message: str
) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, method, f"{PODS}/{path}")

    assert (response.code, response.body["message"]) == (code, message)


_INVALID = 'PodLogOptions "p" is invalid: '


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("tailLines=-1", 422, f"{_INVALID}tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", 422, f"{_INVALID}limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", 422, f"{_INVALID}sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z",
            422,
            f"{_INVALID}[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ("tailLines=many", 400, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("tailLines=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        (
            "sinceTime=noon",
            400,
            'parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"',
        ),
        (
            "tailLines=-1&limitBytes=-1",
            422,
            (
                f"{_INVALID}[tailLines: Invalid value: -1: must be greater than or equal to 0, "
                "limitBytes: Invalid value: -1: must be greater than 0]"
            ),
        ),
    ],
)
async def test_invalid_options_of_a_log_are_errors(cluster: Cluster, query: str, code: int, message: str) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "GET", f"{PODS}/p/log?{query}")

    assert (response.code, response.body["message"]) == (code, message)


@pytest.mark.since("1.32", "the parameter came with 1.32")
async def test_the_stream_of_a_log_cannot_be_selected_without_its_feature_gate(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)

    response = await _call(cluster, "GET", f"{PODS}/p/log?stream=Stdout")

    assert (response.code, response.body["message"]) == (422, f"{_INVALID}stream: Forbidden: may not be specified")


@pytest.mark.parametrize("query", ["follow=yes", "follow=1", "sinceTime=", "previous=x&timestamps=T"])
async def test_flags_of_a_log_may_have_any_value(cluster: Cluster, query: str) -> None:
    await _call(cluster, "POST", PODS, POD)

    assert (await _call(cluster, "GET", f"{PODS}/p/log?{query}")).code == 204


@pytest.mark.parametrize("request_line", ["GET p/log", "POST p/exec?command=ls", "GET p/attach"])
async def test_a_pod_with_several_containers_requires_a_container(cluster: Cluster, request_line: str) -> None:
    containers = [{"name": name, "image": "x"} for name in ("a", "b")]
    await _call(cluster, "POST", PODS, {**POD, "spec": {"containers": containers}})
    method, path = request_line.split()

    response = await _call(cluster, method, f"{PODS}/{path}")

    assert (response.code, response.body["message"]) == (
        400,
        "a container name must be specified for pod p, choose one of: [a b]",
    )


async def test_the_log_of_a_pod_on_a_node_without_an_address_is_a_500(cluster: Cluster) -> None:
    node = cluster.namespace
    await cluster.create("nodes", {"metadata": {"name": node}})
    await _call(cluster, "POST", PODS, {**POD, "spec": {**POD["spec"], "nodeName": node}})

    response = await _call(cluster, "GET", f"{PODS}/p/log")

    assert (response.code, response.body["message"]) == (500, "no preferred addresses found; known addresses: []")


async def test_a_verb_that_a_subresource_does_not_have_is_a_405(cluster: Cluster) -> None:
    await _call(cluster, "POST", PODS, POD)

    assert (await _call(cluster, "PUT", f"{PODS}/p/log", {})).code == 405
    assert (await _call(cluster, "GET", f"{PODS}/p/eviction")).code == 405
