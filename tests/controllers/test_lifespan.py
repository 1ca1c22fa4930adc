"""The lifespan of a run: entered before the first call, exited after the last one."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest
import trio

import dynkube
from dynkube.controllers import Context, Controller, LeaderElection, LeadershipLost, ObjectKey, run
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Hang
from tests.controllers.kit import quiet
from tests.informers.kit import WIDGETS, crd, widget

ELECTION = LeaderElection("widgets", namespace="default")


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


class Steps:
    """A lifespan and a reconcile that record what happens; entering, exiting and calls take some seconds."""

    def __init__(self, *, enter: float = 0.0, leave: float = 0.0, call: float = 0.0) -> None:
        self.log: list[tuple[str, float]] = []
        self._seconds = enter, leave, call

    @asynccontextmanager
    async def lifespan(self, client: dynkube.Client) -> AsyncIterator[str]:
        assert isinstance(client, dynkube.Client)
        async with trio.open_nursery() as nursery:  # must be opened and closed in one task, in order
            nursery.start_soon(trio.sleep_forever)
            await trio.sleep(self._seconds[0])
            self.note("entered")
            yield "the state"
            await trio.sleep(self._seconds[1])
            self.note("exited")
            nursery.cancel_scope.cancel()

    async def reconcile(self, ctx: Context, key: ObjectKey) -> None:
        self.note(f"called with {ctx.state}")
        await trio.sleep(self._seconds[2])
        self.note("call ended")

    def note(self, what: str) -> None:
        self.log.append((what, trio.current_time()))

    @property
    def controller(self) -> Controller:
        return Controller(WIDGETS, self.reconcile)


async def run_for(seconds: float, client: dynkube.Client, steps: Steps, **options: Any) -> float:
    """Run the controller, stop it after some seconds, and return when it has ended."""
    with trio.CancelScope(deadline=trio.current_time() + seconds):
        await run(client, steps.controller, lifespan=steps.lifespan, **options)
    return trio.current_time()


async def test_it_is_entered_before_the_first_call_and_exited_after_the_last(client: dynkube.Client) -> None:
    steps = Steps(enter=3, leave=2, call=10)

    ended = await run_for(5, client, steps)

    assert steps.log == [("entered", 3), ("called with the state", 3), ("call ended", 13), ("exited", 15)]
    assert ended == 15


async def test_it_is_entered_by_the_leader_only_and_exited_before_the_lease_is_free(
    server: APIServer, client: dynkube.Client
) -> None:
    one, two = Steps(leave=3), Steps()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run_for, 20, client, one, election=ELECTION))
        await quiet(1)
        nursery.start_soon(partial(run_for, 100, client, two, election=ELECTION))

    (left,) = [time for what, time in one.log if what == "exited"]
    assert left == 23
    assert two.log[0][0] == "entered"
    assert left <= two.log[0][1] < left + 5


async def test_its_end_is_bounded_and_logged(client: dynkube.Client, caplog: pytest.LogCaptureFixture) -> None:
    steps = Steps(leave=3600)

    assert await run_for(5, client, steps) == 10
    assert "the lifespan has not ended within 5 s" in caplog.text


async def test_it_is_exited_when_the_lease_was_lost(server: APIServer, client: dynkube.Client) -> None:
    steps = Steps(leave=2)
    server.inject(Hang(), resource="leases", start=10)

    with pytest.raises(LeadershipLost):
        await run(client, steps.controller, lifespan=steps.lifespan, election=ELECTION)

    assert steps.log[-1][0] == "exited"
    assert 18 < steps.log[-1][1] <= 10 + 10 + 2


async def test_a_run_that_is_stopped_while_it_is_entered_ends_at_once(client: dynkube.Client) -> None:
    steps = Steps(enter=3600)

    assert await run_for(5, client, steps) == 5
    assert steps.log == []


async def test_an_error_on_entering_ends_the_run_before_the_first_call(client: dynkube.Client) -> None:
    @asynccontextmanager
    async def failing(client: object) -> AsyncIterator[None]:
        await trio.sleep(1)
        raise OSError("no database")
        yield

    steps = Steps()
    with pytest.raises(OSError, match="no database"):
        await run(client, steps.controller, lifespan=failing)

    assert steps.log == []


async def test_an_error_on_exiting_is_raised_by_run(client: dynkube.Client) -> None:
    @asynccontextmanager
    async def failing(client: object) -> AsyncIterator[None]:
        yield
        raise OSError("not closed")

    with pytest.raises(OSError, match="not closed"), trio.move_on_after(5):
        await run(client, Steps().controller, lifespan=failing)


async def test_an_error_of_a_task_of_it_ends_the_run(client: dynkube.Client) -> None:
    async def fail() -> None:
        await trio.sleep(5)
        raise OSError("connection lost")

    @asynccontextmanager
    async def failing(client: object) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="connection lost"), allow_unwrapped=True):
        await run(client, Steps(call=3600).controller, lifespan=failing)

    assert trio.current_time() == 5


@pytest.mark.real_time
async def test_a_plain_context_manager_is_entered_and_exited_in_threads(client: dynkube.Client) -> None:
    threads: list[bool] = []
    called = trio.Event()

    @contextmanager
    def plain(client: object) -> Iterator[str]:
        threads.append(threading.current_thread() is threading.main_thread())
        yield "plain"
        threads.append(threading.current_thread() is threading.main_thread())

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        assert ctx.state == "plain"
        called.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run, client, Controller(WIDGETS, reconcile), lifespan=plain))
        await called.wait()
        nursery.cancel_scope.cancel()

    assert threads == [False, False]


async def undecorated(client: object) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize(
    ("lifespan", "message"),
    [
        (5, "lifespan is an int: pass a function of the client"),
        (undecorated, "is a generator function: decorate it with contextlib.asynccontextmanager"),
        (lambda client: 5, "returned an int: return a context manager"),
    ],
)
async def test_what_is_no_lifespan_is_rejected(
    client: dynkube.Client, lifespan: Callable[[object], AbstractAsyncContextManager[None]], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        await run(client, Steps().controller, lifespan=lifespan)
