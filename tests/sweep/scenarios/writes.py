"""Verbs that change objects."""

from __future__ import annotations

from functools import partial
from typing import Any

from dynkube import Client
from dynkube_testing import APIServer
from tests.sweep.cluster import WIDGETS, configs, deployment, widget, widgets
from tests.sweep.lab import Lab, scenario

VERBS = "dynkube.ResourceClient"
SUBRESOURCES = "dynkube.client.SubresourceClient"
FIELD: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"mine": "1"}}
on_widgets = partial(scenario, prepare=widgets)
on_configs = partial(scenario, prepare=configs)
on_deployments = partial(scenario, prepare=deployment)


def size_of(lab: Lab) -> object:
    """Return the size of the widget a."""
    return lab.server.get(WIDGETS, "a", "default")["spec"].get("size")


def labels_of(lab: Lab, part: str = "labels") -> object:
    """Return the labels of the widget a."""
    return lab.server.get(WIDGETS, "a", "default")["metadata"].get(part, {})


@on_widgets("create", f"{VERBS}.create")
async def create(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).create(widget("c"))
    lab.check(lab.exists(WIDGETS, "c"), "returned, and the object does not exist")


@on_widgets("update", f"{VERBS}.update")
async def update(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).update(widget("a", size=2) | _versioned(lab))
    lab.check(size_of(lab) == 2, "returned, and the object is unchanged")


def _versioned(lab: Lab) -> dict[str, Any]:
    return {"metadata": lab.server.get(WIDGETS, "a", "default")["metadata"]}


@on_widgets("update_status", f"{VERBS}.update_status")
async def update_status(lab: Lab) -> None:
    obj = lab.server.get(WIDGETS, "a", "default")
    await lab.client.resource(WIDGETS).update_status({**obj, "status": {"phase": "Ready"}})
    lab.check(lab.server.get(WIDGETS, "a", "default").get("status"), "returned, and the status is unchanged")


@on_widgets("patch", f"{VERBS}.patch")
async def patch(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).patch("a", {"spec": {"size": 2}})
    lab.check(size_of(lab) == 2, "returned, and the object is unchanged")


@on_widgets("apply", f"{VERBS}.apply")
async def apply(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).apply(widget("a", size=2), force=True)
    lab.check(size_of(lab) == 2, "returned, and the object is unchanged")


@on_configs("apply of a new object")
async def apply_new(lab: Lab) -> None:
    applied = await lab.client.resource("configmaps").apply({**FIELD, "metadata": {"name": "c"}})
    lab.check(lab.exists("configmaps", "c"), f"returned {applied.change.value}, and the object does not exist")


@on_widgets("label", f"{VERBS}.label")
async def label(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).label("a", {"app": "db"}, overwrite=True)
    lab.check(labels_of(lab) == {"app": "db"}, "returned, and the object is unchanged")


@on_widgets("annotate", f"{VERBS}.annotate")
async def annotate(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).annotate("a", {"note": "x"}, overwrite=True)
    lab.check(labels_of(lab, "annotations"), "returned, and the object is unchanged")


@on_deployments("scale", f"{VERBS}.scale")
async def scale(lab: Lab) -> None:
    await lab.client.resource("deploy").scale("web", 3)
    live = lab.server.get("deployments", "web", "default")
    lab.check(live["spec"]["replicas"] == 3, "returned, and the object is unchanged")


@on_widgets("delete", f"{VERBS}.delete", repeat=False)
async def delete(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).delete("a")
    lab.check(not lab.exists(WIDGETS, "a"), "returned, and the object exists")


@on_widgets("delete_collection", f"{VERBS}.delete_collection")
async def delete_collection(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).delete_collection(namespace="default")
    lab.check(not lab.names(WIDGETS), "returned, and objects exist")


@on_configs("diff", f"{VERBS}.diff")
async def diff(lab: Lab) -> None:
    found = await lab.client.resource("configmaps").diff({**FIELD, "data": {"key": "2"}})
    lab.check(
        found.before is not None and [each.path for each in found.changes], "an object that exists is shown as new"
    )


async def applied_by_first(server: APIServer, client: Client) -> None:
    """Apply the field ``mine`` of the ConfigMap a."""
    await client.resource("configmaps").apply(FIELD, field_manager="first")


@on_configs("diff_applied", f"{VERBS}.diff_applied", before=applied_by_first)
async def diff_applied(lab: Lab) -> None:
    found = await lab.client.resource("configmaps").diff_applied({**FIELD, "data": {"mine": "2"}}, "first")
    lab.check(found.changes, "no difference is shown")


@on_configs("release_fields", f"{VERBS}.release_fields", before=applied_by_first)
async def release_fields(lab: Lab) -> None:
    await lab.client.resource("configmaps").release_fields("a", ".data.mine", "first")
    lab.check("first" not in _managers(lab), "returned, and the manager has its fields")


@on_configs("transfer_fields", f"{VERBS}.transfer_fields", before=applied_by_first, repeat=False)
async def transfer_fields(lab: Lab) -> None:
    await lab.client.resource("configmaps").transfer_fields("a", "first", "second")
    lab.check("second" in _managers(lab), "returned, and the manager has no fields")


@on_configs("upgrade_managed_fields", f"{VERBS}.upgrade_managed_fields", before=applied_by_first)
async def upgrade_managed_fields(lab: Lab) -> None:
    await lab.client.resource("configmaps").upgrade_managed_fields("a", "me", "dynkube-testing")


def _managers(lab: Lab) -> set[str]:
    return {each["manager"] for each in lab.server.get("configmaps", "a", "default")["metadata"]["managedFields"]}


@on_widgets("update of a subresource", f"{SUBRESOURCES}.update")
async def update_subresource(lab: Lab) -> None:
    obj = lab.server.get(WIDGETS, "a", "default")
    await lab.client.resource(WIDGETS).subresource("status").update({**obj, "status": {"phase": "Ready"}})
    lab.check(lab.server.get(WIDGETS, "a", "default").get("status"), "returned, and the status is unchanged")


@on_widgets("patch of a subresource", f"{SUBRESOURCES}.patch")
async def patch_subresource(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).subresource("status").patch("a", {"status": {"phase": "Ready"}})
    lab.check(lab.server.get(WIDGETS, "a", "default").get("status"), "returned, and the status is unchanged")


@on_widgets("apply of a subresource", f"{SUBRESOURCES}.apply")
async def apply_subresource(lab: Lab) -> None:
    status = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "status": {"phase": "Ready"}}
    await lab.client.resource(WIDGETS).subresource("status").apply(status)
    lab.check(lab.server.get(WIDGETS, "a", "default").get("status"), "returned, and the status is unchanged")


@on_deployments("create of a subresource", f"{SUBRESOURCES}.create")
async def create_subresource(lab: Lab) -> None:
    if not lab.exists("serviceaccounts", "robot"):
        metadata = {"name": "robot", "namespace": "default"}
        lab.server.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    found = await lab.client.resource("serviceaccounts").subresource("token").create("robot", request)
    lab.check(found["status"]["token"], "returned no token")
