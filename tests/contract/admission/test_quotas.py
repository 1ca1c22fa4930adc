"""ResourceQuota: counts and resources that a namespace may use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, refused
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, pod, service


async def limit_to(cluster: Cluster, hard: JSONObject, used: JSONObject | None = None, **spec: Any) -> None:
    """Create a quota with the status that kube-controller-manager would give it; real servers here have none."""
    await cluster.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}})
    status = {"hard": hard, "used": {**dict.fromkeys(hard, "0"), **(used or {})}}
    await cluster.patch("resourcequotas/status", "q", {"status": status})


async def used(cluster: Cluster) -> JSONObject:
    status: JSONObject = (await cluster.get("resourcequotas", "q"))["status"]["used"]
    return status


async def create_counted(cluster: Cluster, resource: str, body: JSONObject) -> None:
    """Create an object that the quota counts: real servers see a new quota some milliseconds after it was created."""
    before = await used(cluster)

    async def counted() -> bool:
        await cluster.create(resource, body)
        if await used(cluster) != before:
            return True
        await cluster.delete(resource, body["metadata"]["name"])
        return False

    await cluster.until(counted)


def using(name: str = "p", limits: JSONObject | None = None, **requests: str) -> JSONObject:
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return pod(name, containers=[{"name": "app", "image": "app:1", "resources": resources}])


async def test_a_quota_of_objects_is_exceeded_by_one_more(cluster: Cluster) -> None:
    await limit_to(cluster, {"count/secrets": "1", "secrets": "1"})
    await create_counted(cluster, "secrets", {"metadata": {"name": "a"}})

    message = await refused(cluster, "secrets", {"metadata": {"name": "b"}})

    assert message == (
        'secrets "b" is forbidden: exceeded quota: q, requested: count/secrets=1,secrets=1, '
        "used: count/secrets=1,secrets=1, limited: count/secrets=1,secrets=1"
    )
    assert await used(cluster) == {"count/secrets": "1", "secrets": "1"}


async def test_resources_of_pods_are_counted(cluster: Cluster) -> None:
    await limit_to(cluster, {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "5"})
    await create_counted(cluster, "pods", using("a", limits={"memory": "512Mi"}, cpu="700m"))

    message = await refused(cluster, "pods", using("b", limits={"memory": "256Mi"}, cpu="400m"))

    assert message == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=400m, used: requests.cpu=700m, '
        "limited: requests.cpu=1"
    )
    assert await used(cluster) == {"limits.memory": "512Mi", "pods": "1", "requests.cpu": "700m"}


@pytest.mark.since("1.30", "older servers do not name the containers")
async def test_a_pod_must_set_the_resources_of_a_quota(cluster: Cluster) -> None:
    await limit_to(cluster, {"requests.cpu": "1", "limits.memory": "1Gi"})
    first, second = ({"name": name, "image": "app:1"} for name in "ab")

    message = await refused(cluster, "pods", pod(containers=[first, second]))

    assert message == (
        'pods "p" is forbidden: failed quota: q: must specify limits.memory for: a,b; requests.cpu for: a,b'
    )


async def test_a_quota_whose_usage_is_unknown_forbids_all(cluster: Cluster) -> None:
    await limit_to(cluster, {"pods": "1", "secrets": "1"})
    await cluster.patch("resourcequotas/status", "q", {"status": {"used": {"pods": None}}})

    message = await refused(cluster, "pods", pod())

    assert message == 'pods "p" is forbidden: status unknown for quota: q, resources: pods'


async def test_a_dry_run_uses_nothing(cluster: Cluster) -> None:
    await limit_to(cluster, {"count/configmaps": "1"})

    assert (await dry_run(cluster, "configmaps", config())).code == 201

    assert await used(cluster) == {"count/configmaps": "0"}


@pytest.mark.parametrize(
    ("scope", "outside", "inside"),
    [
        ("BestEffort", using("a", cpu="1"), pod("b")),
        ("NotBestEffort", pod("a"), using("b", cpu="1")),
        ("Terminating", pod("a"), pod("b", activeDeadlineSeconds=5)),
        ("NotTerminating", pod("a", activeDeadlineSeconds=5), pod("b")),
    ],
)
async def test_a_quota_counts_pods_in_its_scope(
    cluster: Cluster, scope: str, outside: JSONObject, inside: JSONObject
) -> None:
    await limit_to(cluster, {"pods": "0"}, scopes=[scope])

    message = await refused(cluster, "pods", inside)

    assert message == 'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
    assert (await dry_run(cluster, "pods", outside)).code == 201


async def test_a_scope_selects_priority_classes(cluster: Cluster) -> None:
    selector = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}
    await limit_to(cluster, {"pods": "0"}, scopeSelector={"matchExpressions": [selector]})

    await refused(cluster, "pods", pod(priorityClassName="system-cluster-critical"))

    assert (await dry_run(cluster, "pods", pod(priorityClassName="system-node-critical"))).code == 201


async def test_node_ports_and_load_balancers_are_counted(cluster: Cluster) -> None:
    await limit_to(cluster, {"services.nodeports": "1", "services.loadbalancers": "0"})

    assert await refused(cluster, "services", service(type="LoadBalancer")) == (
        'services "s" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, '
        "used: services.loadbalancers=0, limited: services.loadbalancers=0"
    )
    await cluster.create("services", service("a", type="NodePort"))
    changed = await cluster.create("services", service("b"))
    changed["spec"]["type"] = "NodePort"
    response = await cluster.call("PUT", cluster.path("services", "b"), body=changed)
    assert response.body["message"] == (
        'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, '
        "limited: services.nodeports=1"
    )


async def test_an_update_uses_only_what_it_adds(cluster: Cluster) -> None:
    await limit_to(cluster, {"services.nodeports": "1"})
    await refused(
        cluster, "services", service("b", type="NodePort", ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "b"}])
    )
    created = await cluster.create("services", service(type="NodePort"))

    created["metadata"]["labels"] = {"a": "b"}

    assert (await cluster.update("services", created))["metadata"]["labels"] == {"a": "b"}
    assert await used(cluster) == {"services.nodeports": "1"}


async def test_storage_is_counted_by_class(cluster: Cluster) -> None:
    gold = "gold.storageclass.storage.k8s.io"
    await limit_to(cluster, {f"{gold}/requests.storage": "1Gi", "requests.storage": "10Gi"})
    resources = {"requests": {"storage": "2Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gold", "resources": resources}

    message = await refused(cluster, "persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec})

    assert message == (
        f'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: {gold}/requests.storage=2Gi, '
        f"used: {gold}/requests.storage=0, limited: {gold}/requests.storage=1Gi"
    )


async def test_custom_resources_are_counted(cluster: Cluster) -> None:
    await cluster.create_crd()
    name = f"count/widgets.{cluster.group}"
    await limit_to(cluster, {name: "0"})

    message = await refused(cluster, "widgets", cluster.widget())

    assert message == (
        f'widgets.{cluster.group} "w" is forbidden: exceeded quota: q, requested: {name}=1, used: {name}=0, '
        f"limited: {name}=0"
    )
