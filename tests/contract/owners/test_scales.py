"""The scale subresource: the owners of ``replicas``, written through the scale and through the object."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners, version, workload
from tests.contract.owners.kit import applied

pytestmark = pytest.mark.since("1.22", "entries did not have a subresource")

TEMPLATE, SELECTOR = workload()["spec"]["template"], {"matchLabels": {"app": "d"}}
KINDS: dict[str, tuple[str, str, JSONObject]] = {
    "deployments": ("apps/v1", "Deployment", {"selector": SELECTOR}),
    "replicasets": ("apps/v1", "ReplicaSet", {"selector": SELECTOR}),
    "statefulsets": ("apps/v1", "StatefulSet", {"selector": SELECTOR, "serviceName": "s"}),
    "replicationcontrollers": ("v1", "ReplicationController", {"selector": {"app": "d"}}),
}


def sized(plural: str, replicas: int | None) -> JSONObject:
    api_version, kind, spec = KINDS[plural]
    spec = {**spec, "template": TEMPLATE} | ({} if replicas is None else {"replicas": replicas})
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "d"}, "spec": spec}


def scale(replicas: int, name: str = "d") -> JSONObject:
    spec = {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": spec}


def managers_of(obj: JSONObject, field: str = "f:replicas") -> set[str]:
    """Return the owners of ``replicas``."""
    return {manager for manager, fields in owners(obj).items() if field in fields.get("f:spec", {})}


@pytest.mark.parametrize("plural", KINDS)
async def test_scaling_takes_the_replicas_from_the_manager_that_applied_them(cluster: Cluster, plural: str) -> None:
    await cluster.apply(plural, sized(plural, 1), "me")

    await cluster.patch(f"{plural}/scale", "d", {"spec": {"replicas": 5}}, params={"fieldManager": "scaler"})

    assert managers_of(await cluster.get(plural, "d")) == {"scaler:Update:scale"}
    code, error = await applied(cluster, plural, sized(plural, 1), "me")
    assert (code, error["details"]["causes"][0]["field"]) == (409, ".spec.replicas")
    forced = await cluster.apply(plural, sized(plural, 1), "me", force=True)
    assert (forced["spec"]["replicas"], managers_of(forced)) == (1, {"me"})


@pytest.mark.parametrize("plural", KINDS)
async def test_a_scale_can_be_applied(cluster: Cluster, plural: str) -> None:
    await cluster.apply(plural, sized(plural, 1), "me")

    code, error = await applied(cluster, f"{plural}/scale", scale(17), "scaler")
    assert (code, [cause["message"] for cause in error["details"]["causes"]]) == (409, ['conflict with "me"'])
    assert error["details"]["causes"][0]["field"] == ".spec.replicas"

    code, shown = await applied(cluster, f"{plural}/scale", scale(17), "scaler", force="true")
    obj = await cluster.get(plural, "d")
    assert (code, shown["kind"], shown["spec"], "managedFields" in shown["metadata"]) == (
        200,
        "Scale",
        {"replicas": 17},
        False,
    )
    assert (obj["spec"]["replicas"], managers_of(obj)) == (17, {"scaler:scale"})


async def test_several_managers_can_apply_the_same_replicas(cluster: Cluster) -> None:
    await cluster.apply("deployments", sized("deployments", 7), "me")

    await applied(cluster, "deployments/scale", scale(7), "scaler")

    assert managers_of(await cluster.get("deployments", "d")) == {"me", "scaler:scale"}


async def test_applying_a_scale_whose_replicas_have_no_owner_adds_before_first_apply(cluster: Cluster) -> None:
    await cluster.apply("deployments", sized("deployments", None), "me")

    code, error = await applied(cluster, "deployments/scale", scale(2), "scaler")
    assert (code, error["details"]["causes"][0]["message"]) == (
        409,
        'conflict with "before-first-apply" with subresource "scale" using autoscaling/v1',
    )
    await applied(cluster, "deployments/scale", scale(1), "scaler")

    assert managers_of(await cluster.get("deployments", "d")) == {"scaler:scale", "before-first-apply:Update:scale"}


async def test_patching_a_scale_whose_replicas_have_no_owner_adds_no_owner(cluster: Cluster) -> None:
    await cluster.apply("deployments", sized("deployments", None), "me")

    await cluster.patch("deployments/scale", "d", {"spec": {"replicas": 2}}, params={"fieldManager": "scaler"})

    assert managers_of(await cluster.get("deployments", "d")) == set()


async def test_the_status_of_a_scale_is_ignored(cluster: Cluster) -> None:
    await cluster.apply("deployments", sized("deployments", 1), "me")

    patch = {"status": {"replicas": 42}}
    await cluster.patch("deployments/scale", "d", patch, params={"fieldManager": "scaler"})

    obj = await cluster.get("deployments", "d")
    assert (managers_of(obj), obj["status"].get("replicas", 0)) == ({"me"}, 0)


async def test_an_updater_loses_the_replicas_to_a_scale_that_does_not_change_them(cluster: Cluster) -> None:
    """A Scale has another API version, and entries of updates are separated by version, too."""
    await cluster.create("deployments", sized("deployments", 3), params={"fieldManager": "maker"})
    patch = {"spec": {"replicas": 3}}

    await cluster.patch("deployments/scale", "d", patch, params={"fieldManager": "scaler"})
    twice = (await cluster.get("deployments", "d"))["metadata"]["managedFields"]
    assert [(entry["manager"], "time" in entry) for entry in twice] == [("maker", False), ("maker", True)]

    await cluster.patch("deployments/scale", "d", patch, params={"fieldManager": "scaler"})
    assert managers_of(await cluster.get("deployments", "d")) == set()


async def test_applying_an_invalid_scale_is_an_error(cluster: Cluster) -> None:
    await cluster.apply("deployments", sized("deployments", 1), "me")

    code, error = await applied(cluster, "deployments/scale", sized("deployments", 2), "me")
    assert (code, error["message"]) == (400, "invalid object type: apps/v1, Kind=Deployment")
    code, error = await applied(cluster, "deployments/scale", {**scale(2), "spec": {"x": 1}}, "me")
    assert (code, error["message"].rpartition(": ")[2]) == (500, "field not declared in schema")
    code, error = await applied(cluster, "deployments/scale", scale(2, "missing"), "me")
    assert code == 404


async def test_the_scale_of_a_custom_resource_can_only_be_applied_without_changes(cluster: Cluster) -> None:
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}, "scale": paths})]))
    await cluster.apply("widgets", cluster.widget(spec={"size": 2}), "me")

    code, error = await applied(cluster, "widgets/scale", scale(3, "w"), "scaler", force="true")
    assert (code, error["message"].rpartition(": ")[2]) == (500, "autoscaling/v1")
    assert "request to convert CR to an invalid group/version" in error["message"]
    code, _ = await applied(cluster, "widgets/scale", scale(2, "w"), "scaler")

    assert code == 200
    assert managers_of(await cluster.get("widgets", "w"), "f:size") == {"me", "scaler:scale"}
