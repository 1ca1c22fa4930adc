"""Default storage and ingress classes, and RuntimeClasses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, refused
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, pod

DEFAULT_STORAGE = "storageclass.kubernetes.io/is-default-class"
DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"
pytestmark = pytest.mark.since("1.36", "older servers have another choice among several defaults")


def claim(**fields: Any) -> JSONObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **fields}
    return {"metadata": {"name": "c"}, "spec": spec}


def ingress(**fields: Any) -> JSONObject:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    return {"metadata": {"name": "i"}, "spec": {"defaultBackend": backend, **fields}}


async def test_a_claim_without_a_class_gets_the_default_class(cluster: Cluster) -> None:
    name = f"{cluster.namespace}-fast"
    metadata = {"name": name, "annotations": {DEFAULT_STORAGE: "true"}}
    await cluster.create("storageclasses", {"metadata": metadata, "provisioner": "example.com/none"})

    async def defaulted() -> bool:
        spec = (await dry_run(cluster, "persistentvolumeclaims", claim())).body["spec"]
        return bool(spec.get("storageClassName") == name)

    await cluster.until(defaulted)
    chosen = (await dry_run(cluster, "persistentvolumeclaims", claim(storageClassName=""))).body["spec"]
    assert chosen["storageClassName"] == ""


async def test_an_ingress_without_a_class_gets_the_default_class(cluster: Cluster) -> None:
    name = f"{cluster.namespace}-edge"
    metadata = {"name": name, "annotations": {DEFAULT_INGRESS: "true"}}
    await cluster.create("ingressclasses", {"metadata": metadata, "spec": {"controller": "example.com/none"}})

    async def defaulted() -> bool:
        spec = (await dry_run(cluster, "ingresses", ingress())).body["spec"]
        return bool(spec.get("ingressClassName") == name)

    await cluster.until(defaulted)
    chosen = (await dry_run(cluster, "ingresses", ingress(ingressClassName="other"))).body["spec"]
    assert chosen["ingressClassName"] == "other"


@pytest.mark.parametrize(("phase", "expandable"), [("Pending", True), ("Bound", False), ("Bound", True)])
async def test_a_claim_grows_if_it_is_bound_and_its_class_allows_it(
    cluster: Cluster, phase: str, expandable: bool
) -> None:
    name = f"{cluster.namespace}-fast"
    storage = {"metadata": {"name": name}, "provisioner": "example.com/none", "allowVolumeExpansion": expandable}
    await cluster.create("storageclasses", storage)
    await cluster.create("persistentvolumeclaims", claim(storageClassName=name, volumeName="v"))
    await cluster.patch("persistentvolumeclaims/status", "c", {"status": {"phase": phase}})
    path, larger = cluster.path("persistentvolumeclaims", "c"), {"resources": {"requests": {"storage": "2Gi"}}}
    responses = []

    async def answered() -> bool:
        responses.append(await cluster.call("PATCH", path, body={"spec": larger}, content_type=MERGE))
        return responses[-1].code == (200 if expandable and phase == "Bound" else 403 if phase == "Bound" else 422)

    await cluster.until(answered)
    if phase == "Bound" and not expandable:
        assert responses[-1].body["message"] == (
            'persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the '
            "storageclass that provisions the pvc must support resize"
        )


# ── RuntimeClasses ────────────────────────────────────────────────────────────────────────────


async def runtime_class(cluster: Cluster, **fields: Any) -> str:
    name = f"{cluster.namespace}-runtime"
    await cluster.create("runtimeclasses", {"metadata": {"name": name}, "handler": "h", **fields})
    return name


async def test_a_pod_with_an_unknown_runtime_class_is_forbidden(cluster: Cluster) -> None:
    assert await refused(cluster, "pods", pod(runtimeClassName="none")) == (
        'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found'
    )


async def test_a_pod_gets_the_overhead_and_scheduling_of_its_runtime_class(cluster: Cluster) -> None:
    scheduling = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    name = await runtime_class(cluster, overhead={"podFixed": {"cpu": "250m"}}, scheduling=scheduling)

    spec = (await dry_run(cluster, "pods", pod(runtimeClassName=name, nodeSelector={"zone": "a"}))).body["spec"]

    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"zone": "a", "disk": "ssd"}
    assert [each["key"] for each in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "gpu",
    ]


async def test_a_runtime_class_that_tolerates_everything_replaces_the_default_tolerations(cluster: Cluster) -> None:
    name = await runtime_class(cluster, scheduling={"tolerations": [{"operator": "Exists"}]})

    spec = (await dry_run(cluster, "pods", pod(runtimeClassName=name))).body["spec"]

    assert spec["tolerations"] == [{"operator": "Exists"}]


async def test_a_pod_with_another_overhead_is_forbidden(cluster: Cluster) -> None:
    name = await runtime_class(cluster, overhead={"podFixed": {"cpu": "250m"}})

    assert await refused(cluster, "pods", pod(runtimeClassName=name, overhead={"cpu": "1"})) == (
        "pods \"p\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    )
    assert await refused(cluster, "pods", pod(overhead={"cpu": "1"})) == (
        'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'
    )


async def test_a_pod_whose_node_selector_conflicts_is_forbidden(cluster: Cluster) -> None:
    name = await runtime_class(cluster, scheduling={"nodeSelector": {"disk": "ssd"}})

    assert await refused(cluster, "pods", pod(runtimeClassName=name, nodeSelector={"disk": "hdd"})) == (
        'pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; '
        "pod.spec.nodeSelector[disk] = hdd"
    )
