"""Paged lists from servers whose pages are not from one resourceVersion."""

from __future__ import annotations

from random import Random

import pytest
import trio

import dynkube
from dynkube import LIVE
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet, replace, widget


@pytest.mark.scenario("P13")
async def test_an_older_state_in_a_later_page_does_not_replace_the_newer_one(server: APIServer) -> None:
    server.create(crd())
    older = server.create(widget("a", n=1))
    replace(server, widget("a", n=2))
    newer = server.get("widgets", "a")
    for item, token in ((newer, "more"), (older, "")):
        metadata = {"resourceVersion": newer["metadata"]["resourceVersion"], "continue": token}
        page = {"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": metadata, "items": [item]}
        server.fail(resource="widgets", verb="list", status=200, body=page, times=1)

    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False)
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        with trio.fail_after(10):
            await widgets.wait_state(LIVE)

        assert [obj["spec"]["n"] for obj in widgets] == [2]


@pytest.mark.scenario("P13")
async def test_a_change_between_two_pages_of_different_versions_is_not_lost(server: APIServer) -> None:
    server.create(crd())
    first = server.create(widget("a", n=1))
    replace(server, widget("a", n=2))
    last = server.create(widget("b"))
    for item, token in ((first, "more"), (last, "")):
        metadata = {"resourceVersion": item["metadata"]["resourceVersion"], "continue": token}
        page = {"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": metadata, "items": [item]}
        server.fail(resource="widgets", verb="list", status=200, body=page, times=1)

    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False)
    async with (
        dynkube.connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        with trio.fail_after(10):
            await widgets.wait_state(LIVE)
        await quiet()

        assert {obj.name: obj["spec"].get("n") for obj in widgets.list()} == {"a": 2, "b": None}
