"""Controllers of the client for asyncio: reconciles are tasks of the event loop, all else is as in trio."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

import dynkube
import dynkube.aio
import dynkube.controllers
from dynkube.aio import Context
from dynkube.aio._call import in_trio
from dynkube.controllers import (
    BlockingContext,
    Controller,
    ControllerPhase,
    Daemon,
    LeaderElection,
    LeadershipLost,
    ObjectKey,
    Outcome,
    Requeue,
    Source,
    StatusCondition,
    Terminal,
)
from dynkube.errors import ClosedError, Conflict, InvalidInput
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio, trio_tasks
from tests.sync.kit import CONFIGMAPS, config_map

pytestmark = pytest.mark.real_time

CURRENT: ContextVar[str] = ContextVar("CURRENT", default="")
NAMED_A: dict[str, Any] = {"namespace": "default", "field_selector": "metadata.name=a"}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}

Function = Callable[[Context, ObjectKey], Awaitable[Any]]


def of_a(function: Function, **options: Any) -> Controller:
    """Return a controller of the ConfigMap ``a``."""
    return Controller("configmaps", function, **NAMED_A, **options)


class Steps:
    """A reconcile function that does one step for each call, and sets an event after the last one."""

    def __init__(self, *steps: Function) -> None:
        self._steps = iter(steps)
        self._left = len(steps)
        self.attempts: list[int] = []
        self.done = asyncio.Event()

    async def __call__(self, ctx: Context, key: ObjectKey) -> Any:
        step = next(self._steps, None)
        self.attempts.append(ctx.attempt)
        self._left -= 1
        try:
            return None if step is None else await step(ctx, key)
        finally:
            if self._left == 0:
                self.done.set()


async def once(client: dynkube.aio.Client, step: Function, **options: Any) -> None:
    """Run a controller of ``a`` until one call has ended, and raise what it raised."""
    errors: list[Exception] = []

    async def kept(ctx: Context, key: ObjectKey) -> Any:
        try:
            return await step(ctx, key)
        except Exception as exc:
            errors.append(exc)

    steps = Steps(kept)
    async with await dynkube.aio.start(client, of_a(steps, **options)):
        await steps.done.wait()
    if errors:
        raise errors[0]


def connected(cluster: ServerThread) -> dynkube.aio.Client:
    cluster.create(config_map("a"))
    return dynkube.aio.connect(url=cluster.url)


# ── calls ────────────────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_async_functions_are_called_in_the_event_loop_and_plain_ones_in_a_thread(cluster: ServerThread) -> None:
    called: dict[str, tuple[type, bool]] = {}
    done = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    async def asynchronous(ctx: Context, key: ObjectKey) -> None:
        called["async"] = type(ctx), asyncio.get_running_loop() is loop
        done.release()

    def plain(ctx: BlockingContext, key: ObjectKey) -> None:
        called["plain"] = type(ctx), threading.current_thread() is threading.main_thread()
        loop.call_soon_threadsafe(done.release)

    controllers = [
        Controller("configmaps", asynchronous, name="async", **NAMED_A),
        Controller("configmaps", plain, name="plain", **NAMED_A),
    ]
    async with connected(cluster) as client, await dynkube.aio.start(client, *controllers):
        for _ in controllers:
            await done.acquire()

    assert called == {"async": (Context, True), "plain": (BlockingContext, False)}


@in_asyncio
async def test_a_reconcile_has_the_contextvars_of_the_start(cluster: ServerThread) -> None:
    seen: list[str] = []

    async def step(ctx: Context, key: ObjectKey) -> Requeue:
        seen.append(CURRENT.get())
        CURRENT.set("of this call only")
        return Requeue(after=0.01)

    async with connected(cluster) as client:
        CURRENT.set("at the start")
        steps = Steps(step, step)
        async with await dynkube.aio.start(client, of_a(steps)):
            CURRENT.set("later")
            await steps.done.wait()

    assert seen == ["at the start"] * 2


@in_asyncio
async def test_a_context_reads_the_caches_and_writes(cluster: ServerThread) -> None:
    async def step(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get()
        assert found is not None
        assert (str(key), ctx.key, ctx.attempt) == ("default/a", key, 1)
        assert ctx.list() == ctx.by_index("name", "a") == [found]
        await ctx.apply_owned({**SECRET, "metadata": {"name": name}} for name in ("a", "b"))
        await ctx.delete(await ctx.create({**SECRET, "metadata": {"name": "c"}}))
        patched = await ctx.patch(found, {"data": {"patched": "yes"}})
        updated = await ctx.update({**patched.to_dict(), "data": {"updated": "yes"}})
        await ctx.wrote(await ctx.client.resource(CONFIGMAPS).patch("a", {"data": {"client": "yes"}}))
        with pytest.raises(Conflict):
            await ctx.set_conditions(updated, StatusCondition("Ready", True, "Done"))

    async with connected(cluster) as client:
        await once(client, step, owns=["secrets"], indexes={"name": "{.metadata.name}"})

    assert [secret["metadata"]["name"] for secret in cluster.list("secrets")] == ["a", "b"]
    assert cluster.get("secrets", "a")["metadata"]["ownerReferences"][0]["name"] == "a"
    assert cluster.get(CONFIGMAPS, "a")["data"] == {"updated": "yes", "client": "yes"}


@in_asyncio
async def test_a_context_records_events(cluster: ServerThread) -> None:
    async def step(ctx: Context, key: ObjectKey) -> None:
        ctx.event("Created", "it is there")
        with pytest.raises(InvalidInput, match="reason"):
            ctx.event("not a reason")

    async with connected(cluster) as client, client.resource("events.events.k8s.io").watch() as events:
        await once(client, step)
        written = await anext(events)

    assert isinstance(written, dynkube.Added)
    assert (written.object["reason"], written.object["note"]) == ("Created", "it is there")


@in_asyncio
async def test_a_context_is_refused_after_its_reconcile(cluster: ServerThread) -> None:
    kept: list[Context] = []

    async def step(ctx: Context, key: ObjectKey) -> None:
        kept.append(ctx)

    async with connected(cluster) as client:
        await once(client, step)
        with pytest.raises(ClosedError, match="that has ended: do not keep it"):
            kept[0].get()
        with pytest.raises(ClosedError, match="that has ended: do not keep it"):
            await kept[0].apply(SECRET)


@in_asyncio
async def test_keys_are_reconciled_by_as_many_tasks_at_once_as_allowed(cluster: ServerThread) -> None:
    running: set[ObjectKey] = set()
    three, end = asyncio.Event(), asyncio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        running.add(key)
        if len(running) == 3:
            three.set()
        await end.wait()

    for name in ("a", "b", "c", "d"):
        cluster.create(config_map(name))
    controller = Controller("configmaps", reconcile, namespace="default", concurrency=3)
    async with dynkube.aio.connect(url=cluster.url) as client, await dynkube.aio.start(client, controller):
        await three.wait()
        assert (len(controller.status().running), len(running)) == (3, 3)
        end.set()


# ── what a reconcile returns or raises ───────────────────────────────────────────────────────


@in_asyncio
async def test_errors_are_counted_logged_and_retried(cluster: ServerThread, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(ctx: Context, key: ObjectKey) -> None:
        await asyncio.sleep(0)
        raise LookupError("no such theme")

    async def fail_by_cancellation(ctx: Context, key: ObjectKey) -> None:
        raise asyncio.CancelledError

    async def wait(ctx: Context, key: ObjectKey) -> Requeue:
        return Requeue(after=0.01)

    async def give_up(ctx: Context, key: ObjectKey) -> None:
        raise Terminal("never")

    steps = Steps(fail, fail_by_cancellation, wait, give_up)
    controller = of_a(steps)
    async with connected(cluster) as client, await dynkube.aio.start(client, controller) as running:
        await steps.done.wait()
        await running.stop()
        outcomes = running.statuses()

    assert steps.attempts == [1, 2, 3, 1]
    assert outcomes[0].phase is ControllerPhase.STOPPED
    assert "LookupError: no such theme" in caplog.text
    assert "CancelledError was raised by the function, whose task was not cancelled" in caplog.text


@in_asyncio
async def test_a_finalizer_is_added_and_removed_when_the_clean_up_has_returned(cluster: ServerThread) -> None:
    seen: list[str] = []
    added, gone = asyncio.Event(), asyncio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get()
        if found is None:
            gone.set()
        else:
            seen.extend(found["metadata"]["finalizers"])
            added.set()

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        await ctx.client.resource("secrets").create(SECRET)
        seen.append("cleaned up")

    controller = of_a(reconcile, finalizer=("example.com/clean", clean_up))
    async with connected(cluster) as client, await dynkube.aio.start(client, controller):
        await added.wait()
        cluster.delete(CONFIGMAPS, "a", "default")
        await gone.wait()

    assert (set(seen[:-1]), seen[-1]) == ({"example.com/clean"}, "cleaned up")
    assert cluster.get("secrets", "a")


@in_asyncio
async def test_a_reconcile_that_is_late_is_cancelled_and_its_context_refuses_calls(cluster: ServerThread) -> None:
    refused: list[str] = []

    async def hang(ctx: Context, key: ObjectKey) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(ClosedError) as error:
                await ctx.apply(SECRET)
            refused.append(str(error.value))

    async def nothing(ctx: Context, key: ObjectKey) -> None: ...

    steps = Steps(hang, nothing)
    async with connected(cluster) as client, await dynkube.aio.start(client, of_a(steps, timeout=0.05)) as running:
        await steps.done.wait()
        assert running.statuses()[0].outcomes[Outcome.TIMEOUT] == 1

    assert ["that was cancelled: do not keep it" in text for text in refused] == [True]
    assert cluster.list("secrets") == []


# ── the end ──────────────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_a_cancelled_run_lets_reconciles_end_and_releases_the_lease(cluster: ServerThread) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        begun.set()
        await end.wait()
        await ctx.apply(SECRET)

    async with connected(cluster) as client:
        election = LeaderElection("sites", namespace="default")
        task = asyncio.create_task(dynkube.aio.run(client, of_a(reconcile), election=election))
        await begun.wait()
        task.cancel()
        asyncio.get_running_loop().call_later(0.01, end.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    assert cluster.get("secrets", "a")
    assert cluster.get("leases", "sites")["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("end", ["stop", "close the client"])
@in_asyncio
async def test_reconciles_are_cancelled_after_the_shutdown_timeout(cluster: ServerThread, end: str) -> None:
    begun = asyncio.Event()
    log: list[str] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            log.append("cancelled")

    controller = of_a(reconcile)
    async with connected(cluster) as client:
        running = await dynkube.aio.start(client, controller, shutdown_timeout=0)
        await begun.wait()
        if end == "stop":
            await running.stop()

    assert (log, controller.status().phase) == (["cancelled"], ControllerPhase.STOPPED)
    assert repr(running) == "<ControllerRun of configmaps, ended>"


@in_asyncio
async def test_losing_the_lease_cancels_reconciles_and_ends_the_run(cluster: ServerThread) -> None:
    begun = asyncio.Event()
    log: list[str] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    election = LeaderElection("sites", namespace="default", lease_duration=2, renew_deadline=1, retry_period=0.1)
    async with connected(cluster) as client:
        running = asyncio.create_task(dynkube.aio.run(client, of_a(reconcile), election=election))
        await begun.wait()
        await client.resource("leases").patch("sites", {"spec": {"holderIdentity": "another"}})
        with pytest.raises(LeadershipLost):
            await running

    assert log == ["cancelled"]


@in_asyncio
async def test_stopped_controllers_leave_nothing(cluster: ServerThread) -> None:
    async def nothing(ctx: Context, key: ObjectKey) -> None: ...

    async with connected(cluster) as client:
        await once(client, nothing)
        before = await asyncio.to_thread(trio_tasks), threading.active_count()
        for _ in range(3):
            await once(client, nothing)

        assert (await asyncio.to_thread(trio_tasks), threading.active_count()) == before


def test_controllers_end_with_their_event_loop(cluster: ServerThread, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "dynkube.controllers")
    client = connected(cluster)
    ended: list[dynkube.aio.ControllerRun] = []

    async def main() -> None:
        await client.__aenter__()
        begun = asyncio.Event()

        async def reconcile(ctx: Context, key: ObjectKey) -> None:
            begun.set()
            await asyncio.Event().wait()

        election = LeaderElection("sites", namespace="default")
        ended.append(await dynkube.aio.start(client, of_a(reconcile), election=election, shutdown_timeout=0))
        await begun.wait()

    async def later() -> None:
        await ended[0].wait()
        await client.__aexit__(None, None, None)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
    asyncio.run(later())

    assert "the asyncio event loop of their functions was closed" in caplog.text
    assert cluster.get("leases", "sites")["spec"]["holderIdentity"] == ""


# ── arguments ────────────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_invalid_arguments_raise_at_once(cluster: ServerThread) -> None:
    async def nothing(ctx: Context, key: ObjectKey) -> None: ...

    wrong: Any = nothing
    async with connected(cluster) as client:
        with pytest.raises(InvalidInput, match="has no controllers"):
            await dynkube.aio.start(client)
        with pytest.raises(InvalidInput, match="is no controller"):
            await dynkube.aio.start(client, wrong)
        async with await dynkube.aio.start(client, controller := of_a(nothing)):
            with pytest.raises(ClosedError, match="runs already"):
                await dynkube.aio.run(client, controller)
    with pytest.raises(ClosedError, match="this client is closed"):
        await dynkube.aio.run(client, controller)


@in_asyncio
async def test_a_client_of_another_api_is_rejected(cluster: ServerThread) -> None:
    async def nothing(ctx: Context, key: ObjectKey) -> None: ...

    other: Any = object()
    async with connected(cluster) as client:
        with pytest.raises(InvalidInput, match=r"pass a client of dynkube\.aio\.connect\(\)"):
            await dynkube.aio.start(other, of_a(nothing))
        with pytest.raises(InvalidInput, match=r"dynkube\.aio\.run takes those of dynkube\.aio\.connect\(\)"):
            await in_trio(client._thread, dynkube.controllers.run, client, of_a(nothing))  # type: ignore[arg-type]


# ── sources ──────────────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_the_stream_of_a_source_is_iterated_in_the_event_loop_and_closed_at_the_end(
    cluster: ServerThread,
) -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    closed = asyncio.Event()

    async def keys() -> AsyncIterator[ObjectKey]:
        loops.append(asyncio.get_running_loop())
        try:
            yield ObjectKey("default", "from outside")
            await asyncio.Event().wait()
        finally:
            closed.set()

    called: asyncio.Queue[ObjectKey] = asyncio.Queue()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        called.put_nowait(key)

    source = Source(keys)
    async with connected(cluster) as client, await dynkube.aio.start(client, of_a(reconcile, sources=[source])):
        while (await called.get()).name != "from outside":
            pass
        source.add(("default", "added"))
        while (await called.get()).name != "added":
            pass

    assert (loops, closed.is_set()) == ([asyncio.get_running_loop()], True)


@in_asyncio
async def test_a_stream_that_raises_in_the_event_loop_is_a_failure_of_its_source(cluster: ServerThread) -> None:
    async def keys() -> AsyncIterator[ObjectKey]:
        yield ObjectKey("default", "from outside")
        raise OSError("no connection")

    done = asyncio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue:
        if controller.status().sources[0].failures:
            done.set()
        return Requeue(after=0.01)

    controller = of_a(reconcile, sources=[Source(keys, name="orders")])
    async with connected(cluster) as client, await dynkube.aio.start(client, controller):
        await done.wait()
        assert controller.status().sources[0].last_error == "OSError: no connection"


# ── several clusters ─────────────────────────────────────────────────────────────────────────


@in_asyncio
async def test_controllers_run_on_several_clusters(cluster: ServerThread) -> None:
    seen: dict[str, tuple[bool, list[str]]] = {}
    done = asyncio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        seen[ctx.cluster] = ctx.client is ctx.clients[ctx.cluster], [*ctx.clients]
        if len(seen) == 2:
            done.set()

    cluster.create(config_map("a"))
    with serve_in_thread() as other:
        other.create(config_map("a"))
        async with (
            dynkube.aio.connect(url=cluster.url) as east,
            dynkube.aio.connect(url=other.url) as west,
            await dynkube.aio.start({"east": east, "west": west}, of_a(reconcile)) as started,
        ):
            await done.wait()
            assert [status.cluster for status in started.statuses()] == ["east", "west"]

    assert seen == dict.fromkeys(("east", "west"), (True, ["east", "west"]))


@in_asyncio
async def test_closing_any_client_ends_the_run_of_several_clusters(cluster: ServerThread) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None: ...

    controller = of_a(reconcile)
    with serve_in_thread() as other:
        async with dynkube.aio.connect(url=cluster.url) as east:
            async with dynkube.aio.connect(url=other.url) as west:
                started = await dynkube.aio.start({"east": east, "west": west}, controller)
            assert controller.status().phase is ControllerPhase.STOPPED
            await started.stop()


@in_asyncio
async def test_a_cluster_of_another_api_is_rejected_by_its_name(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as east:
        wrong: Any = {"east": east, "west": cluster.url}
        with pytest.raises(InvalidInput, match=r"client 'west' is a str: pass a client of dynkube\.aio\.connect"):
            await dynkube.aio.start(wrong, Controller("configmaps", print))


@in_asyncio
async def test_an_event_recorder_is_entered_once(cluster: ServerThread) -> None:
    async with connected(cluster) as client:
        recorder = dynkube.aio.EventRecorder(client, controller="example.com/tests", instance="a")
        async with recorder as events:
            assert events.statistics().recorded == 0
        with pytest.raises(ClosedError, match="this event recorder was entered before; create another one"):
            await recorder.__aenter__()


@in_asyncio
async def test_a_daemon_is_cancelled_when_its_object_is_deleted_and_called_for_a_new_one(cluster: ServerThread) -> None:
    began, ended = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def follow(ctx: Context, key: ObjectKey) -> None:
        began.release()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.release()

    async with connected(cluster) as client:
        async with await dynkube.aio.start(client, Daemon("configmaps", follow, **NAMED_A)):
            await began.acquire()
            cluster.delete("configmaps", "a")
            await ended.acquire()
            cluster.create(config_map("a"))
            await began.acquire()
        await ended.acquire()


@in_asyncio
async def test_a_lifespan_is_entered_and_exited_in_one_task_of_the_loop(cluster: ServerThread) -> None:
    tasks: list[object] = []
    states = asyncio.Queue[str]()

    @asynccontextmanager
    async def lifespan(client: dynkube.aio.Client) -> AsyncIterator[str]:
        async with asyncio.timeout(60):  # has to be entered and exited in the same task
            tasks.append(asyncio.current_task())
            yield (await client.resource("configmaps").get("a")).name
            await asyncio.sleep(0)
            tasks.append(asyncio.current_task())

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        states.put_nowait(ctx.state)

    async with connected(cluster) as client, await dynkube.aio.start(client, of_a(reconcile), lifespan=lifespan):
        assert await states.get() == "a"

    assert len(tasks) == 2
    assert tasks[0] is tasks[1]


@in_asyncio
async def test_an_error_of_a_lifespan_is_raised_by_run(cluster: ServerThread) -> None:
    @asynccontextmanager
    async def lifespan(client: dynkube.aio.Client) -> AsyncIterator[None]:
        await asyncio.sleep(0)
        raise OSError("no database")
        yield

    async with connected(cluster) as client:
        with pytest.raises(OSError, match="no database"):
            await dynkube.aio.run(client, of_a(Steps()), lifespan=lifespan)


@in_asyncio
async def test_a_plain_lifespan_is_entered_and_exited_in_threads(cluster: ServerThread) -> None:
    threads: list[bool] = []
    states = asyncio.Queue[str]()

    @contextmanager
    def lifespan(client: dynkube.aio.Client) -> Iterator[str]:
        threads.append(threading.current_thread() is threading.main_thread())
        yield "plain"
        threads.append(threading.current_thread() is threading.main_thread())

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        states.put_nowait(ctx.state)

    async with connected(cluster) as client, await dynkube.aio.start(client, of_a(reconcile), lifespan=lifespan):
        assert await states.get() == "plain"

    assert threads == [False, False]
