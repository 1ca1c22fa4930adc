"""K27, G1, G3, failure modes 3, 6 and 33: how changes of CRDs affect their resources, watched or missed."""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, Added, Client, Deleted
from dynkube_testing import APIServer
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, replace, widget
from tests.informers.wire import TamperedWire


@pytest.mark.scenario("F3")
async def test_3_an_established_crd_that_is_not_served_yet_is_retried_soon(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.fail(resource="widgets", status=404, times=3)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]
        assert trio.current_time() < 0.4 + 0.8 + 1.6, "three delays from 0.2 s on, each at most doubled by jitter"


@pytest.mark.scenario("F6", "P7")
@pytest.mark.parametrize("how", ["cut", "silent"])
async def test_6_a_crd_deleted_while_disconnected_empties_the_informer(
    server: APIServer, client: Client, how: Any
) -> None:
    server.create(crd())
    for number in range(300):
        server.create(widget(f"w{number}", n=0))
    async with client.informer(WIDGETS, indexes={"n": "{.spec.n}"}) as widgets:
        subscription, slow = Subscription(widgets), Subscription(widgets, pause=0.01)
        await widgets.wait_state(LIVE)
        await trio.sleep(10)

        server.end_watches(how=how)
        replace(server, widget("w0", n=1))  # a change that no watch receives
        server.delete(CRDS, "widgets.example.com")
        server.compact()
        with trio.fail_after(150):
            await widgets.wait_state(ABSENT)
        assert (widgets.list(), widgets.by_index("n", "0")) == ([], [])
        await trio.sleep(10)

        for one in (subscription, slow):  # Subscription checks that each Deleted has the object as shown last
            assert (one.folded, one.wrong, set(one.event_counts.values())) == ({}, [], {2})


@pytest.mark.scenario("F33", "P2")
async def test_33_objects_recreated_while_disconnected_are_deleted_and_added(server: APIServer, client: Client) -> None:
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


@pytest.mark.scenario("P8", "F40")
async def test_an_hour_of_failures_logs_one_warning(
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

        assert [record.levelname for record in caplog.records if record.name == "dynkube.informers"] == ["WARNING"]


@pytest.mark.scenario("K27", "F39")
async def test_a_missed_delete_is_reported_like_any_other(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("seen"))
    server.create(widget("missed"))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        added = [await anext(events), await anext(events)]
        assert {type(event) for event in added} == {Added}

        server.delete("widgets", "seen")
        first = await anext(events)
        server.end_watches(resource="widgets")
        server.delete("widgets", "missed")
        server.compact()
        second = await anext(events)

        assert isinstance(first, Deleted)
        assert isinstance(second, Deleted)
        assert (first.object.name, second.object.name) == ("seen", "missed")


@pytest.mark.scenario("G1", "F2", "P8")
async def test_a_crd_that_is_not_established_is_absent_and_not_listed() -> None:
    async with APIServer(establish_delay=30) as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        async with client.informer(WIDGETS) as widgets:
            assert (await widgets.wait_state(ABSENT)).reason == "NotEstablished"
            await trio.sleep(20)
            assert not [request for request in server.requests if "widgets" in request.path.split("/")]

            await widgets.wait_state(LIVE)

            assert 30 <= trio.current_time() < 31


@pytest.mark.scenario("G3", "P7")
async def test_a_deleted_resource_gets_no_requests_and_is_logged_once(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        caplog.set_level(logging.DEBUG, logger="dynkube")
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)

        server.forget_requests()
        await trio.sleep(3600)

        assert not [request for request in server.requests if "widgets" in request.path.split("/")]
        assert len([record for record in caplog.records if "widgets" in record.getMessage()]) == 1


@pytest.mark.scenario("G1", "F2")
async def test_a_crd_whose_names_are_taken_is_absent_with_the_message_of_the_server(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    rival = crd("rivals")
    rival["spec"]["names"]["kind"] = "Widget"
    async with client.informer("rivals.v1.example.com") as rivals:
        await rivals.wait_state(ABSENT)

        server.create(rival)
        async with aclosing(rivals.states()) as states:
            state = [await anext(states) for _ in range(2)][-1]

        assert state.reason == "NamesNotAccepted"
        assert "CRD rivals.example.com is not served" in state.message
        assert "Widget" in state.message


@pytest.mark.scenario("P3", "P7")
async def test_a_repeated_event_of_an_earlier_crd_of_the_name_removes_no_object(server: APIServer) -> None:
    earlier = server.create(crd())
    server.delete(CRDS, "widgets.example.com")
    server.create(crd())
    server.create(widget("a"))

    def repeat(request: httpx2.Request, line: bytes) -> bytes:
        if b"gadgets.example.com" not in line:
            return line
        return json.dumps({"type": "DELETED", "object": earlier}).encode() + b"\n" + line

    recorder = Recorder()
    async with (
        dynkube.connect(transport=TamperedWire(server, repeat)) as client,
        client.informer("gadgets.v1.example.com") as gadgets,
        client.informer(WIDGETS) as widgets,
    ):
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)

        server.create(crd("gadgets"))
        await gadgets.wait_state(LIVE)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)
