"""Releasing fields: their values stay, even if no field has an owner afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import GVK, GVR, Change, Client, ResourceClient, Unstructured, fields_of
from tests.contract.cluster import Cluster
from tests.contract.owners.kit import served


@pytest.fixture(params=["built-in", "custom"])
async def obj(request: pytest.FixtureRequest, cluster: Cluster) -> dict[str, Any]:
    """A ConfigMap or custom resource with one field besides its name."""
    if request.param == "built-in":
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    await cluster.create_crd()
    return cluster.widget("a", spec={"color": "red"})


def resource_of(client: Client, obj: dict[str, Any]) -> ResourceClient:
    return client.resource(GVK.parse(obj["apiVersion"], obj["kind"]))


def content(obj: Unstructured | dict[str, Any]) -> Any:
    return obj.get("data") or obj.get("spec")


@pytest.mark.parametrize("dry_run", [False, True])
async def test_the_only_manager_can_release_all_it_owns(
    cluster: Cluster, client: Client, obj: dict[str, Any], dry_run: bool
) -> None:
    resource, field = resource_of(client, obj), ".data" if "data" in obj else ".spec"
    applied = await resource.apply(obj, namespace=cluster.namespace, field_manager="team")

    released = await resource.release_fields(applied, field, "team", dry_run=dry_run)

    assert released.change is Change.CHANGED
    assert "managedFields" not in released["metadata"]
    assert (released.resource_version == applied.resource_version) is dry_run


async def test_fields_released_by_the_only_manager_survive_its_next_apply(
    cluster: Cluster, client: Client, obj: dict[str, Any]
) -> None:
    resource, field = resource_of(client, obj), "data" if "data" in obj else "spec"
    applied = await resource.apply(obj, namespace=cluster.namespace, field_manager="team")
    await resource.release_fields(applied, f".{field}", "team")

    again = await resource.apply({**obj, field: {}}, namespace=cluster.namespace, field_manager="team")

    assert content(again) == content(obj)
    assert set(map(str, fields_of(again, "team").leaves())) <= {f".{field}"}


async def test_a_release_beside_other_managers_keeps_their_entries(
    cluster: Cluster, client: Client, obj: dict[str, Any]
) -> None:
    resource, field = resource_of(client, obj), ".data" if "data" in obj else ".spec"
    await resource.apply(obj, namespace=cluster.namespace, field_manager="other")
    both = await resource.apply(obj, namespace=cluster.namespace, field_manager="team")

    released = await resource.release_fields(both, field, "team")

    assert (released.change, content(released)) == (Change.CHANGED, content(obj))
    assert fields_of(released, "other") == fields_of(both, "other")
    assert not fields_of(released, "team")


@pytest.fixture
async def widgets(cluster: Cluster, client: Client) -> ResourceClient:
    """Widgets with map fields; ``team`` has applied one Widget."""
    await cluster.create_crd(cluster.crd(versions=[served()]))
    widgets = client.resource(GVR(cluster.group, "v1", "widgets"))
    widget = cluster.widget(spec={"text": "t", "struct": {"a": "1", "b": "1"}})
    await widgets.apply(widget, namespace=cluster.namespace, field_manager="team")
    return widgets


@pytest.mark.parametrize(
    ("path", "remaining"),
    [
        pytest.param(".spec.struct.a", None, marks=pytest.mark.since("1.21", "1.20 keeps it")),
        (".spec.struct", {"a": "1", "b": "1"}),
    ],
)
async def test_a_released_field_is_removed_with_a_map_in_which_the_manager_owns_another(
    cluster: Cluster, widgets: ResourceClient, path: str, remaining: Any
) -> None:
    await widgets.release_fields("w", path, "team", namespace=cluster.namespace)

    without_map = cluster.widget(spec={"text": "t"})
    after = await widgets.apply(without_map, namespace=cluster.namespace, field_manager="team")

    assert after["spec"].get("struct") == remaining


async def test_a_released_field_stays_while_the_map_is_applied(cluster: Cluster, widgets: ResourceClient) -> None:
    await widgets.release_fields("w", ".spec.struct.a", "team", namespace=cluster.namespace)

    rest = cluster.widget(spec={"text": "t", "struct": {"b": "1"}})
    after = await widgets.apply(rest, namespace=cluster.namespace, field_manager="team")

    assert after["spec"]["struct"] == {"a": "1", "b": "1"}
