"""Handlers are called in the event loop that registered them: one at a time, in order, with back-pressure."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

import dynkube
import dynkube.aio
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import ServerThread
from tests.aio.kit import in_asyncio
from tests.sync.kit import CONFIGMAPS, config_map

pytestmark = pytest.mark.real_time

CURRENT: ContextVar[str] = ContextVar("CURRENT", default="")


@asynccontextmanager
async def open_maps(cluster: ServerThread, *names: str) -> AsyncIterator[dynkube.aio.Informer]:
    """Open an informer of ConfigMaps, with objects of these names."""
    for name in names:
        cluster.create(config_map(name))
    async with dynkube.aio.connect(url=cluster.url) as client, client.informer(CONFIGMAPS, namespace="default") as maps:
        yield maps


@in_asyncio
async def test_plain_and_async_functions_are_called_in_the_event_loop(cluster: ServerThread) -> None:
    called: list[tuple[str, bool, threading.Thread, bool]] = []

    def on_add(obj: dynkube.Unstructured, *, initial: bool) -> None:
        called.append(("plain", initial, threading.current_thread(), asyncio.current_task() is not None))

    async def on_add_async(obj: dynkube.Unstructured, *, initial: bool) -> None:
        await asyncio.sleep(0)
        called.append(("async", initial, threading.current_thread(), asyncio.current_task() is not None))

    async with open_maps(cluster, "one") as maps:
        for function in (on_add, on_add_async):
            await maps.add_handler(on_add=function).wait_synced()

    assert called == [(form, True, threading.main_thread(), True) for form in ("plain", "async")]


@in_asyncio
async def test_a_handler_has_the_contextvars_of_its_registration(cluster: ServerThread) -> None:
    seen: list[str] = []

    async with open_maps(cluster, "one") as maps:
        CURRENT.set("at the registration")
        handle = maps.add_handler(on_add=lambda obj: seen.append(CURRENT.get()))
        CURRENT.set("later")
        await handle.wait_synced()

    assert seen == ["at the registration"]


@in_asyncio
async def test_events_wait_for_a_busy_handler_and_are_coalesced(cluster: ServerThread) -> None:
    begun, end, two = asyncio.Event(), asyncio.Event(), asyncio.Event()
    log: list[str] = []

    async def on_add(obj: dynkube.Unstructured) -> None:
        log.append(f"add/{obj.name}")
        (begun if obj.name == "one" else two).set()
        await end.wait()

    async with open_maps(cluster, "one") as maps:
        handle = maps.add_handler(on_add=on_add, on_update=lambda old, new: log.append(f"update/{new['data']['n']}"))
        await begun.wait()
        stored = [
            cluster.update({**cluster.get(CONFIGMAPS, "one", "default"), "data": {"n": n}}) for n in ("1", "2", "3")
        ]
        await maps.wait_for(dynkube.Unstructured(stored[-1]))
        backlog = handle.backlog
        end.set()
        cluster.create(config_map("two"))
        await two.wait()

    assert (backlog, log) == (1, ["add/one", "update/3", "add/two"])


@in_asyncio
async def test_a_handler_may_call_the_client_and_its_informer(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        cluster.create(config_map("one"))
        async with client.informer(CONFIGMAPS, namespace="default") as maps:
            found: asyncio.Queue[dynkube.Unstructured] = asyncio.Queue()

            async def on_add(obj: dynkube.Unstructured) -> None:
                found.put_nowait(await client.resource(CONFIGMAPS).get(obj.name))
                maps.set_filter(None)
                handle.remove()

            handle = maps.add_handler(on_add=on_add)

            assert [await found.get()] == maps.list()


@in_asyncio
async def test_a_handler_that_never_returns_delays_no_other_and_is_cancelled_by_closing(cluster: ServerThread) -> None:
    log: list[str] = []

    async def on_add(obj: dynkube.Unstructured) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            log.append("cancelled")
            raise

    async with open_maps(cluster, "one", "two") as maps:
        maps.add_handler(on_add=on_add)
        await maps.add_handler(on_add=lambda obj: log.append(obj.name)).wait_synced()

    assert log == ["one", "two", "cancelled"]


@in_asyncio
async def test_a_call_of_a_removed_handler_goes_on_until_the_client_is_closed(cluster: ServerThread) -> None:
    begun = asyncio.Event()
    log: list[str] = []

    async def on_add(obj: dynkube.Unstructured) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    cluster.create(config_map("one"))
    async with dynkube.aio.connect(url=cluster.url) as client:
        async with client.informer(CONFIGMAPS, namespace="default") as maps:
            handle = maps.add_handler(on_add=on_add)
            await begun.wait()
            handle.remove()
        log.append("the informer is closed")

    assert log == ["the informer is closed", "cancelled"]


@in_asyncio
async def test_a_handler_may_close_its_informer(cluster: ServerThread) -> None:
    ended: asyncio.Queue[BaseException] = asyncio.Queue()

    async with open_maps(cluster, "one") as maps:

        async def on_add(obj: dynkube.Unstructured) -> None:
            try:
                await maps.aclose()
            except BaseException as exc:
                ended.put_nowait(exc)
                raise

        maps.add_handler(on_add=on_add)

        assert isinstance(await ended.get(), asyncio.CancelledError)
        await maps.wait_state(dynkube.STOPPED)


# ── handlers that raise ──────────────────────────────────────────────────────────────────────


async def fail(obj: dynkube.Unstructured) -> None:
    raise LookupError(obj.name)


def fail_plainly(obj: dynkube.Unstructured) -> None:
    raise LookupError(obj.name)


async def fail_by_cancellation(obj: dynkube.Unstructured) -> None:
    raise asyncio.CancelledError("LookupError")


@pytest.mark.parametrize("function", [fail, fail_plainly, fail_by_cancellation])
@in_asyncio
async def test_an_error_is_logged_and_the_handler_continues(
    cluster: ServerThread, caplog: pytest.LogCaptureFixture, function: Callable[[dynkube.Unstructured], Any]
) -> None:
    async with open_maps(cluster, "one", "two") as maps:
        handle = maps.add_handler(on_add=function)
        await handle.wait_synced()

        assert (handle.errors, handle.statistics().handled, handle.has_synced) == (2, 2, True)
        assert "LookupError" in handle.statistics().last_error
        assert "it continues with the next event" in caplog.text


@in_asyncio
async def test_on_error_is_called_in_the_event_loop(cluster: ServerThread, caplog: pytest.LogCaptureFixture) -> None:
    called: list[tuple[str, str, threading.Thread]] = []

    def on_error(exc: Exception, event: dynkube.InformerEvent) -> None:
        called.append((str(exc), CURRENT.get(), threading.current_thread()))
        raise ValueError("of on_error")

    async with open_maps(cluster, "one") as maps:
        CURRENT.set("at the registration")
        handle = maps.add_handler(on_add=fail, on_error=on_error)
        CURRENT.set("later")
        await handle.wait_synced()

    assert called == [("one", "at the registration", threading.main_thread())]
    assert "on_error of handler fail failed" in caplog.text


@in_asyncio
async def test_an_error_with_cancel_ends_the_client(cluster: ServerThread) -> None:
    cluster.create(config_map("one"))
    client = dynkube.aio.connect(url=cluster.url)
    await client.__aenter__()
    maps = client.informer(CONFIGMAPS, namespace="default")
    await maps.__aenter__()

    maps.add_handler(on_add=fail, on_error="cancel")
    with pytest.raises(ClosedError):
        await client.resource("namespaces").wait_for("never", "create")

    await maps.wait_state(dynkube.STOPPED)
    with pytest.raises(LookupError, match="one"):
        await client.__aexit__(None, None, None)
    with pytest.raises(ClosedError, match=r"LookupError\('one'\)"):
        _ = client.namespace


@in_asyncio
async def test_invalid_handlers_are_rejected(cluster: ServerThread) -> None:
    wrong: Any = 3

    async def on_error(exc: Exception, event: dynkube.InformerEvent) -> None: ...

    async with open_maps(cluster) as maps:
        with pytest.raises(InvalidInput, match="on_add is an int, not a function"):
            maps.add_handler(on_add=wrong)
        with pytest.raises(InvalidInput, match="must be a synchronous function"):
            maps.add_handler(on_add=print, on_error=on_error)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="no asyncio event loop is running"):
            await asyncio.to_thread(maps.add_handler, on_add=print)


@pytest.mark.parametrize("form", ["plain", "async"])
def test_an_exit_in_a_handler_ends_the_event_loop_as_in_any_task(cluster: ServerThread, form: str) -> None:
    def leave(obj: dynkube.Unstructured) -> None:
        raise SystemExit(3)

    async def leave_async(obj: dynkube.Unstructured) -> None:
        leave(obj)

    errors: list[str] = []

    async def main() -> None:
        async with open_maps(cluster, "one") as maps:
            handle = maps.add_handler(on_add=leave if form == "plain" else leave_async)
            try:
                await asyncio.Event().wait()
            finally:
                with pytest.raises(ClosedError):
                    await handle.wait_synced()
                errors.append(handle.statistics().last_error)

    with pytest.raises(SystemExit):
        asyncio.run(main())
    assert "SystemExit: 3 was raised in an asyncio task, which ends its event loop" in errors[0]
