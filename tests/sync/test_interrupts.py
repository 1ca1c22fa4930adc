"""Ctrl-C or a notebook's stop button ends the waiting call, and nothing else."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import dynkube
import dynkube.sync
from dynkube._portal.thread import TrioThread
from dynkube.sync._held import Held
from dynkube.sync._streams import Stream
from tests.sync.kit import CONFIGMAPS, config_map, interrupt, name_of

pytestmark = pytest.mark.real_time


def test_an_interrupted_call_is_cancelled_in_the_loop() -> None:
    thread = TrioThread()
    log: list[str] = []

    async def wait_for_ever() -> None:
        interrupt()
        try:
            await trio.sleep_forever()
        finally:
            log.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        thread.call(wait_for_ever)

    thread.close()
    assert log == ["cleaned up"]


def test_an_interrupt_that_does_not_wake_the_waiting_thread_ends_its_call_too() -> None:
    thread = TrioThread()

    async def wait_for_ever() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # as an interrupt just before the wait in C
        await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        thread.call(wait_for_ever)

    thread.close()


def test_informers_continue_after_an_interrupt(k: dynkube.sync.Client) -> None:
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.wait_synced(timeout=10)

    with pytest.raises(KeyboardInterrupt):
        _interrupted(k, lambda: maps.wait_state(dynkube.STOPPED))

    maps.wait_for(k.resource(CONFIGMAPS).create(config_map("one")), timeout=10)
    assert [obj.name for obj in maps] == ["one"]


def test_an_interrupted_wait_for_an_event_loses_nothing(k: dynkube.sync.Client) -> None:
    maps = k.informer(CONFIGMAPS, namespace="default")
    maps.wait_synced(timeout=10)

    with maps.events() as events:
        with pytest.raises(KeyboardInterrupt):
            _interrupted(k, lambda: next(events))
        k.resource(CONFIGMAPS).create(config_map("one"))

        assert name_of(next(events)) == "one"


def _interrupted(k: dynkube.sync.Client, wait: Callable[[], object]) -> None:
    """Interrupt the main thread once, when its call waits in the trio thread."""

    async def press() -> None:
        while not k._thread._calls:
            await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()
        interrupt()

    k._thread.hold(press, trio.CancelScope())
    wait()


def test_events_received_by_an_interrupted_wait_are_returned_next() -> None:
    thread = TrioThread()

    class InterruptedTooLate(Stream[int]):
        async def _take(self) -> list[int]:
            return await interrupted_too_late()

    async def interrupted_too_late() -> list[int]:
        interrupt()
        with trio.CancelScope(shield=True):
            await trio.sleep(0.05)  # the interrupt has cancelled it, but it still returns a result
        return [1, 2]

    stream = InterruptedTooLate(thread)
    with pytest.raises(KeyboardInterrupt):
        next(stream)

    assert [next(stream), next(stream)] == [1, 2]
    thread.close()


def test_an_interrupted_opening_leaves_nothing_open() -> None:
    thread = TrioThread()
    log: list[str] = []

    @asynccontextmanager
    async def never_there() -> AsyncIterator[None]:
        interrupt()
        try:
            await trio.sleep_forever()
        finally:
            log.append("left")
        yield

    with pytest.raises(KeyboardInterrupt):
        Held(thread, never_there()).open()

    thread.close()
    assert log == ["left"]


def test_the_error_of_an_interrupted_apply_all_has_a_note_with_its_result(k: dynkube.sync.Client) -> None:
    def on_entry(entry: object) -> None:
        interrupt()

    with pytest.raises(KeyboardInterrupt) as caught:
        k.apply_all(config_map("one"), on_entry=on_entry)

    assert "apply_all was interrupted: 1 created" in caught.value.__notes__[0]
