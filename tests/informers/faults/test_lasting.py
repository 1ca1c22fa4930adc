"""Every lasting fault gives one state with its reason, few requests and one log record; afterwards, the right objects.

The faults are in ``table.py``; each lasts for an hour of virtual time.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from dynkube import LIVE, Client, Informer
from dynkube.informers import Phase, State
from dynkube_testing import APIServer
from tests.informers.faults.table import LASTING_FAULTS, POISON, LastingFault
from tests.informers.folding import Subscription
from tests.informers.kit import WIDGETS, crd, names, replace, widget

HOUR = 3600.0
GADGETS = "gadgets.v1.example.com"

pytestmark = pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.scenario(fault.number, "P8"), id=name)
        for name, fault in LASTING_FAULTS.items()
    ],
)


class Changes:
    """The changes of an informer's state, with their times."""

    def __init__(self, informer: Informer) -> None:
        self.recorded: list[tuple[float, State]] = []
        self._informer = informer

    def distinct_states(self) -> list[tuple[Phase, str]]:
        """Return the phases and reasons, without repetitions that differ in the message only."""
        states = [(state.phase, state.reason) for _, state in self.recorded]
        return [now for before, now in zip([None, *states], states, strict=False) if now != before]

    async def follow(self) -> None:
        async for state in self._informer.states():
            self.recorded.append((trio.current_time(), state))


@asynccontextmanager
async def live_informer(
    server: APIServer, client: Client, fault: LastingFault
) -> AsyncIterator[tuple[Informer, Changes]]:
    """An informer of widgets that is live, before the fault on its resource begins."""
    server.create(crd())
    for name in ("stays", "goes", POISON):
        server.create(widget(name))
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        await widgets.wait_state(LIVE)
        await trio.sleep(30)
        changes = Changes(widgets)
        nursery.start_soon(changes.follow)
        await trio.testing.wait_all_tasks_blocked()
        changes.recorded.clear()
        server.forget_requests()
        yield widgets, changes
        nursery.cancel_scope.cancel()


async def write_for_an_hour(server: APIServer, every: float | None) -> None:
    with trio.move_on_after(HOUR):
        number = 0
        while every is not None:
            number += 1
            replace(server, widget(POISON, n=number))
            await trio.sleep(every)
        await trio.sleep_forever()


def count_requests(server: APIServer) -> int:
    return sum(r.resource is not None and r.resource.resource == "widgets" for r in server.requests)


async def test_a_lasting_fault_gives_one_state_few_requests_and_few_log_records(
    server: APIServer, client: Client, fault: LastingFault, caplog: pytest.LogCaptureFixture
) -> None:
    async with live_informer(server, client, fault) as (widgets, changes):
        with caplog.at_level(logging.INFO, "dynkube"):
            fault.begin(server, "widgets")
            await write_for_an_hour(server, fault.writes)

        assert (widgets.state.phase, widgets.state.reason) == (fault.phase, fault.reason)
        assert len(changes.distinct_states()) <= fault.changes
        assert len(changes.recorded) <= fault.changes + 1, "one more message: first a watch failed, then a list"
        assert all(time < HOUR / 2 for time, _ in changes.recorded), "the state has settled"
        assert count_requests(server) <= fault.requests
        assert len(caplog.records) <= len(changes.distinct_states()), "one for each change of state"
        assert {"stays", POISON} <= set(names(widgets.list()))


async def test_after_a_lasting_fault_the_informer_is_live_and_each_change_was_delivered_once(
    server: APIServer, client: Client, fault: LastingFault
) -> None:
    async with live_informer(server, client, fault) as (widgets, _):
        subscription = Subscription(widgets)
        end = fault.begin(server, "widgets")
        await write_for_an_hour(server, fault.writes)
        server.create(widget("comes"))
        server.delete("widgets", "goes")

        end()
        with trio.fail_after(fault.recovery):
            await widgets.wait_state(LIVE)
            while ("default", "comes") not in subscription.folded or ("default", "goes") in subscription.folded:
                await subscription.wait_event()
        await trio.testing.wait_all_tasks_blocked()

        assert subscription.wrong == []
        assert names(subscription.folded.values()) == names(widgets.list())
        counts = subscription.event_counts
        assert [counts["default", name] for name in ("stays", "comes", "goes")] == [1, 1, 2]


async def test_a_lasting_fault_does_not_affect_other_resources(
    server: APIServer, client: Client, fault: LastingFault
) -> None:
    server.create(crd("gadgets"))
    async with client.informer(GADGETS) as gadgets, live_informer(server, client, fault):
        await gadgets.wait_state(LIVE)
        since = gadgets.state.since
        fault.begin(server, "widgets")
        for number in range(60):
            await trio.sleep(60)
            server.create(widget(f"g{number}", kind="Gadget"))
            await trio.testing.wait_all_tasks_blocked()
            assert len(gadgets) == number + 1

        assert (gadgets.state.phase, gadgets.state.since) == (LIVE, since)
