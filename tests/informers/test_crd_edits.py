"""Failure modes 9 and 10: an edited CRD ends every watch at once, and a storage migration rewrites every object."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

import dynkube
from dynkube import LIVE, Client, Informer, Unstructured
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Cut
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget

MANY = 200


def edit(server: APIServer, *served: str) -> None:
    """Serve these versions, which ends the watches of all versions."""
    server.update(crd(served=served))


async def enter_many(stack: AsyncExitStack, client: Client) -> list[Informer]:
    """Enter informers that share no cache, as their selectors differ."""
    informers = [client.informer(WIDGETS, label_selector=f"n!={number}") for number in range(MANY)]
    for informer in informers:
        await stack.enter_async_context(informer)
    for informer in informers:
        await informer.wait_state(LIVE)
    return informers


def opened(server: APIServer) -> list[float]:
    """Return the times of the watch requests for widgets."""
    return [r.time for r in server.requests if r.verb == "watch" and r.resource and r.resource.resource == "widgets"]


@pytest.mark.scenario("F9", "F22", "P13")
async def test_9_many_informers_reconnect_spread_over_time_and_each_once(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with AsyncExitStack() as stack:
        informers = await enter_many(stack, client)
        await trio.sleep_until(100)
        server.forget_requests()

        edit(server, "v1", "v2")
        server.create(widget("a"))
        await trio.sleep(10)

        by_tenth = Counter(int((time - 100) * 10) for time in opened(server))
        assert set(by_tenth) == set(range(10)), "over one second"
        assert max(by_tenth.values()) < MANY / 2
        requests = Counter(r.verb for r in server.requests if r.resource and r.resource.resource == "widgets")
        # The server has no history from before the edit, so each of them lists once, from its cache.
        assert requests == {"watch": 2 * MANY, "list": MANY}
        assert {(informer.state.phase, *names(informer.list())) for informer in informers} == {(LIVE, "a")}


@pytest.mark.scenario("F9")
@pytest.mark.parametrize(("spread", "latest"), [(0.0, 100.0), (5.0, 105.0)])
async def test_9_the_spread_of_reconnects_can_be_set(server: APIServer, spread: float, latest: float) -> None:
    settings = dynkube.InformerSettings(reconnect_spread=spread)
    server.create(crd())
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep_until(100)

        server.end_watches("widgets")
        await trio.sleep(10)

        assert 100 <= opened(server)[-1] <= latest


@pytest.mark.scenario("F9")
async def test_9_a_watch_that_ends_at_its_timeout_is_opened_again_at_once(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(3000)

        requests = [r for r in server.requests if r.verb == "watch" and "widgets" in r.path.split("/")]
        ends = [r.time + int(r.params["timeoutSeconds"]) for r in requests]
        assert [r.time for r in requests[1:]] == ends[:-1]


@pytest.mark.scenario("F9")
async def test_9_a_watch_may_end_early_by_the_latency_of_its_response(server: APIServer) -> None:
    settings = dynkube.InformerSettings(watch_timeout=(300, 300), reconnect_spread=100)
    server.create(crd())
    server.inject(Cut("clean", after_seconds=299.9), verb="watch", resource="widgets")
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        first = trio.current_time()
        await trio.sleep(1000)

        assert [time - first for time in opened(server)] == pytest.approx([0, 299.9, 599.8, 899.7])


def test_9_a_negative_spread_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="reconnect_spread must be a number >= 0, not -1"):
        dynkube.InformerSettings(reconnect_spread=-1)


@pytest.mark.scenario("F10", "F27", "P9")
async def test_10_a_slow_handler_has_one_event_for_each_object_after_three_migrations(
    server: APIServer, client: Client
) -> None:
    server.create(crd(served=["v1", "v2"]))
    for number in range(100):
        server.create(widget(f"w{number}", n=number))
    go_on, late = trio.Event(), Counter[str]()

    async def block(old: Unstructured, new: Unstructured) -> None:
        await go_on.wait()
        late[new.name] += 1

    async with client.informer(WIDGETS) as widgets:
        slow, quick = widgets.add_handler(on_update=block), Subscription(widgets)
        await widgets.wait_state(LIVE)
        for stored in ("v2", "v1", "v2"):
            migrate(server, stored)
            await trio.sleep(10)

        assert (set(quick.event_counts.values()), quick.wrong) == ({4}, [])
        assert (slow.backlog, late) == (100, {}), "one event for each object, however often it was written"
        go_on.set()
        await quiet()
        assert Counter(late.values()) == {1: 99, 2: 1}, "the handler was busy with one of them all the time"
        assert [obj["spec"] for obj in sorted(widgets, key=lambda obj: obj["spec"]["n"])] == [
            {"n": number} for number in range(100)
        ]


def migrate(server: APIServer, stored: str) -> None:
    """Store another version, and write every object again without changes."""
    body: Any = server.get(CRDS, "widgets.example.com")
    for version in body["spec"]["versions"]:
        version["storage"] = version["name"] == stored
    server.update(body)
    for obj in server.list("widgets.v1.example.com"):
        server.update(obj)


@pytest.mark.scenario("F10", "F35")
async def test_10_a_migration_of_the_crds_themselves_does_not_affect_informers(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await quiet()
        server.forget_requests()

        for number in range(50):
            server.update(crd(annotations={"migrated": str(number)}))
            await quiet()

        assert [r for r in server.requests if r.verb in ("list", "watch")] == []
        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)
