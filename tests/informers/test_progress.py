"""The number of objects that the list in progress has received."""

from __future__ import annotations

from random import Random

import pytest
import trio

import dynkube
from dynkube import Client, Informer, InformerSettings, NamespaceSet
from dynkube_testing import APIServer, Delay, Drip, Refuse
from tests.informers.kit import WIDGETS, crd, namespace, quiet, widget

PAGES = InformerSettings(random=Random(7), streaming_lists=False, consistency="most_recent", page_size=2)


@pytest.fixture(autouse=True)
def six_widgets(server: APIServer) -> None:
    server.create(crd())
    for number in range(6):
        server.create(widget(f"w{number}", text="x" * 1000))


def progress(informer: Informer) -> tuple[int, int]:
    statistics = informer.statistics()
    return statistics.listed, statistics.objects


async def test_progress_grows_with_each_page_and_ends_with_the_list(server: APIServer) -> None:
    server.inject(Delay(10), verb="list", resource="widgets")
    seen = []
    async with (
        dynkube.connect(transport=server.transport(), settings=PAGES) as client,
        client.informer(WIDGETS) as widgets,
    ):
        for _ in range(4):
            seen.append(progress(widgets))
            await trio.sleep(10.5)

    assert seen == [(0, 0), (2, 0), (4, 0), (0, 6)]


async def test_progress_grows_while_initial_objects_are_streamed(server: APIServer, client: Client) -> None:
    server.inject(Drip(1000), verb="watch", resource="widgets")
    seen = [0]
    async with client.informer(WIDGETS, streaming_lists=True) as widgets:
        while not widgets.has_synced:
            await trio.sleep(0.1)
            if seen[-1] != widgets.statistics().listed:
                seen.append(widgets.statistics().listed)

        assert (seen, progress(widgets)) == ([0, 1, 2, 3, 4, 5, 6, 0], (0, 6))


async def test_progress_starts_again_after_a_failure(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport(), settings=PAGES) as client:
        server.inject(Refuse(500), verb="list", resource="widgets", times=1, skip=1)
        async with client.informer(WIDGETS) as widgets:
            await quiet()

            assert (widgets.statistics().failures, progress(widgets)) == (1, (0, 0))

            await widgets.wait_synced()

            assert progress(widgets) == (0, 6)


async def test_progress_does_not_count_namespaces_that_were_removed_meanwhile(server: APIServer) -> None:
    server.create(namespace("other"))
    server.create(widget("other", namespace="other"))
    server.inject(Delay(10), verb="list", resource="widgets")
    namespaces = NamespaceSet(["default", "other"])
    async with (
        dynkube.connect(transport=server.transport(), settings=PAGES) as client,
        client.informer(WIDGETS, namespaces=namespaces) as widgets,
    ):
        await trio.sleep(15)
        assert progress(widgets) == (2, 1)

        namespaces.replace(["other"])
        await quiet()

        assert progress(widgets) == (0, 1)
