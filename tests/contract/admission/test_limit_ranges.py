"""LimitRanger: defaults and limits of a namespace's LimitRanges."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, refused
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, pod


async def limit(cluster: Cluster, kind: str = "Container", **limits: Any) -> None:
    body = {"metadata": {"name": "limits"}, "spec": {"limits": [{"type": kind, **limits}]}}
    await cluster.create("limitranges", body)


def using(requests: JSONObject | None = None, limits: JSONObject | None = None, **spec: Any) -> JSONObject:
    resources = {name: value for name, value in (("requests", requests), ("limits", limits)) if value}
    return pod(containers=[{"name": "app", "image": "app:1", "resources": resources}], **spec)


def claim(storage: str) -> JSONObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": "c"}, "spec": spec}


async def test_containers_get_the_default_requests_and_limits(cluster: Cluster) -> None:
    await limit(cluster, default={"cpu": "1"}, defaultRequest={"cpu": "100m", "memory": "64Mi"})
    body = pod(initContainers=[{"name": "init", "image": "init:1"}])

    async def defaulted() -> bool:
        return "annotations" in (await dry_run(cluster, "pods", body)).body["metadata"]

    await cluster.until(defaulted)
    created = await cluster.create("pods", body)

    assert created["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "64Mi"},
        "limits": {"cpu": "1"},
    }
    assert created["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu, memory request for container app; cpu limit for container app; "
            "cpu, memory request for init container init; cpu limit for init container init"
        )
    }
    assert created["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("limits", "body", "why"),
    [
        ({"max": {"cpu": "2"}}, using(limits={"cpu": "3"}), "maximum cpu usage per Container is 2, but limit is 3"),
        ({"min": {"cpu": "1"}}, using({"cpu": "500m"}), "minimum cpu usage per Container is 1, but request is 500m"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            using({"cpu": "1"}, {"cpu": "3"}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            using({"cpu": "1"}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
    ],
)
async def test_a_container_beyond_a_limit_is_forbidden(
    cluster: Cluster, limits: JSONObject, body: JSONObject, why: str
) -> None:
    await limit(cluster, **limits)

    assert await refused(cluster, "pods", body) == f'pods "p" is forbidden: {why}'


async def test_several_problems_are_listed(cluster: Cluster) -> None:
    await limit(cluster, max={"cpu": "1"}, min={"memory": "1Gi"})

    message = await refused(cluster, "pods", using({"memory": "1Mi"}, {"cpu": "2"}))

    assert message == (
        'pods "p" is forbidden: [minimum memory usage per Container is 1Gi, but request is 1Mi, '
        "maximum cpu usage per Container is 1, but limit is 2]"
    )


@pytest.mark.since("1.30", "older servers print sums of quantities in another form")
async def test_the_limits_of_a_pod_are_the_sum_of_its_containers(cluster: Cluster) -> None:
    await limit(cluster, "Pod", max={"memory": "1Gi"})
    first, second = ({"name": name, "image": "app:1", "resources": {"limits": {"memory": "768Mi"}}} for name in "ab")

    assert await refused(cluster, "pods", pod(containers=[first, second])) == (
        'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1536Mi'
    )
    assert (await dry_run(cluster, "pods", pod(containers=[first]))).code == 201
    assert (await dry_run(cluster, "pods", pod(containers=[first], initContainers=[second]))).code == 201


@pytest.mark.since("1.29", "sidecars came with 1.29")
async def test_sidecars_count_with_the_containers(cluster: Cluster) -> None:
    await limit(cluster, "Pod", max={"memory": "1Gi"})
    first, second = ({"name": name, "image": "app:1", "resources": {"limits": {"memory": "768Mi"}}} for name in "ab")
    body = pod(containers=[first], initContainers=[{**second, "restartPolicy": "Always"}])

    assert await refused(cluster, "pods", body) == (
        'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1536Mi'
    )


async def test_a_pod_without_a_limit_is_forbidden_by_a_maximum(cluster: Cluster) -> None:
    await limit(cluster, "Pod", max={"memory": "1Gi"})

    assert await refused(cluster, "pods", pod()) == (
        'pods "p" is forbidden: maximum memory usage per Pod is 1Gi.  No limit is specified'
    )


async def test_claims_are_limited_by_their_requests(cluster: Cluster) -> None:
    await limit(cluster, "PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})

    assert await refused(cluster, "persistentvolumeclaims", claim("3Gi")) == (
        'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, '
        "but request is 3Gi"
    )
    assert await refused(cluster, "persistentvolumeclaims", claim("500Mi")) == (
        'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, '
        "but request is 500Mi"
    )


async def test_pods_that_exist_are_not_limited(cluster: Cluster) -> None:
    created = await cluster.create("pods", using(limits={"cpu": "3"}))
    await limit(cluster, max={"cpu": "2"})
    await refused(cluster, "pods", using(limits={"cpu": "3"}) | {"metadata": {"name": "another"}})

    created["metadata"]["labels"] = {"a": "b"}

    assert (await cluster.update("pods", created))["metadata"]["labels"] == {"a": "b"}
