"""Fields that a manager gives up: their values stay, also where nobody owns anything afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import GVK, Change, Client, ResourceClient, Unstructured, fields_of
from tests.contract.cluster import Cluster


@pytest.fixture(params=["built-in", "custom"])
async def obj(request: pytest.FixtureRequest, cluster: Cluster) -> dict[str, Any]:
    """An object with one field besides its name, of a built-in kind and of a custom one."""
    if request.param == "built-in":
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    await cluster.define()
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

    released = await resource.release(applied, field, "team", dry_run=dry_run)

    assert released.change is Change.CHANGED
    assert "managedFields" not in released["metadata"]
    assert (released.resource_version == applied.resource_version) is dry_run


async def test_what_the_only_manager_released_survives_its_next_apply(
    cluster: Cluster, client: Client, obj: dict[str, Any]
) -> None:
    resource, field = resource_of(client, obj), "data" if "data" in obj else "spec"
    applied = await resource.apply(obj, namespace=cluster.namespace, field_manager="team")
    await resource.release(applied, f".{field}", "team")

    again = await resource.apply({**obj, field: {}}, namespace=cluster.namespace, field_manager="team")

    assert content(again) == content(obj)
    assert set(map(str, fields_of(again, "team").leaves())) <= {f".{field}"}


async def test_a_release_beside_other_managers_keeps_their_entries(
    cluster: Cluster, client: Client, obj: dict[str, Any]
) -> None:
    resource, field = resource_of(client, obj), ".data" if "data" in obj else ".spec"
    await resource.apply(obj, namespace=cluster.namespace, field_manager="other")
    both = await resource.apply(obj, namespace=cluster.namespace, field_manager="team")

    released = await resource.release(both, field, "team")

    assert (released.change, content(released)) == (Change.CHANGED, content(obj))
    assert fields_of(released, "other") == fields_of(both, "other")
    assert not fields_of(released, "team")
