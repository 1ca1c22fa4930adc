"""G7, G18, G26, G27: handlers that are slow, that raise, that come and go."""

from __future__ import annotations

import logging

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, Client, Unstructured
from dynkube.errors import ClosedError
from dynkube.meta import InformerEvent
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, quiet, replace, widget


async def test_g18_a_handler_is_never_run_concurrently_with_itself(server: APIServer, client: Client) -> None:
    server.create(crd())
    running, most = 0, 0

    async def handle(*objects: Unstructured) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1

    async with client.informer(WIDGETS) as widgets:
        handle_ = widgets.add_handler(on_add=handle, on_update=handle, on_delete=handle)
        for number in range(3):
            server.create(widget(f"w{number}"))
            await quiet()
            replace(server, widget(f"w{number}", n=1))
            widgets.set_filter(lambda obj: obj.name != "w1")
            widgets.set_filter(None)
        await trio.sleep(60)

        assert (most, handle_.backlog) == (1, 0)


async def test_g27_a_slow_handler_delays_nobody_and_waits_with_one_step_for_each_object(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    slow: list[tuple[str, object]] = []

    async def handle(old: Unstructured, new: Unstructured) -> None:
        slow.append((new.name, new["spec"]["n"]))
        await trio.sleep(60)

    quick = Recorder()
    for name in ("a", "b"):
        server.create(widget(name, n=0))
    async with client.informer(WIDGETS) as widgets:
        registration = widgets.add_handler(on_update=handle)
        quick.attach(widgets)
        await widgets.wait_synced()
        for number in range(1, 101):
            for name in ("a", "b"):
                replace(server, widget(name, n=number))
                await quiet()

        assert (registration.backlog, len(quick.events)) == (2, 202)
        await trio.sleep(300)
        assert slow == [("a", 1), ("b", 100), ("a", 100)]


async def test_g26_a_handler_that_raises_is_counted_and_goes_on_and_the_others_too(
    server: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    server.create(widget("a"))
    errors: list[tuple[str, InformerEvent]] = []
    other = Recorder()

    def fail(obj: Unstructured) -> None:
        raise ValueError(obj.name)

    async with client.informer(WIDGETS) as widgets:
        logged = widgets.add_handler(on_add=fail, name="logged")
        called = widgets.add_handler(on_add=fail, on_error=lambda exc, event: errors.append((str(exc), event)))
        other.attach(widgets)
        await widgets.wait_synced()
        server.create(widget("b"))

        assert await other.drain() == ["add/a", "add/b"]
        for handle in (logged, called):
            assert (handle.statistics().handled, handle.statistics().errors) == (2, 2)
            assert handle.statistics().last_error == "ValueError: b"
        assert [text for text, _ in errors] == ["a", "b"]
        records = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert ["logged" in record.getMessage() for record in records] == [True, True]


async def test_g26_a_handler_that_may_cancel_ends_the_client_with_its_own_exception(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))

    def fail(obj: Unstructured) -> None:
        raise ZeroDivisionError(obj.name)

    async def use() -> None:
        async with dynkube.connect(transport=server.transport()) as client, client.informer(WIDGETS) as widgets:
            widgets.add_handler(on_add=fail, on_error="cancel")
            await trio.sleep_forever()

    with pytest.raises(ZeroDivisionError, match="a"):
        await use()
    await quiet()
    assert server.open_watches == ()


async def test_g7_removing_one_handler_removes_that_one_whenever_it_was_added(
    server: APIServer, client: Client
) -> None:
    before, stays, after = Recorder(), Recorder(), Recorder()
    async with client.informer(WIDGETS) as widgets:
        early = before.attach(widgets)
        stays.attach(widgets)
        await widgets.wait_state(ABSENT)
        server.create(crd())
        await widgets.wait_state(LIVE)
        late = after.attach(widgets)
        await quiet()

        early.remove()
        late.remove()
        server.create(widget("a"))

        assert (await before.drain(), await after.drain(), await stays.drain()) == ([], [], ["add/a"])


@pytest.mark.parametrize("steps", range(0, 40, 4))
async def test_g5_a_handler_that_comes_while_the_resource_comes_is_not_lost(
    server: APIServer, client: Client, steps: int
) -> None:
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        server.create(crd())
        server.create(widget("a"))
        for _ in range(steps):
            await trio.lowlevel.checkpoint()

        handle = recorder.attach(widgets)
        widgets.add_index("n", "{.metadata.name}")
        await widgets.wait_state(LIVE)

        assert (await recorder.drain(), handle.has_synced) == (["add/a"], True)
        assert len(widgets.by_index("n", "a")) == 1


async def test_p4_a_handler_that_removes_itself_half_way_gets_nothing_more(server: APIServer, client: Client) -> None:
    server.create(crd())
    for name in ("a", "b", "c"):
        server.create(widget(name))
    seen: list[str] = []

    def once(obj: Unstructured) -> None:
        seen.append(obj.name)
        handle.remove()

    async with client.informer(WIDGETS) as widgets:
        handle = widgets.add_handler(on_add=once)
        await widgets.wait_synced()
        server.create(widget("d"))
        await quiet()

        assert (seen, handle.backlog) == (["a"], 0)
        with pytest.raises(ClosedError):
            await handle.wait_synced()


async def test_g9_having_synced_is_for_ever_and_live_is_a_state(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        for _ in range(3):
            server.create(crd())
            await widgets.wait_state(LIVE)
            assert widgets.has_synced
            server.delete("customresourcedefinitions", "widgets.example.com")
            await widgets.wait_state(ABSENT)
            assert widgets.has_synced


async def test_g27_an_event_stream_that_is_not_read_keeps_one_step_for_each_object(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a", n=0))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        await widgets.wait_synced()
        for number in range(1, 50):
            replace(server, widget("a", n=number))
            await quiet()

        event = await anext(events)

        assert isinstance(event, dynkube.Added)
        assert event.object["spec"] == {"n": 49}
