"""The conditions of a namespace that is being deleted, and what it waits for."""

from __future__ import annotations

from dynkube.meta import GVR, GroupVersion
from dynkube_testing._kinds.kinds import Kind
from tests.contract.objects import conditions, config
from tests.testing.engine.cluster import Cluster

HELD = "test.example.com/held"
METRIC = Kind(gvr=GVR("custom.example.com", "v1", "metrics"), kind="Metric", namespaced=True)


def test_conditions_name_the_remaining_resources_and_finalizers(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    for name in ("a", "b"):
        cluster.create("configmaps", config(name, finalizers=[HELD]), namespace="shop")

    cluster.delete("namespaces", "shop")

    by_type = {entry["type"]: entry for entry in cluster.get("namespaces", "shop")["status"]["conditions"]}
    assert {name: (entry["status"], entry["reason"]) for name, entry in by_type.items()} == {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered"),
        "NamespaceDeletionGroupVersionParsingFailure": ("False", "ParsedGroupVersions"),
        "NamespaceDeletionContentFailure": ("False", "ContentDeleted"),
        "NamespaceContentRemaining": ("True", "SomeResourcesRemain"),
        "NamespaceFinalizersRemaining": ("True", "SomeFinalizersRemain"),
    }
    remaining, finalizers = by_type["NamespaceContentRemaining"], by_type["NamespaceFinalizersRemaining"]
    assert remaining["message"] == "Some resources are remaining: configmaps. has 2 resource instances"
    assert finalizers["message"].endswith(f"finalizers remaining: {HELD} in 2 resource instances")


def test_the_count_of_remaining_objects_goes_down_and_the_last_one_ends_the_namespace(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    for name in ("a", "b"):
        cluster.create("configmaps", config(name, finalizers=[HELD]), namespace="shop")
    cluster.delete("namespaces", "shop")

    cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}}, namespace="shop")
    messages = [entry["message"] for entry in cluster.get("namespaces", "shop")["status"]["conditions"]]
    cluster.patch("configmaps", "b", {"metadata": {"finalizers": None}}, namespace="shop")

    assert "Some resources are remaining: configmaps. has 1 resource instances" in messages
    assert "shop" not in cluster.names("namespaces")


def test_a_namespace_waits_for_an_unavailable_api(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    cluster.engine.register(METRIC)
    out_of_order = GroupVersion("custom.example.com", "v1")
    cluster.engine.registry.set_available(out_of_order, False)

    cluster.delete("namespaces", "shop")
    namespace = cluster.get("namespaces", "shop")
    cluster.engine.registry.set_available(out_of_order, True)
    cluster.create("configmaps", config("any"))

    assert conditions(namespace)["NamespaceDeletionDiscoveryFailure"] == ("True", "DiscoveryFailed")
    assert "shop" not in cluster.names("namespaces")


def test_the_namespaces_own_finalizers_keep_it_after_it_was_emptied(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop", "finalizers": [HELD]}})
    cluster.create("configmaps", config(), namespace="shop")

    cluster.delete("namespaces", "shop")
    namespace = cluster.get("namespaces", "shop")
    cluster.patch("namespaces", "shop", {"metadata": {"finalizers": None}})

    assert namespace["spec"] == {}
    assert namespace["status"]["phase"] == "Terminating"
    assert "shop" not in cluster.names("namespaces")


def test_deleting_a_terminating_namespace_again_changes_nothing(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "shop"}})
    cluster.create("configmaps", config(finalizers=[HELD]), namespace="shop")
    cluster.delete("namespaces", "shop")
    before = cluster.get("namespaces", "shop")

    assert cluster.delete("namespaces", "shop") == before
