"""Failure modes 3, 6, 9 and 33: what CRDs do to their resources, seen and unseen."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from dynkube import ABSENT, LIVE, Client
from dynkube.testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget


async def test_3_an_established_crd_that_is_not_served_yet_is_tried_again_soon(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.fail(resource="widgets", status=404, times=3)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]
        assert trio.current_time() < 0.4 + 0.8 + 1.6, "three delays from 0.2 s on, each at most doubled by jitter"


@pytest.mark.parametrize("how", ["cut", "silent"])
async def test_6_a_crd_that_goes_while_nobody_is_connected_takes_its_objects(
    server: APIServer, client: Client, how: Any
) -> None:
    server.create(crd())
    for name in ("a", "b"):
        server.create(widget(name))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await recorder.drain()

        server.end_watches(how=how)
        server.delete(CRDS, "widgets.example.com")
        server.compact()
        with trio.fail_after(150):
            await widgets.wait_state(ABSENT)

        assert (sorted(await recorder.drain()), widgets.list()) == (["delete/a", "delete/b"], [])


async def test_9_a_crd_whose_spec_changes_ends_all_watches_and_nothing_is_lost(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await trio.sleep(10)

        for served in (["v1", "v2"], ["v1"], ["v1", "v2"]):
            server.update(crd(served=served))
            server.end_watches("widgets")
            server.create(widget(f"during-{len(served)}-{server.revision}"))
            await trio.sleep(5)

        assert widgets.state.phase is LIVE
        events = await recorder.drain()
        assert (len(events), {event.partition("/")[0] for event in events}) == (4, {"add"})


async def test_33_objects_made_again_unseen_are_deleted_and_added(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await recorder.drain()

        server.end_watches("widgets", how="cut")
        server.delete("widgets", "a")
        server.create(widget("a"))
        server.compact()
        await trio.sleep(10)

        assert await recorder.drain() == ["delete/a", "add/a"]


async def test_p8_trouble_that_lasts_an_hour_fills_no_log(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dynkube.informers")
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.fail(resource="widgets", status=500)
        server.end_watches("widgets")
        caplog.clear()
        await trio.sleep(3600)

        assert [record.levelname for record in caplog.records if record.name == "dynkube.informers"] == ["INFO"]


async def test_p7_reads_are_empty_from_the_moment_it_is_absent(server: APIServer, client: Client) -> None:
    server.create(crd())
    for number in range(200):
        server.create(widget(f"w{number}", host="x"))
    wrong: list[object] = []
    async with client.informer(WIDGETS, indexes={"host": "{.spec.host}"}) as widgets, trio.open_nursery() as nursery:

        async def watch_reads() -> None:
            async for state in widgets.states():
                empty = state.phase is ABSENT
                if empty != (len(widgets) == 0) or empty != (widgets.by_index("host", "x") == []):
                    wrong.append(state)

        await widgets.wait_state(LIVE)
        nursery.start_soon(watch_reads)
        await quiet()
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        await quiet()
        nursery.cancel_scope.cancel()

    assert wrong == []
