"""Reconciles that are plain functions: they run in threads, with the same verbs, and cannot be cancelled."""

from __future__ import annotations

import logging
import threading

import pytest
import trio

import dynkube
from dynkube.controllers import BlockingContext, Controller, ObjectKey, Outcome
from dynkube.errors import ClosedError
from dynkube_testing import APIServer, Hang
from tests.controllers.kit import running
from tests.informers.kit import WIDGETS, crd, widget


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


def config(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


@pytest.mark.real_time
async def test_a_plain_function_reads_and_writes(server: APIServer, client: dynkube.Client) -> None:
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        if ctx.owned():
            token.run_sync_soon(done.set)
            return
        obj = ctx.get()
        assert obj is not None
        assert threading.current_thread() is not threading.main_thread()
        ctx.apply(config("child"))
        ctx.event("Created", "a child")
        ctx.log.info("created")

    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await done.wait()

    assert server.get("configmaps", "child", "default")["metadata"]["ownerReferences"]


@pytest.mark.real_time
async def test_keys_are_reconciled_in_as_many_threads_as_the_concurrency(
    server: APIServer, client: dynkube.Client
) -> None:
    barrier = threading.Barrier(3)
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        barrier.wait()  # needs three threads at once
        token.run_sync_soon(done.set)

    for name in "bc":
        server.create(widget(name))
    async with running(client, Controller(WIDGETS, reconcile, concurrency=3)):
        await done.wait()


@pytest.mark.real_time
async def test_after_the_timeout_calls_raise_and_the_thread_is_waited_for(
    server: APIServer, client: dynkube.Client
) -> None:
    rejected, again, released = trio.Event(), trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        if ctx.attempt > 1:
            token.run_sync_soon(again.set)
            return
        for call in (lambda: ctx.apply(config("hangs")), ctx.get, lambda: ctx.apply(config("late"))):
            with pytest.raises(ClosedError, match="did not end in time"):
                call()
        token.run_sync_soon(rejected.set)
        released.wait()

    server.inject(Hang(), resource="configmaps", times=1)
    controller = Controller(WIDGETS, reconcile, timeout=0.05)
    async with running(client, controller):
        await rejected.wait()
        assert not again.is_set()
        released.set()
        await again.wait()
        assert controller.status().outcomes[Outcome.TIMEOUT] == 1

    assert server.list("configmaps") == []


@pytest.mark.real_time
async def test_a_thread_that_never_returns_does_not_delay_the_end(server: APIServer, client: dynkube.Client) -> None:
    entered = trio.Event()
    released = threading.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        token.run_sync_soon(entered.set)
        released.wait()

    async with running(client, Controller(WIDGETS, reconcile), shutdown=0.01):
        await entered.wait()
    released.set()


@pytest.mark.real_time
async def test_a_key_waits_for_a_thread_that_an_earlier_run_has_left(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    token, release, waits = trio.lowlevel.current_trio_token(), threading.Event(), trio.Event()
    began = [trio.Event(), trio.Event()]
    running_now: list[int] = []

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        running_now.append(1)
        assert len(running_now) == 1
        token.run_sync_soon(began.pop(0).set)
        release.wait(30)
        running_now.pop()

    controller = Controller(WIDGETS, reconcile)
    first, second = began

    def notice(record: logging.LogRecord) -> bool:
        if "waits for a thread" in record.getMessage():
            waits.set()
        return True

    caplog.handler.addFilter(notice)
    async with running(client, controller, shutdown=0):
        await first.wait()
    async with running(client, controller, shutdown=0):
        await waits.wait()
        assert len(began) == 1
        release.set()
        await second.wait()


async def test_the_blocking_context_has_the_methods_of_the_async_one() -> None:
    await trio.lowlevel.checkpoint()

    def methods(of: type) -> set[str]:
        return {name for name in vars(of) if not name.startswith("_")}

    assert methods(dynkube.controllers.Context) == methods(BlockingContext)
