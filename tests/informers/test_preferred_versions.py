"""Informers on the name of a CRD without a version: they follow the version that the server prefers."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

from dynkube import ABSENT, GVR, LIVE, Client, Informer
from dynkube_testing import APIServer, Kind, Refuse
from tests.informers.kit import CRDS, Recorder, crd, widget

NAME = "widgets.example.com"


def serve(server: APIServer, *served: str) -> None:
    """Change the versions that the CRD serves; v1 stays the storage version."""
    stored = server.get(CRDS, NAME)
    schema = stored["spec"]["versions"][0]["schema"]
    stored["spec"]["versions"] = [
        {"name": name, "served": name in served, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")
    ]
    server.update(stored)


def shown(informer: Informer) -> tuple[str, set[str]]:
    """Return the followed GVR, and the API versions of the objects."""
    return str(informer.gvr), {obj.api_version for obj in informer}


async def test_the_version_of_a_crd_that_is_installed_later_is_followed(server: APIServer, client: Client) -> None:
    async with client.informer(NAME) as widgets:
        state = await widgets.wait_state(ABSENT)
        assert (str(widgets.gvr), state.reason, list(widgets)) == (NAME, "CRDNotFound", [])

        server.create(crd(served=["v1"]))
        server.create(widget("a"))
        await widgets.wait_state(LIVE)

        assert shown(widgets) == ("widgets.v1.example.com", {"example.com/v1"})


async def test_another_preferred_version_gives_an_update_for_each_object(server: APIServer, client: Client) -> None:
    server.create(crd(served=["v1"]))
    server.create(widget("a"))
    server.create(widget("b"))
    recorder = Recorder()
    async with client.informer(NAME) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/a", "add/b"]

        serve(server, "v1", "v2")
        await trio.sleep(1)
        assert await recorder.drain() == ["update/a", "update/b"]
        assert shown(widgets) == ("widgets.v2.example.com", {"example.com/v2"})

        serve(server, "v1")
        await trio.sleep(1)
        assert await recorder.drain() == ["update/a", "update/b"]
        assert shown(widgets) == ("widgets.v1.example.com", {"example.com/v1"})


async def test_a_crd_that_serves_no_version_is_absent(server: APIServer, client: Client) -> None:
    server.create(crd(served=["v1"]))
    async with client.informer(NAME) as widgets:
        await widgets.wait_state(LIVE)

        serve(server)
        state = await widgets.wait_state(ABSENT)

        assert (state.reason, state.message) == ("VersionNotServed", f"CRD {NAME} does not serve any version")


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_the_preferred_version_comes_from_discovery_if_crds_cannot_be_read(
    server: APIServer, client: Client, status: int
) -> None:
    server.inject(Refuse(status), resource=CRDS)
    async with client.informer(NAME) as widgets:
        await widgets.wait_state(ABSENT)

        server.create(crd(served=["v1"]))
        server.create(widget("a"))
        await widgets.wait_state(LIVE)
        assert shown(widgets) == ("widgets.v1.example.com", {"example.com/v1"})

        serve(server, "v1", "v2")
        await trio.sleep(40)  # one interval of polling
        assert shown(widgets) == ("widgets.v2.example.com", {"example.com/v2"})

        server.delete(CRDS, NAME)
        await trio.sleep(120)
        assert (widgets.state.phase, list(widgets)) == (ABSENT, [])


async def test_a_version_that_changes_while_crds_cannot_be_read_is_followed(server: APIServer, client: Client) -> None:
    server.create(crd(served=["v1"]))
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(NAME) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        with server.inject(Refuse(403), resource=CRDS):
            server.end_watches(CRDS)
            serve(server, "v2")
            await trio.sleep(60)
            assert shown(widgets) == ("widgets.v2.example.com", {"example.com/v2"})
        await trio.sleep(120)

        assert await recorder.drain() == ["add/a", "update/a"]
        assert widgets.state.phase is LIVE


def aggregated(version: str) -> Kind:
    return Kind(gvr=GVR("example.com", version, "widgets"), kind="Widget", namespaced=True)


async def test_an_aggregated_api_is_followed_when_its_version_changes(server: APIServer, client: Client) -> None:
    async with client.informer(NAME) as widgets:
        await widgets.wait_state(ABSENT)
        server.register(aggregated("v1beta1"))
        server.create(widget("a") | {"apiVersion": "example.com/v1beta1"})
        with trio.fail_after(1):  # by its APIService
            await widgets.wait_state(LIVE)
        assert shown(widgets) == ("widgets.v1beta1.example.com", {"example.com/v1beta1"})

        server.unregister(aggregated("v1beta1").gvr)
        await widgets.wait_state(ABSENT)
        server.register(aggregated("v1"))
        with trio.fail_after(31):
            await widgets.wait_state(LIVE)
        assert str(widgets.gvr) == "widgets.v1.example.com"


@pytest.mark.parametrize("name", ["widgets.example.com", "widget.example.com", "wd.example.com", "widgets.example"])
async def test_other_names_with_a_group_are_resolved_by_discovery(server: APIServer, client: Client, name: str) -> None:
    crd_body: Any = crd(served=["v1"], group="example.com.test" if name == "widgets.example" else "example.com")
    crd_body["spec"]["names"]["shortNames"] = ["wd"]
    server.create(crd_body)
    async with client.informer(name) as widgets:
        await widgets.wait_state(LIVE)

        assert widgets.gvr is not None
        assert (widgets.gvr.version, widgets.gvr.resource) == ("v1", "widgets")


async def test_a_version_of_the_group_that_is_unavailable_removes_no_object(server: APIServer, client: Client) -> None:
    server.register(aggregated("v1beta1"))
    server.create(widget("a") | {"apiVersion": "example.com/v1beta1"})
    async with client.informer(NAME) as widgets:
        await widgets.wait_state(LIVE)

        server.register(aggregated("v1"))
        server.set_available("example.com/v1", available=False)
        server.inject(Refuse(404), resource="widgets", times=1)
        server.end_watches("widgets")
        await trio.sleep(120)

        assert (shown(widgets), widgets.state.phase) == (
            ("widgets.v1beta1.example.com", {"example.com/v1beta1"}), LIVE,
        )  # fmt: skip


async def test_one_read_of_discovery_gives_the_versions_of_many_groups(server: APIServer, client: Client) -> None:
    server.inject(Refuse(403), resource=CRDS)
    groups = [f"{letter}.example.com" for letter in "abcdefgh"]
    async with AsyncExitStack() as stack:
        informers = [await stack.enter_async_context(client.informer(f"widgets.{group}")) for group in groups]
        for group in groups:
            server.create(crd(group=group, served=["v1", "v2"]))
        for informer in informers:
            await informer.wait_state(LIVE)

        assert [str(informer.gvr) for informer in informers] == [f"widgets.v2.{group}" for group in groups]
