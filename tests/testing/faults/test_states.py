"""Faults in the state of the server: revisions that go back, CRDs that are not established, failing conversion."""

from __future__ import annotations

import json

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, FailConversion
from tests.contract.objects import CRDS, conditions, config
from tests.testing.engine.cluster import crd, widget

CONFIGS = "/api/v1/configmaps"
WIDGETS = "/apis/example.com/v1/widgets"


async def test_restore_with_rewind_sets_the_revision_back(server: APIServer, client: httpx2.AsyncClient) -> None:
    snapshot = server.snapshot()
    server.create(config("lost"))
    seen = server.revision

    server.restore(snapshot, rewind=True)
    response = await client.get(CONFIGS, params={"resourceVersion": str(seen)})

    assert server.revision < seen
    assert (response.status_code, response.json()["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    server.create(config("other"))
    assert server.revision == seen, "the revision is reused for another object"


async def test_a_watch_from_a_future_version_waits_for_it(server: APIServer, client: httpx2.AsyncClient) -> None:
    snapshot = server.snapshot()
    server.create(config("lost"))
    seen = server.revision
    server.restore(snapshot, rewind=True)

    watch = f"{CONFIGS}?watch=true&timeoutSeconds=60&resourceVersion={seen}"
    async with trio.open_nursery() as nursery:
        responses: list[httpx2.Response] = []

        async def get() -> None:
            responses.append(await client.get(watch))

        nursery.start_soon(get)
        await trio.sleep(1)
        server.create(config("missed"))
        server.create(config("seen"))

    names = [json.loads(line)["object"]["metadata"]["name"] for line in responses[0].text.splitlines()]
    assert names == ["seen"]


async def test_a_watch_from_a_future_version_has_no_bookmarks(server: APIServer, client: httpx2.AsyncClient) -> None:
    snapshot = server.snapshot()
    server.create(config("lost"))
    seen = server.revision
    server.restore(snapshot, rewind=True)

    params = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "300", "resourceVersion": str(seen)}
    response = await client.get(CONFIGS, params=params)

    assert response.text == ""


def test_restore_without_rewind_increases_the_revision() -> None:
    server = APIServer()
    snapshot = server.snapshot()
    server.create(config("lost"))
    seen = server.revision

    server.restore(snapshot)

    assert server.revision > seen


async def test_hold_definition_keeps_one_crd_from_being_established(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    held = server.hold_definition("widgets.example.com")
    server.create(crd())
    server.create(crd("gadgets", "Gadget"))
    await trio.sleep(3600)

    before = conditions(server.get(CRDS, "widgets.example.com"))["Established"]
    other = conditions(server.get(CRDS, "gadgets.example.com"))["Established"]
    held.remove()
    held.remove()
    after = conditions(server.get(CRDS, "widgets.example.com"))["Established"]

    assert [each[0] for each in (before, other, after)] == ["False", "True", "True"]
    assert (await client.get(WIDGETS)).status_code == 200


async def test_a_crd_that_does_not_exist_can_be_held(server: APIServer) -> None:
    with server.hold_definition("widgets.example.com"):
        pass

    server.create(crd())

    assert conditions(server.get(CRDS, "widgets.example.com"))["Established"][0] == "True"
    with pytest.raises(InvalidInput, match=r"PLURAL\.GROUP"):
        server.hold_definition("widgets")


async def test_a_held_crd_is_not_established_after_its_delay() -> None:
    async with APIServer(establish_delay=5) as server:
        with server.hold_definition("widgets.example.com"):
            server.create(crd())
            await trio.sleep(60)
            before = conditions(server.get(CRDS, "widgets.example.com"))["Established"]

        assert before[0] == "False"
        assert conditions(server.get(CRDS, "widgets.example.com"))["Established"][0] == "True"


async def test_conversion_fails_for_one_version(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(crd())
    server.create(widget("w"))
    server.inject(FailConversion("example.com/v2", "Widget"), resource="widgets.v1.example.com")

    response = await client.get(WIDGETS)
    (event,) = (await client.get(f"{WIDGETS}?watch=true")).text.splitlines()

    assert (response.status_code, "reason" in response.json()) == (500, False)
    assert response.json()["message"].startswith("conversion webhook for example.com/v2, Kind=Widget failed: Post ")
    assert json.loads(event)["type"] == "ERROR"
    assert json.loads(event)["object"]["code"] == 504
