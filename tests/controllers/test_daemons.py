"""A daemon runs for each object while it exists: when its calls begin, end, and begin again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import pytest
import trio

import dynkube
from dynkube.controllers import BlockingContext, Context, Daemon, LeaderElection, ObjectKey, Outcome, Terminal, run
from dynkube.errors import InvalidInput, ServerError
from dynkube_testing import APIServer, Hang, Refuse
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd(served=["v2", "v1"]))


async def idle(ctx: Context) -> None:
    await trio.sleep_forever()


class Follower:
    """A daemon's function: records when its calls begin and end, and does ``work`` in between."""

    def __init__(self, work: Callable[[Context], Any] | None = None) -> None:
        self.log: list[str] = []
        self.began: list[float] = []
        self.running: set[ObjectKey] = set()
        self._work = work or idle

    async def __call__(self, ctx: Context, key: ObjectKey) -> None:
        assert key not in self.running, "an object has two calls at once"
        self.running.add(key)
        self.began.append(trio.current_time())
        self.log.append(f"+{key.name}")
        try:
            await self._work(ctx)
        finally:
            self.running.discard(key)
            self.log.append(f"-{key.name}")


class LogWait(logging.Handler):
    """Has ``arrived`` set by a log record with a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.arrived = trio.Event()
        self._text = text

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self.arrived.set()

    def __enter__(self) -> Self:
        logging.getLogger("dynkube.controllers").addHandler(self)
        return self

    def __exit__(self, *exc: object) -> None:
        logging.getLogger("dynkube.controllers").removeHandler(self)


async def test_a_daemon_runs_while_its_object_exists(server: APIServer, client: dynkube.Client) -> None:
    follower = Follower()
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.create(widget("b"))
        server.apply(widget("a", size=2))
        await quiet(100)
        assert follower.log == ["+a", "+b"]
        server.delete(WIDGETS, "a")
        await quiet()
        assert follower.log == ["+a", "+b", "-a"]

    assert follower.log == ["+a", "+b", "-a", "-b"]


async def test_an_object_that_is_created_again_gets_a_call_of_its_own(
    server: APIServer, client: dynkube.Client
) -> None:
    follower = Follower()
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.delete(WIDGETS, "a")
        server.create(widget("a"))
        await quiet(1)
        assert follower.log == ["+a", "-a", "+a"]


async def test_an_object_that_is_being_deleted_has_no_call(server: APIServer, client: dynkube.Client) -> None:
    follower = Follower()
    given = widget("a")
    given["metadata"]["finalizers"] = ["example.com/clean"]
    server.create(given)
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(100)
        assert server.list(WIDGETS)
        assert follower.log == ["+a", "-a"]


async def test_an_object_that_is_not_selected_any_more_has_no_call(server: APIServer, client: dynkube.Client) -> None:
    follower = Follower()
    server.create(widget("a", labels={"app": "x"}))
    async with running(client, Daemon(WIDGETS, follower, label_selector="app=x")):
        await quiet(1)
        server.apply(widget("a", labels={"app": "y"}))
        await quiet(1)
        assert follower.log == ["+a", "-a"]
        server.apply(widget("a", labels={"app": "x"}))
        await quiet(1)
        assert follower.log == ["+a", "-a", "+a"]


async def test_a_function_that_raises_is_called_again_after_its_back_off(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(ctx: Context) -> None:
        raise ValueError("no route")

    follower = Follower(fail)
    server.create(widget("a"))
    daemon = Daemon(WIDGETS, follower)
    async with running(client, daemon):
        await quiet(2)
        server.apply(widget("a", size=2))  # does not end the back-off
        await quiet(600)
        failure = daemon.status().failures[0]

    assert follower.began[:6] == [0, 1, 3, 7, 15, 31]
    assert follower.began[-1] - follower.began[-2] <= 300
    assert (failure.outcome, failure.error) == (Outcome.ERROR, "ValueError: no route")
    assert "controller widgets" in caplog.text


async def test_back_off_starts_anew_after_ten_minutes(server: APIServer, client: dynkube.Client) -> None:
    async def fail(ctx: Context) -> None:
        await trio.sleep(1 if len(follower.began) < 4 else 600)
        raise ValueError

    follower = Follower(fail)
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1000)

    assert follower.began == [0, 2, 5, 10, 611]


@pytest.mark.parametrize("result", [None, Terminal("never")])
async def test_a_function_that_has_returned_is_not_called_again_for_this_object(
    server: APIServer, client: dynkube.Client, result: Terminal | None
) -> None:
    async def once(ctx: Context) -> None:
        if result is not None:
            raise result

    follower = Follower(once)
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.apply(widget("a", size=2))
        await quiet(100)
        assert follower.began == [0]
        server.delete(WIDGETS, "a")
        server.create(widget("a"))
        await quiet(1)
        assert follower.began == [0, 101]


async def test_a_daemon_reads_the_cache_and_writes(server: APIServer, client: dynkube.Client) -> None:
    async def follow(ctx: Context) -> None:
        while True:
            obj = ctx.get()
            assert obj is not None
            await ctx.set_status(obj, {"names": [each.name for each in ctx.list()]})
            await trio.sleep(10)

    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, Follower(follow))):
        await quiet(1)
        server.create(widget("b"))
        await quiet(10)
        assert sorted(server.get(WIDGETS, "a")["status"]["names"]) == ["a", "b"]


async def test_an_object_written_many_times_without_a_response_is_read_back_once(
    server: APIServer, client: dynkube.Client
) -> None:
    async def follow(ctx: Context) -> None:
        obj = ctx.get()
        assert obj is not None
        for _ in range(20):
            with suppress(ServerError):
                await ctx.patch(obj, {"spec": {"size": 1}})
        if ctx.attempt == 1:
            raise ValueError

    follower = Follower(follow)
    server.create(widget("a"))
    server.inject(Refuse(500), verb="patch", resource=WIDGETS)
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(3600)

    assert len(follower.began) == 2
    assert len([each for each in server.audit if each.verb == "get" and each.path.endswith("/widgets/a")]) == 1


async def test_more_objects_than_the_limit_wait_and_are_logged_once(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    follower = Follower()
    for name in "ab":
        server.create(widget(name))
    async with running(client, Daemon(WIDGETS, follower, limit=1)):
        await quiet(1)
        server.create(widget("c"))
        await quiet(100)
        assert follower.log == ["+a"]
        server.delete(WIDGETS, "a")
        await quiet(1)
        assert follower.log == ["+a", "-a", "+b"]

    assert caplog.text.count("daemon widgets.v1.example.com: 1 calls run, which is its limit") == 1


async def test_calls_go_on_while_the_resource_is_not_served_or_refused(
    server: APIServer, client: dynkube.Client
) -> None:
    follower = Follower()
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.inject(Refuse(403), resource=WIDGETS, duration=100)
        server.end_watches(WIDGETS)
        await quiet(200)
        server.update(crd(served=["v2"]))
        await quiet(200)
        server.update(crd(served=["v2", "v1"]))
        await quiet(100)
        assert follower.log == ["+a"]


async def test_an_object_deleted_while_the_resource_was_not_served_has_no_call_after_that(
    server: APIServer, client: dynkube.Client
) -> None:
    follower = Follower()
    for name in "ab":
        server.create(widget(name))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.update(crd(served=["v2"]))
        await quiet(100)
        server.delete("widgets.v2.example.com", "a")
        await quiet(100)
        assert follower.log == ["+a", "+b"]
        server.update(crd(served=["v2", "v1"]))
        await quiet(100)
        assert follower.log == ["+a", "+b", "-a"]


async def test_calls_are_stopped_when_the_crd_is_deleted(server: APIServer, client: dynkube.Client) -> None:
    follower = Follower()
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower)):
        await quiet(1)
        server.delete("customresourcedefinitions", crd()["metadata"]["name"])
        await quiet(10)
        assert follower.log == ["+a", "-a"]


async def test_calls_are_cancelled_when_the_lease_is_lost(server: APIServer, client: dynkube.Client) -> None:
    follower = Follower()
    server.create(widget("a"))
    election = LeaderElection("widgets", namespace="default")
    with pytest.RaisesGroup(dynkube.controllers.LeadershipLost, allow_unwrapped=True, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: run(client, Daemon(WIDGETS, follower), election=election))
            await quiet(10)
            assert follower.log == ["+a"]
            server.inject(Hang(), resource="leases")

    assert follower.log == ["+a", "-a"]
    assert trio.current_time() <= 20 + 5


async def test_a_call_that_cleans_up_for_longer_than_the_stop_timeout_is_logged(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def follow(ctx: Context) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(8)

    follower = Follower(follow)
    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follower, stop_timeout=5)):
        await quiet(1)
        server.delete(WIDGETS, "a")
        server.create(widget("a"))
        await quiet(4)
        assert caplog.text == ""
        await quiet(2)
        assert (
            "daemon widgets.v1.example.com: the function for default/a has not ended 5 s after it was cancelled"
            in caplog.text
        )
        await quiet(3)
        assert follower.log == ["+a", "-a", "+a"]
        server.delete(WIDGETS, "a")
        await quiet(10)


async def test_the_status_shows_calls_that_run_and_that_were_stopped(server: APIServer, client: dynkube.Client) -> None:
    server.create(widget("a"))
    daemon = Daemon(WIDGETS, Follower(), limit=5)
    async with running(client, daemon):
        await quiet(10)
        status = daemon.status()
        assert (dict(status.running), status.concurrency) == ({ObjectKey("default", "a"): 10}, 5)
        server.delete(WIDGETS, "a")
        await quiet(1)
        assert (daemon.status().running, daemon.status().outcomes) == ({}, {Outcome.STOPPED: 1})


# ── in threads ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.real_time
async def test_a_plain_function_is_told_to_stop_in_its_thread(server: APIServer, client: dynkube.Client) -> None:
    began, ended = trio.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    def follow(ctx: BlockingContext, key: ObjectKey) -> None:
        token.run_sync_soon(began.set)
        while not ctx.stopped.wait(60):
            pass
        assert ctx.get() is None
        token.run_sync_soon(ended.set)

    server.create(widget("a"))
    daemon = Daemon(WIDGETS, follow)
    async with running(client, daemon):
        await began.wait()
        server.delete(WIDGETS, "a")
        await ended.wait()


@pytest.mark.real_time
async def test_a_thread_that_does_not_stop_is_left_and_its_object_gets_no_other_call(
    server: APIServer, client: dynkube.Client
) -> None:
    calls, refused, release = [trio.Event(), trio.Event()], threading.Event(), threading.Event()
    token, count = trio.lowlevel.current_trio_token(), iter(range(2))

    def follow(ctx: BlockingContext, key: ObjectKey) -> None:
        token.run_sync_soon(calls[next(count)].set)
        release.wait(30)
        if ctx.stopped.is_set():
            refused.set()

    server.create(widget("a"))
    async with running(client, Daemon(WIDGETS, follow, stop_timeout=0.1)):
        await calls[0].wait()
        with LogWait("is left in its thread") as left:
            server.delete(WIDGETS, "a")
            server.create(widget("a"))
            await left.arrived.wait()
        assert not calls[1].is_set()
        release.set()
        await calls[1].wait()

    assert refused.is_set()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limit": 0}, "limit=0: pass an integer"),
        ({"stop_timeout": 0}, "stop_timeout=0: pass a positive number"),
        ({"stop_timeout": None}, "stop_timeout=None: pass a positive number"),
        ({"function": 5}, "function is an int: pass a function"),
    ],
)
async def test_an_invalid_argument_is_named(given: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"resource": WIDGETS, "function": Follower(), **given}

    with pytest.raises(InvalidInput, match=message):
        Daemon(**arguments)
