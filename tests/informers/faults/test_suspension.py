"""After the machine was suspended, connections opened before count as lost; a jump of the wall clock has no effect."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from random import Random

import httpx2
import pytest
import trio

import dynkube
from dynkube import LIVE
from dynkube.informers._settings import InjectedSettings
from dynkube.rest._suspension import seconds_suspended
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, names, quiet, widget
from tests.informers.wire import TamperedWire

pytestmark = pytest.mark.scenario("F25", "P11")


class Machine:
    """A machine with a settable duration of suspension."""

    def __init__(self) -> None:
        self.slept = 0.0

    def suspended(self) -> float:
        return self.slept


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
async def client(server: APIServer, machine: Machine) -> AsyncIterator[dynkube.Client]:
    server.create(crd())
    server.create(widget("a"))
    settings = InjectedSettings(random=Random(7), suspended=machine.suspended)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client


async def test_after_a_suspension_the_informer_catches_up_within_seconds(
    server: APIServer, client: dynkube.Client, machine: Machine
) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(65)
        since = widgets.state.since
        server.end_watches(how="silent")  # the connections broke during the suspension
        server.create(widget("b"))
        server.delete("widgets", "a")

        machine.slept += 8 * 3600
        await trio.sleep(12)

        assert names(widgets.list()) == ["b"]
        assert widgets.state.since == since, "no change of state"
        assert widgets.statistics().lists == 0


async def test_after_a_suspension_a_resuming_watch_continues_from_its_last_version(
    server: APIServer, client: dynkube.Client, machine: Machine
) -> None:
    async def fall_asleep() -> None:
        await trio.sleep(30)
        server.end_watches(how="silent")
        server.create(widget("b"))
        machine.slept += 3600

    async with client.resource(WIDGETS).watch(bookmarks=False) as events, trio.open_nursery() as nursery:
        await anext(events)
        nursery.start_soon(fall_asleep)

        event = await anext(events)

        assert isinstance(event, dynkube.Added)
        assert (event.object.name, events.restarts) == ("b", 1)
        assert 30 < trio.current_time() < 45


async def test_a_short_suspension_is_ignored(server: APIServer, client: dynkube.Client, machine: Machine) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.forget_requests()
        await trio.sleep(5)

        for _ in range(20):
            machine.slept += 9
            await trio.sleep(10)

        assert server.requests == []


async def test_after_a_suspension_informers_do_not_all_reconnect_at_once(
    server: APIServer, client: dynkube.Client, machine: Machine
) -> None:
    informers = [client.informer(WIDGETS, label_selector=f"n={number}") for number in range(40)]
    for informer in informers:
        await informer.__aenter__()
    await trio.sleep(35)
    server.forget_requests()

    machine.slept += 3600
    await trio.sleep(10)
    await quiet()

    times = sorted(request.time for request in server.requests if request.verb == "watch")
    assert len(times) == 41, "one for CRDs"
    assert 0.5 < times[-1] - times[0] < 2
    assert max(times.count(time) for time in times) == 1
    for informer in informers:
        await informer.aclose()


@pytest.mark.scenario("P13")
@pytest.mark.parametrize("steps", [1, 10])
async def test_no_object_is_lost_at_whatever_moment_of_the_first_list_the_machine_wakes_up(
    server: APIServer, steps: int
) -> None:
    server.create(crd())
    expected = sorted(server.create(widget(f"w{number}"))["metadata"]["name"] for number in range(600))
    settings = InjectedSettings(slice=0, streaming_lists=True)  # a checkpoint after each step
    received = trio.Event()

    def note_end(request: httpx2.Request, line: bytes) -> bytes:
        if b"k8s.io/initial-events-end" in line and b"Widget" in line:
            received.set()
        return line

    async with (
        dynkube.connect(transport=TamperedWire(server, note_end), settings=settings) as client,
        client.informer(WIDGETS) as widgets,
    ):
        await received.wait()
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        await client._now.api.rest.renew_connections("the machine was suspended")
        await trio.sleep(10)

        assert (names(widgets.list()), widgets.state.phase) == (expected, LIVE)


@pytest.mark.real_time
async def test_the_duration_of_a_suspension_comes_from_the_kernel_and_not_the_wall_clock() -> None:
    assert abs(seconds_suspended() - seconds_suspended()) < 1


async def test_the_time_suspended_is_what_the_clock_with_sleep_is_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {time.CLOCK_BOOTTIME: 100.0, time.CLOCK_MONOTONIC: 40.0}
    monkeypatch.setattr(time, "clock_gettime", clocks.__getitem__)

    assert seconds_suspended() == 60.0
