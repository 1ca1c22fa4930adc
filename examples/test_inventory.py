"""Tests of inventory.py, without a cluster and in virtual time. Run them by ``python -m pytest examples``."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio

import dynkube
from dynkube_testing import APIServer
from examples.inventory import Inventory, only_metadata


def virtual_now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=trio.current_time())


pytestmark = [pytest.mark.anyio, pytest.mark.api_server(now=virtual_now)]
SESSIONS, WEBSITES = (Path(__file__).with_name(name) for name in ("sessions.yaml", "websites.yaml"))


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


@pytest.fixture
async def inventory(api_server: APIServer, kube_client: dynkube.Client) -> AsyncIterator[Inventory]:
    inventory = Inventory()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inventory.run, kube_client)
        api_server.load(SESSIONS)
        await trio.sleep(5)
        yield inventory
        nursery.cancel_scope.cancel()


def session(name: str, namespace: str = "default") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Session", "metadata": metadata, "spec": {"seconds": 1}}


async def test_objects_are_counted_by_namespace(api_server: APIServer, inventory: Inventory) -> None:
    api_server.create(session("night", "kube-system"))
    await trio.sleep(1)

    summary = inventory.summary()["sessions.example.com"]
    assert (summary.kind, summary.versions, summary.state.phase) == ("Session", ("v1",), dynkube.LIVE)
    assert (summary.namespaces, summary.newest) == ({"default": 2, "kube-system": 1}, "night")
    assert str(inventory).splitlines()[1].split()[:4] == ["sessions.example.com", "Session", "v1", "3"]


async def test_a_crd_that_comes_and_goes_opens_and_closes_an_informer(
    api_server: APIServer, kube_client: dynkube.Client, inventory: Inventory
) -> None:
    api_server.load(WEBSITES)
    await trio.sleep(1)
    assert sorted(inventory.summary()) == ["sessions.example.com", "websites.example.com"]

    api_server.delete("crds", "sessions.example.com")
    await trio.sleep(10)
    assert sorted(inventory.summary()) == ["websites.example.com"]
    followed = {informer.gvr.resource for informer in kube_client.informers()}
    assert followed == {"customresourcedefinitions", "websites"}

    api_server.load(SESSIONS)
    await trio.sleep(1)
    assert inventory.summary()["sessions.example.com"].namespaces == {"default": 2}


async def test_a_crd_that_is_not_established_is_left_out(api_server: APIServer, inventory: Inventory) -> None:
    held = api_server.hold_definition("websites.example.com")
    api_server.load(WEBSITES)
    await trio.sleep(1)
    assert list(inventory.summary()) == ["sessions.example.com"]
    held.remove()
    await trio.sleep(1)
    assert sorted(inventory.summary()) == ["sessions.example.com", "websites.example.com"]


async def test_it_says_which_versions_are_served_now(api_server: APIServer, inventory: Inventory) -> None:
    crd = api_server.get("crds", "sessions.example.com")
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2", "storage": False})
    api_server.update(crd)
    await trio.sleep(1)
    assert inventory.summary()["sessions.example.com"].versions == ("v1", "v2")


async def test_each_change_is_noticed_once(api_server: APIServer, inventory: Inventory) -> None:
    await inventory.wait_changed()
    with trio.move_on_after(3600) as nothing:
        await inventory.wait_changed()
    assert nothing.cancelled_caught
    api_server.delete("sessions", "minute")
    with trio.fail_after(1):
        await inventory.wait_changed()


async def test_only_metadata_is_kept() -> None:
    kept = only_metadata(dynkube.Unstructured(session("a")))
    assert kept.to_dict() == {name: value for name, value in session("a").items() if name != "spec"}
