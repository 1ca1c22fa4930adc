"""P13: failures on the wire lose no change, whatever their form."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import DEGRADED, LIVE, Client
from dynkube.rest._backoff import Backoff
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget

GONE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "old"}
TOO_LARGE = {
    "kind": "Status",
    "status": "Failure",
    "code": 504,
    "reason": "Timeout",
    "message": "Too large resource version: 99, current: 9",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
}


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


def times(server: APIServer, verb: str = "watch") -> list[float]:
    return [r.time for r in server.requests if r.verb == verb and r.resource and r.resource.resource == "widgets"]


@pytest.mark.scenario("F22", "P13")
@pytest.mark.parametrize("how", ["clean", "cut"])
async def test_22_a_watch_that_ends_continues_from_its_last_version(
    server: APIServer, client: Client, how: Any
) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        assert await recorder.drain() == ["add/a"]

        server.end_watches("widgets", how=how)
        server.create(widget("b"))
        server.delete("widgets", "a")
        await trio.sleep(2)

        assert await recorder.drain() == ["add/b", "delete/a"]
        assert times(server, "list") == []
        assert "sendInitialEvents" not in server.requests[-1].params


@pytest.mark.scenario("F16", "P13")
@pytest.mark.parametrize("form", ["event", "status", "at once"])
async def test_16_after_an_expired_version_only_the_changes_are_delivered(form: str) -> None:
    style: Any = "status" if form == "status" else "event"
    recorder = Recorder()
    async with APIServer(expired_watch=style) as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        server.create(widget("same"))
        server.create(widget("goes"))
        async with client.informer(WIDGETS) as widgets:
            recorder.attach(widgets)
            await widgets.wait_state(LIVE)
            await trio.sleep(10)
            await recorder.drain()

            if form == "at once":
                server.fail(resource="widgets", verb="watch", status=200, body=b"", times=2)
            server.end_watches("widgets")
            server.delete("widgets", "goes")
            server.create(widget("comes"))
            server.compact()
            await trio.sleep(10)

            assert sorted(await recorder.drain()) == ["add/comes", "delete/goes"]
            assert widgets.state.phase is LIVE


@pytest.mark.scenario("F16", "P13", "F20")
async def test_16_an_expired_page_leads_to_one_full_list() -> None:
    async with APIServer(watch_list=False) as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        for number in range(4):
            server.create(widget(f"w{number}"))
        page: Any = {"kind": "WidgetList", "apiVersion": "example.com/v1", "items": []}
        page["metadata"] = {"resourceVersion": "5", "continue": "a-token"}
        server.fail(resource="widgets", verb="list", status=200, body=page, times=1)
        server.fail(resource="widgets", verb="list", status=410, body=GONE, times=1)
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_synced()

            lists = [r.params for r in server.requests if r.verb == "list" and "widgets" in r.path.split("/")]
            assert [sorted(params) for params in lists] == [["limit", "resourceVersion"], ["continue", "limit"], []]
            assert len(widgets) == 4


@pytest.mark.scenario("F17")
async def test_17_a_version_that_the_server_has_not_reached_leads_to_a_list_of_the_most_recent_state(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        server.fail(resource="widgets", verb="watch", status=504, body=TOO_LARGE, times=1)
        server.end_watches("widgets")
        await trio.sleep(10)

        (listed,) = [r.params for r in server.requests if r.verb == "list" and "widgets" in r.path.split("/")]
        assert "resourceVersion" not in listed
        assert (widgets.state.phase, names(widgets.list())) == (LIVE, ["a"])


LINES = {
    "an ERROR that is no Status": b'{"type":"ERROR","object":{"kind":"Widget","metadata":{"name":"x"}}}\n',
    "an unknown type": b'{"type":"RENAMED","object":{"kind":"Widget","metadata":{"name":"x"}}}\n',
    "no JSON": b"<html>\n",
    "an object without metadata": b'{"type":"ADDED","object":{"kind":"Widget"}}\n',
    "half a line": b'{"type":"ADDED","object":{"kind":"Wid',
    "no text": b'{"type":"ADDED","object":{"kind":"Widget","metadata":{"name":"\xff"}}}\n',
    "a type that is no text": b'{"type":"\xff","object":{"kind":"Widget","metadata":{"name":"x"}}}\n',
    "an object without a bottom": b'{"type":"ADDED","object":{"kind":"Widget","spec":' + b"[" * 100_000 + b"\n",
    "a version of thousands of digits, and no JSON": b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"'
    + b"9" * 5000
    + b'"}}}\n<html>\n',
}


@pytest.mark.scenario("F19")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
async def test_19_an_unreadable_stream_is_replaced_by_a_list(server: APIServer, client: Client, line: bytes) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        server.fail(resource="widgets", verb="watch", status=200, body=line, times=3)
        server.end_watches("widgets")
        server.create(widget("b"))
        await trio.sleep(60)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a", "add/b"], LIVE)


DEEP = (
    b'{"apiVersion":"v1","kind":"WidgetList","metadata":{},"items":[{"metadata":{"name":"x"},"spec":' + b"[" * 100_000
)


@pytest.mark.scenario("F19")
@pytest.mark.parametrize("body", [DEEP, DEEP[:40] + b"\xff", b"[" * 100_000, b"\xff"])
async def test_19_an_unreadable_list_removes_no_object_and_is_repeated(
    server: APIServer, client: Client, body: bytes
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.fail(resource="widgets", verb="watch", status=410, body=GONE, times=1)
        fault = server.fail(resource="widgets", verb="list", status=200, body=body)
        server.end_watches("widgets")
        await trio.sleep(60)
        assert (widgets.state.phase, names(widgets.list())) == (DEGRADED, ["a"])

        fault.remove()
        await trio.sleep(90)
        assert (widgets.state.phase, names(widgets.list())) == (LIVE, ["a"])


@pytest.mark.scenario("F35")
async def test_35_a_list_without_changes_causes_no_event(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        await recorder.drain()
        before = widgets.list()

        server.fail(resource="widgets", verb="watch", status=410, body=GONE, times=1)
        server.end_watches("widgets")
        await trio.sleep(10)

        assert await recorder.drain() == []
        assert len(times(server, "list")) == 1
        assert all(one is other for one, other in zip(before, widgets.list(), strict=True))


@pytest.mark.scenario("K10", "F40")
async def test_a_resource_whose_requests_all_fail_is_counted_and_shown(server: APIServer, client: Client) -> None:
    server.fail(resource="widgets", status=500)

    async with client.informer(WIDGETS) as widgets:
        state = await widgets.wait_state(DEGRADED)

        assert (state.reason, widgets.has_synced) == ("InternalError", False)
        assert widgets.statistics().failures >= 1
        assert "500" in widgets.statistics().last_error


@pytest.mark.scenario("F13", "P8")
async def test_13_a_failing_resource_is_degraded_and_the_others_are_not(server: APIServer, client: Client) -> None:
    server.create(crd("gadgets"))
    async with client.informer(WIDGETS) as widgets, client.informer("gadgets.v1.example.com") as gadgets:
        await widgets.wait_state(LIVE)
        await gadgets.wait_state(LIVE)
        fault = server.fail(resource="widgets", status=500)
        server.end_watches("widgets")
        assert (await widgets.wait_state(DEGRADED)).reason == "InternalError"
        assert (names(widgets.list()), gadgets.state.phase) == (["a"], LIVE)
        replace(server, widget("a", n=1))

        fault.remove()
        await widgets.wait_state(LIVE)
        assert [obj["spec"] for obj in widgets] == [{"n": 1}]


@pytest.mark.scenario("F23")
async def test_delays_between_failures_are_those_of_client_go(server: APIServer) -> None:
    settings = dynkube.InformerSettings(random=Random(3), streaming_lists=False)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        server.fail(resource="widgets", verb="list", status=500, times=8)
        async with client.informer("widgets.v1.example.com") as widgets:
            await widgets.wait_synced()

    random = Random(3)
    random.uniform(300, 600)  # the timeout of the CRD watch is drawn first
    backoff, expected = Backoff(random=random), [0.0]
    while len(expected) < 9:
        expected.append(expected[-1] + backoff.next(expected[-1]))
    assert times(server, "list") == pytest.approx(expected)
    steps = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    delays = [after - before for before, after in pairwise(expected)]
    assert all(step <= delay < 2 * step for step, delay in zip(steps, delays, strict=True))


@pytest.mark.scenario("F23", "P13")
@pytest.mark.parametrize("retry_after", [45, "Sat, 01 Jan 2000 00:00:00 GMT"])
async def test_23_a_retry_after_of_an_overloaded_server_is_honored(
    server: APIServer, client: Client, retry_after: Any
) -> None:
    server.fail(resource="widgets", status=429, retry_after=retry_after, times=1)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await quiet()

        assert names(widgets.list()) == ["a"]
        waited = trio.current_time()
        assert 45 <= waited < 50 if retry_after == 45 else waited < 5
