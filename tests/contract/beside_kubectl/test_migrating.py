"""Migration of an object from client-side to server-side apply."""

from __future__ import annotations

import pytest

from dynkube import Change, Client, Unstructured, owners
from tests.contract.beside_kubectl.conftest import Kubectl

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def settings(**data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


@pytest.fixture
async def live(kubectl: Kubectl, client: Client) -> Unstructured:
    await kubectl.apply_from_here(settings(colour="blue", size="large"))
    return await client.resource("configmaps").get("settings")


async def test_without_migration_a_field_that_is_not_applied_again_stays(client: Client, live: Unstructured) -> None:
    applied = await client.resource("configmaps").apply(settings(colour="blue"))

    assert applied["data"] == {"colour": "blue", "size": "large"}


async def test_after_migration_a_field_that_is_not_applied_again_is_removed(client: Client, live: Unstructured) -> None:
    maps = client.resource("configmaps")

    migrated = await maps.upgrade_managed_fields("settings", "traffic")
    applied = await maps.apply(settings(colour="blue"))

    assert (migrated.change, migrated["data"]) == (Change.CHANGED, live["data"])
    assert {manager.name for found in owners(migrated).values() for manager in found} == {"traffic"}
    assert applied["data"] == {"colour": "blue"}
    assert LAST_APPLIED not in applied.annotations


async def test_an_object_can_be_migrated_to_kubectls_server_side_apply(
    kubectl: Kubectl, client: Client, live: Unstructured
) -> None:
    maps = client.resource("configmaps")

    await maps.upgrade_managed_fields("settings", "kubectl")
    await kubectl.apply(settings(size="small"))

    assert (await maps.get("settings"))["data"] == {"size": "small"}


async def test_a_second_migration_writes_nothing(client: Client, live: Unstructured) -> None:
    maps = client.resource("configmaps")
    once = await maps.upgrade_managed_fields("settings", "traffic")

    again = await maps.upgrade_managed_fields("settings", "traffic")

    assert (again.change, again.resource_version) == (Change.UNCHANGED, once.resource_version)
