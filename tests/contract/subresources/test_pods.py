"""The subresources ``binding`` and ``eviction`` of pods."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, NotFound, ServerError
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, conditions, pod

SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
HELD = ["example.com/hold"]


def _binding(name: str = "p", *, target: JSONObject | None = None, **metadata: Any) -> JSONObject:
    metadata = {"name": name, **metadata}
    return {"metadata": metadata, "target": {"kind": "Node", "name": "n1"} if target is None else target}


def _eviction(cluster: Cluster, name: str = "p", **options: Any) -> JSONObject:
    version = "policy/v1" if cluster.version >= (1, 22) else "policy/v1beta1"
    return {"apiVersion": version, "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}


# ── binding ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("resource", "name"), [("pods/binding", "p"), ("bindings", "")])
async def test_a_binding_assigns_a_pod_to_its_node(cluster: Cluster, resource: str, name: str) -> None:
    await cluster.create("pods", pod())

    response = await cluster.create(resource, _binding(), name)

    bound = await cluster.get("pods", "p")
    assert response == SUCCESS
    assert bound["spec"]["nodeName"] == "n1"
    assert conditions(bound) == {"PodScheduled": ("True", "")}


async def test_binding_a_pod_twice_is_a_conflict(cluster: Cluster) -> None:
    await cluster.create("pods", pod())
    await cluster.create("pods/binding", _binding(), "p")

    with pytest.raises(Conflict) as caught:
        await cluster.create("pods/binding", _binding(target={"kind": "Node", "name": "n2"}), "p")

    why = 'pod p is already assigned to node "n1"'
    assert caught.value.status.message == f'Operation cannot be fulfilled on pods/binding "p": {why}'
    assert (await cluster.get("pods", "p"))["spec"]["nodeName"] == "n1"


async def test_annotations_of_a_binding_are_merged_into_those_of_the_pod(cluster: Cluster) -> None:
    created = pod()
    created["metadata"]["annotations"] = {"a": "1", "b": "1"}
    await cluster.create("pods", created)

    await cluster.create("pods/binding", _binding(annotations={"b": "2", "c": "2"}), "p")

    assert (await cluster.get("pods", "p"))["metadata"]["annotations"] == {"a": "1", "b": "2", "c": "2"}


@pytest.mark.parametrize(
    ("binding", "error", "message"),
    [
        (_binding("z"), BadRequest, "name in URL does not match name in Binding object"),
        (_binding(target={}), ServerError, "target.name: Required value"),
        (
            _binding(target={"kind": "Pod", "name": "n"}),
            ServerError,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
    ],
)
async def test_an_invalid_binding_is_an_error(
    cluster: Cluster, binding: JSONObject, error: type[Exception], message: str
) -> None:
    await cluster.create("pods", pod())

    with pytest.raises(error) as caught:
        await cluster.create("pods/binding", binding, "p")

    assert caught.value.status.message == message  # type: ignore[attr-defined]  # an APIError each


async def test_a_binding_of_a_missing_pod_is_a_404(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match='pods "p" not found'):
        await cluster.create("pods/binding", _binding(), "p")


# ── eviction ──────────────────────────────────────────────────────────────────────────────────


async def test_an_eviction_deletes_the_pod(cluster: Cluster) -> None:
    await cluster.create("pods", pod())

    response = await cluster.create("pods/eviction", _eviction(cluster), "p")

    assert response == SUCCESS
    assert await cluster.names("pods") == []


@pytest.mark.since("1.22", "evictions were policy/v1beta1")
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_evictions_can_have_both_api_versions(cluster: Cluster, version: str) -> None:
    await cluster.create("pods", pod())

    await cluster.create("pods/eviction", {**_eviction(cluster), "apiVersion": f"policy/{version}"}, "p")

    assert await cluster.names("pods") == []


async def test_an_eviction_uses_the_grace_period_of_its_options(cluster: Cluster) -> None:
    created = pod(nodeName="n")
    created["metadata"]["finalizers"] = HELD
    version = (await cluster.create("pods", created))["metadata"]["resourceVersion"]

    async with cluster.watch("pods", resourceVersion=version) as events:
        await cluster.create("pods/eviction", _eviction(cluster, gracePeriodSeconds=7), "p")
        marked = await events.next()
        while "deletionTimestamp" not in marked["object"]["metadata"]:
            marked = await events.next()

    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_a_dry_run_of_an_eviction_keeps_the_pod(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod())

    await cluster.create("pods/eviction", _eviction(cluster, dryRun=["All"]), "p")
    await cluster.create("pods/eviction", _eviction(cluster), "p", params={"dryRun": "All"})

    assert await cluster.get("pods", "p") == created


@pytest.mark.parametrize(
    ("name", "path", "error", "message"),
    [
        ("z", "p", BadRequest, "name in URL does not match name in Eviction object"),
        ("z", "z", NotFound, 'pods "z" not found'),
    ],
)
async def test_an_eviction_of_another_or_a_missing_pod_is_an_error(
    cluster: Cluster, name: str, path: str, error: type[Exception], message: str
) -> None:
    await cluster.create("pods", pod())

    with pytest.raises(error, match=message):
        await cluster.create("pods/eviction", _eviction(cluster, name), path)


async def test_preconditions_in_the_options_of_an_eviction_are_checked(cluster: Cluster) -> None:
    created = await cluster.create("pods", pod())

    with pytest.raises(Conflict, match=r"the UID in the precondition \(x\) does not match the UID in record"):
        await cluster.create("pods/eviction", _eviction(cluster, preconditions={"uid": "x"}), "p")
    preconditions = {"uid": created["metadata"]["uid"]}
    await cluster.create("pods/eviction", _eviction(cluster, preconditions=preconditions), "p")

    assert await cluster.names("pods") == []
