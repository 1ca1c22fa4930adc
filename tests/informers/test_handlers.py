"""G26, G27: handlers that end their client, and event streams that are not read."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube import Client, LabelFilter, Unstructured
from dynkube.errors import ClosedError
from dynkube.informers import OnAdd
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import WIDGETS, crd, names, quiet, replace, widget


@pytest.mark.scenario("G26", "F28", "P10")
async def test_a_handler_with_on_error_cancel_ends_the_client_with_its_exception(server: APIServer) -> None:
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


@pytest.mark.scenario("G27", "F27", "P9")
async def test_an_event_stream_that_is_not_read_keeps_one_event_for_each_object(
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


@pytest.mark.scenario("F27", "P9")
async def test_objects_created_and_deleted_while_a_handler_hangs_leave_no_backlog(
    server: APIServer, client: Client
) -> None:
    async def hang(obj: Unstructured) -> None:
        await trio.sleep_forever()

    server.create(crd())
    server.create(widget("first"))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        stuck = widgets.add_handler(on_add=hang)
        await quiet()

        for number in range(50):
            server.create(widget(f"job-{number}"))
            await quiet()
            server.delete("widgets", f"job-{number}")
            await quiet()

        assert (stuck.backlog, events.backlog) == (0, 1)


@pytest.mark.scenario("P4")
async def test_a_stream_left_between_the_two_events_of_a_changed_uid_returns_no_more(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets:
        async with widgets.events() as events:
            await anext(events)
            server.delete("widgets", "a")
            server.create(widget("a"))
            await quiet()
            assert isinstance(await anext(events), dynkube.Deleted)

        with pytest.raises(StopAsyncIteration):
            await anext(events)


@pytest.mark.scenario("P4")
async def test_a_stream_closed_between_the_two_events_of_a_changed_uid_returns_no_more(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        await anext(events)
        server.delete("widgets", "a")
        server.create(widget("a"))
        await quiet()
        assert isinstance(await anext(events), dynkube.Deleted)

        await widgets.aclose()

        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_initial_is_true_for_initial_objects_and_false_for_later_ones(server: APIServer, client: Client) -> None:
    added: list[tuple[str, bool]] = []

    async def on_add(obj: Unstructured, *, initial: bool) -> None:
        await trio.lowlevel.checkpoint()
        added.append((obj.name, initial))

    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        await widgets.add_handler(on_add=on_add).wait_synced()
        server.create(widget("b"))
        await quiet()

        assert added == [("a", True), ("b", False)]
        received = [await anext(events), await anext(events)]
        assert [(event.object.name, event.initial) for event in received if isinstance(event, dynkube.Added)] == added


async def test_the_initial_objects_of_a_later_handler_are_those_that_exist_then(
    server: APIServer, client: Client
) -> None:
    added: list[tuple[str, bool]] = []
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        server.create(widget("a"))
        await quiet()

        widgets.add_handler(on_add=lambda obj, initial: added.append((obj.name, initial)))
        await quiet()

        assert added == [("a", True)]


async def test_objects_of_a_crd_created_after_the_initial_sync_are_not_initial(
    server: APIServer, client: Client
) -> None:
    added: list[tuple[str, bool]] = []
    async with client.informer(WIDGETS, filter=LabelFilter("team=a")) as widgets:
        widgets.add_handler(on_add=lambda obj, initial: added.append((obj.name, initial)))
        await widgets.wait_synced()  # the resource is absent, so the initial list is empty

        server.create(crd())
        server.create(widget("a", labels={"team": "a"}))
        server.create(widget("b"))
        await widgets.wait_state(dynkube.LIVE)
        widgets.set_filter(None)
        await quiet()

        assert added == [("a", False), ("b", False)]


@pytest.mark.parametrize("on_add", [lambda obj, **given: None, lambda obj, initially=None: None])
async def test_a_function_without_the_parameter_initial_is_called_without_it(
    server: APIServer, client: Client, on_add: OnAdd
) -> None:
    calls: list[dict[str, object]] = []

    def kept(obj: Unstructured, **given: object) -> None:
        calls.append(given)

    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets:
        await widgets.add_handler(on_add=kept).wait_synced()
        registration = widgets.add_handler(on_add=on_add)
        await registration.wait_synced()

        assert (calls, registration.errors) == ([{}], 0)


@pytest.mark.scenario("P6")
async def test_waiting_for_a_handler_of_an_informer_that_was_not_entered_raises(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        handler = client.informer(WIDGETS).add_handler(on_add=print)
        with pytest.raises(ClosedError, match="was not entered"):
            await handler.wait_synced()

    with pytest.raises(ClosedError, match="was not entered"):
        await handler.wait_synced()


async def test_a_removed_handler_keeps_none_of_many_delivered_objects_alive(server: APIServer) -> None:
    settings = dynkube.InformerSettings(streaming_lists=False)
    server.create(crd())
    for number in range(3):
        server.create(widget(f"w{number}"))
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        widgets = await client.informer(WIDGETS).__aenter__()
        handle = widgets.add_handler(on_add=lambda obj: None)
        await handle.wait_synced()
        for number in range(9000):
            handle._task._mailbox.offer(("", str(number)), widgets.list()[0])
            handle._task._mailbox.take()

    assert list(handle._task._delivered) == []
    await widgets.aclose()


async def test_a_handler_that_removes_itself_gets_no_second_event_of_an_object_that_was_replaced(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    events: list[str] = []

    def on_delete(obj: Unstructured) -> None:
        events.append("delete")
        registration.remove()

    async with client.informer(WIDGETS) as widgets:
        registration = widgets.add_handler(on_add=lambda obj: events.append("add"), on_delete=on_delete)
        await registration.wait_synced()

        with server.inject(Refuse(503), resource="widgets"):
            server.end_watches("widgets", "reset")
            server.delete("widgets", "a")
            server.create(widget("a"))
            await trio.sleep(1)
        await trio.sleep(60)  # both are in one list

        assert (names(widgets), events) == (["a"], ["add", "delete"])
