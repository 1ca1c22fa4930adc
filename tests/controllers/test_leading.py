"""Controllers that run in several processes, of which one reconciles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random

import pytest
import trio

import dynkube
from dynkube.controllers import (
    Context,
    Controller,
    ControllerPhase,
    LeaderElection,
    LeadershipLost,
    ObjectKey,
    Requeue,
    run,
)
from dynkube_testing import APIServer, Hang, Refuse
from tests.controllers.kit import quiet
from tests.informers.kit import WIDGETS, crd, widget

ELECTION = LeaderElection("widgets", namespace="default")


class Process:
    """One of several processes that run the same controller, as a task with its own client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.controller = Controller(WIDGETS, self.reconcile)
        self.scope = trio.CancelScope()
        self.ended_by: BaseException | None = None
        self.ended = trio.Event()

    async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue:
        obj = ctx.get()
        assert obj is not None
        await ctx.patch(obj, {"spec": {"by": self.name, "at": trio.current_time()}})
        return Requeue(after=0.5)

    async def run(self, server: APIServer) -> None:
        with self.scope:
            async with dynkube.connect(transport=server.transport(self.name)) as client:
                try:
                    await run(client, self.controller, election=ELECTION, random=Random(self.name), now=utc)
                except LeadershipLost as exc:
                    self.ended_by = exc
        self.ended.set()


def utc() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def two_processes(server: APIServer) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes, of which the first one leads."""
    server.create(crd())
    server.create(widget("a"))
    one, two = Process("one"), Process("two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(1)
        nursery.start_soon(two.run, server)
        await quiet(10)
        yield one, two
        nursery.cancel_scope.cancel()


def writes(server: APIServer, name: str) -> list[float]:
    """Return the times at which a process has written widgets."""
    written = [each for each in server.audit if each.verb == "patch" and each.user and each.user.name == name]
    return [each.time for each in written if each.resource and each.resource.resource == "widgets"]


async def test_one_process_reconciles_and_the_other_is_a_warm_standby(server: APIServer) -> None:
    async with two_processes(server) as (one, two):
        assert writes(server, "one")
        assert writes(server, "two") == []
        assert two.controller.status().phase is ControllerPhase.STANDBY
        assert [state.phase for _, state in two.controller.status().informers] == [dynkube.LIVE]
        queue = two.controller.status().queue
        assert queue is not None
        assert queue.adds == 0
        assert one.controller.status().phase is ControllerPhase.RUNNING


async def test_a_process_that_ends_hands_over_at_once(server: APIServer) -> None:
    async with two_processes(server) as (one, _):
        one.scope.cancel()
        await one.ended.wait()
        ended = trio.current_time()
        assert server.get("leases", "widgets")["spec"]["holderIdentity"] == ""
        await quiet(10)

    assert max(writes(server, "one")) <= ended
    assert min(writes(server, "two")) - ended < 5


async def test_a_process_that_lost_the_lease_writes_nothing_after_the_renew_deadline(server: APIServer) -> None:
    async with two_processes(server) as (one, _):
        cut_off = trio.current_time()
        fault = server.inject(Hang(), resource="leases")
        await one.ended.wait()
        assert isinstance(one.ended_by, LeadershipLost)
        fault.remove()
        await quiet(60)

    assert cut_off < max(writes(server, "one")) <= cut_off + 10
    assert min(writes(server, "two")) > max(writes(server, "one")) + 4


async def test_after_shutdown_the_lease_is_free(server: APIServer) -> None:
    server.create(crd())
    process = Process("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(process.run, server)
        await quiet(5)
        process.scope.cancel()

    assert server.get("leases", "widgets")["spec"]["holderIdentity"] == ""


async def test_the_lease_is_held_until_the_last_reconcile_has_ended(server: APIServer) -> None:
    class Slow(Process):
        async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue:
            await trio.sleep(8)
            return Requeue(after=0.5)

    server.create(crd())
    server.create(widget("a"))
    process = Slow("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(process.run, server)
        await quiet(3)
        process.scope.cancel()
        await quiet(4.9)
        assert server.get("leases", "widgets")["spec"]["holderIdentity"] != ""
        await process.ended.wait()

    assert trio.current_time() == 8
    assert server.get("leases", "widgets")["spec"]["holderIdentity"] == ""


async def test_a_process_that_lost_the_lease_writes_no_events_after_the_renew_deadline(server: APIServer) -> None:
    class Recording(Process):
        async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue:
            ctx.event("Reconciled", "again")
            return Requeue(after=0.5)

    server.create(crd())
    server.create(widget("a"))
    process = Recording("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(process.run, server)
        await quiet(10)
        cut_off = trio.current_time()
        server.inject(Hang(), resource="leases")
        await process.ended.wait()

    written = [each.time for each in server.audit if "/events" in each.path]
    assert len(written) == 2  # the Event and the start of its series; the further count was not written
    assert max(written) <= cut_off + 10
    assert isinstance(process.ended_by, LeadershipLost)


async def test_a_process_that_ends_writes_its_events_before_the_lease_is_free(server: APIServer) -> None:
    class Recording(Process):
        async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue:
            ctx.event("Reconciled", "again")
            return Requeue(after=0.5)

    server.create(crd())
    server.create(widget("a"))
    process = Recording("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(process.run, server)
        await quiet(10)
        process.scope.cancel()

    last = [each.path for each in server.audit if each.verb in ("create", "patch", "update")][-2:]
    assert ["/events" in path for path in last] == [True, False]
    assert server.list("events")[0]["series"]["count"] > 2


async def test_a_lease_that_may_not_be_written_is_in_the_status(server: APIServer) -> None:
    server.create(crd())
    process = Process("one")
    fault = server.inject(Refuse(403), resource="leases")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(process.run, server)
        await quiet(5)
        problem = process.controller.status().problem
        fault.remove()
        await quiet(5)
        assert process.controller.status().problem == ""
        nursery.cancel_scope.cancel()

    assert problem.startswith("Lease default/widgets: ")
    assert "403" in problem


@pytest.mark.parametrize("seconds", [1, 5])
async def test_a_process_that_is_cancelled_while_waiting_ends_at_once(server: APIServer, seconds: float) -> None:
    async with two_processes(server) as (_, two):
        await quiet(seconds)
        before = trio.current_time()
        two.scope.cancel()
        await two.ended.wait()
        assert trio.current_time() == before
