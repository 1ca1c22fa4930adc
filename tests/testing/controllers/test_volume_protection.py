"""Deleted PersistentVolumeClaims stay while a pod uses them, deleted PersistentVolumes while they are bound."""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from tests.testing.engine.cluster import Cluster


def claim(name: str = "data") -> JSONObject:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": resources}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(claim_name: str) -> JSONObject:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"}, "spec": spec}


def volume(claim_name: str) -> JSONObject:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
        "claimRef": {"namespace": "default", "name": claim_name},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}


def test_an_unused_claim_is_deleted_at_once(cluster: Cluster) -> None:
    created = cluster.create("persistentvolumeclaims", claim())

    cluster.delete("persistentvolumeclaims", "data")

    assert created["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert cluster.names("persistentvolumeclaims") == []


def test_a_claim_is_deleted_with_the_last_pod_that_uses_it(cluster: Cluster) -> None:
    cluster.create("persistentvolumeclaims", claim())
    cluster.create("pods", pod("data"))

    cluster.delete("persistentvolumeclaims", "data")
    assert cluster.names("persistentvolumeclaims") == ["data"]

    cluster.delete("pods", "user")
    assert cluster.names("persistentvolumeclaims") == []


def test_a_volume_is_deleted_with_the_claim_it_is_bound_to(cluster: Cluster) -> None:
    cluster.create("persistentvolumeclaims", claim())
    cluster.create("persistentvolumes", volume("data"), namespace="")

    cluster.delete("persistentvolumes", "pv", namespace="")
    assert cluster.names("persistentvolumes") == ["pv"]

    cluster.delete("persistentvolumeclaims", "data")
    assert cluster.names("persistentvolumes") == []


def test_other_finalizers_of_a_claim_are_kept(cluster: Cluster) -> None:
    held = claim()
    held["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.create("persistentvolumeclaims", held)

    cluster.delete("persistentvolumeclaims", "data")

    assert cluster.get("persistentvolumeclaims", "data")["metadata"]["finalizers"] == ["example.com/wait"]


def test_a_namespace_with_a_claim_can_be_deleted(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    cluster.create("persistentvolumeclaims", claim(), namespace="shop")

    cluster.delete("namespaces", "shop")

    assert "shop" not in cluster.names("namespaces")
