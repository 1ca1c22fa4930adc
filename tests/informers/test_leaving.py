"""Leaving an informer or client ends its events, tasks and watches, frees memory, and wakes all waiting tasks."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, STOPPED, Added, Client, Informer, LabelFilter, NamespaceFilter, Unstructured
from dynkube.errors import ClosedError
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget

AT_ONCE = dynkube.InformerSettings(linger=0)


def watched(server: APIServer) -> list[str]:
    return sorted(watch.resource.resource for watch in server.open_watches)


@pytest.mark.scenario("K22")
async def test_nothing_is_left_after_leaving_a_client(server: APIServer) -> None:
    before = trio.lowlevel.current_statistics().tasks_living
    async with dynkube.connect(transport=server.transport(), settings=AT_ONCE) as client:
        async with client.informer(WIDGETS) as widgets, client.informer("pods.v1") as pods:
            Recorder().attach(pods)
            pods.set_filter(NamespaceFilter("a=b"))
            await widgets.wait_synced()
            await pods.wait_synced()
        await quiet()

        assert server.open_watches == ()
    await quiet()

    assert trio.lowlevel.current_statistics().tasks_living == before


@pytest.mark.scenario("G8", "F31")
async def test_a_handler_added_just_before_leaving_gets_no_event_and_ends(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as stays:
        await stays.wait_synced()
        await quiet()
        tasks = trio.lowlevel.current_statistics().tasks_living

        async with client.informer(WIDGETS) as leaves:
            recorder.attach(leaves)

        assert await recorder.drain() == []
        assert trio.lowlevel.current_statistics().tasks_living == tasks


@pytest.mark.scenario("G8", "F37")
@pytest.mark.parametrize("there", [False, True])
async def test_cancellation_while_entering_leaves_no_task_and_no_watch(
    server: APIServer, client: Client, there: bool
) -> None:
    if there:
        server.create(crd())
    async with client.informer("namespaces.v1") as other, client.informer("gadgets.v1.example.com") as gadgets:
        await other.wait_state(LIVE)
        await gadgets.wait_synced()
        await quiet()
        tasks = trio.lowlevel.current_statistics().tasks_living

        with trio.move_on_after(0):
            async with client.informer(WIDGETS, filter=NamespaceFilter("a=b")):
                pytest.fail("entering is a checkpoint")
        await quiet()

        assert watched(server) == ["apiservices", "customresourcedefinitions", "namespaces"]
        assert trio.lowlevel.current_statistics().tasks_living == tasks


@pytest.mark.scenario("G8")
async def test_cancellation_after_the_crd_was_created_leaves_no_watch(server: APIServer, client: Client) -> None:
    with trio.move_on_after(10):
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_state(ABSENT)
            server.create(crd())
            await widgets.wait_state(LIVE)
            assert watched(server) == ["customresourcedefinitions", "widgets"]
            await trio.sleep_forever()
    await quiet()

    assert watched(server) == []


async def test_a_filter_that_was_replaced_at_once_follows_no_namespaces(server: APIServer, client: Client) -> None:
    calls = 0

    def count(obj: Unstructured) -> bool:
        nonlocal calls
        calls += 1
        return True

    server.create(crd())
    server.create(widget("a"))
    async with client.informer("namespaces.v1") as namespaces, client.informer(WIDGETS) as widgets:
        Recorder().attach(widgets)
        await namespaces.wait_synced()
        await widgets.wait_synced()
        widgets.set_filter(NamespaceFilter("a=b"))
        widgets.set_filter(count)
        await quiet()
        before = calls

        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
        await quiet()

        assert calls == before
        assert namespaces.statistics().users == 1


@pytest.mark.scenario("G25", "F31")
async def test_the_last_user_ends_the_watch_and_a_new_one_starts_it_again(server: APIServer, client: Client) -> None:
    server.create(crd())
    for number in range(3):
        async with client.informer(WIDGETS) as first, client.informer(WIDGETS) as second:
            await first.wait_state(LIVE)
            await second.wait_state(LIVE)
            server.create(widget(f"w{number}"))
            await quiet()
            assert len(second) == number + 1
        await quiet()
        assert watched(server) == []


@pytest.mark.scenario("F31")
@pytest.mark.parametrize("steps", range(0, 24, 2))
async def test_31_a_crd_may_be_created_at_any_moment_of_leaving(server: APIServer, client: Client, steps: int) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        await quiet()
        server.create(crd())
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
    await quiet()

    assert watched(server) == []


@pytest.mark.scenario("F31")
@pytest.mark.parametrize(
    "wait",
    [
        lambda informer: informer.wait_synced(),
        lambda informer: informer.wait_state(LIVE),
        lambda informer: informer.add_handler(on_add=print).wait_synced(),
        lambda informer: informer.wait_for(Unstructured(widget("a") | {"metadata": {"resourceVersion": "9"}})),
    ],
    ids=["wait_synced", "wait_state", "handler", "wait_for"],
)
@pytest.mark.parametrize("closes", ["informer", "client"])
async def test_waiting_tasks_get_an_error_when_the_informer_or_client_is_closed(
    server: APIServer, wait: Callable[[Informer], Awaitable[object]], closes: str
) -> None:
    server.create(crd())
    server.fail(resource="widgets", status=403)

    async def expect_closed() -> None:
        with pytest.raises(ClosedError):
            await wait(widgets)

    with trio.fail_after(10):
        async with (
            trio.open_nursery() as nursery,
            dynkube.connect(transport=server.transport(), settings=AT_ONCE) as client,
        ):
            widgets = await client.informer(WIDGETS).__aenter__()
            nursery.start_soon(expect_closed)
            await trio.sleep(1)
            if closes == "informer":
                await widgets.aclose()
    assert widgets.state.phase is STOPPED


@pytest.mark.scenario("F31")
async def test_31_entering_an_informer_while_the_client_is_closed_does_not_block(
    server: APIServer,
) -> None:
    server.create(crd())
    server.create(widget("a"))
    settings = dynkube.InformerSettings(slice=0)  # the cache's owner has a checkpoint after each step

    def leave_the_client(obj: Unstructured) -> list[str]:
        block.cancel()
        return []

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as block:
                async with dynkube.connect(transport=server.transport(), settings=settings) as client:
                    await (await client.informer(WIDGETS).__aenter__()).wait_state(LIVE)
                    late = client.informer(WIDGETS, indexes={"x": leave_the_client, "y": leave_the_client})
                    nursery.start_soon(late.__aenter__)
                    await trio.sleep_forever()

    assert (late.state.phase, watched(server)) == (STOPPED, [])


@pytest.mark.scenario("F36")
async def test_36_the_cache_is_freed_although_informer_and_handler_are_referenced(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("not-kept", host="a.example"))
    widgets = client.informer(WIDGETS, filter=LabelFilter("!hidden"), indexes={"host": "{.spec.host}"})
    registration = Recorder().attach(widgets)
    async with widgets, widgets.events() as events:
        await widgets.wait_synced()
        assert isinstance(await anext(events), Added)
        assert names(widgets.by_index("host", "a.example")) == ["not-kept"]
    gc.collect()

    left = [obj for obj in gc.get_objects() if isinstance(obj, Unstructured)]

    assert [obj for obj in left if obj.name == "not-kept"] == []
    assert (widgets.list(), widgets.by_index("host", "a.example"), registration.backlog) == ([], [], 0)


@pytest.mark.scenario("F37")
@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 404}, {"status": 429, "retry_after": 60}])
async def test_37_leaving_does_not_wait_for_a_backoff(server: APIServer, client: Client, fault: dict[str, Any]) -> None:
    server.create(crd())
    server.fail(resource="widgets", **fault)
    async with client.informer(WIDGETS):
        await trio.sleep(3)
    await quiet()

    assert (trio.current_time(), watched(server)) == (3, [])


async def test_an_informer_left_before_its_handlers_have_returned_has_not_synced(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    outcome: list[str] = []

    async def slowly(obj: Unstructured) -> None:
        await trio.sleep(60)

    async def wait(informer: Informer) -> None:
        try:
            await informer.wait_synced()
        except ClosedError:
            outcome.append("closed")

    async with trio.open_nursery() as nursery, client.informer(WIDGETS) as widgets:
        widgets.add_handler(on_add=slowly)
        nursery.start_soon(wait, widgets)
        await widgets.wait_state(LIVE)

    assert (outcome, widgets.has_synced) == (["closed"], False)


@pytest.mark.scenario("F31")
async def test_31_waiting_for_the_sync_of_an_informer_entered_while_the_client_is_closed_is_an_error(
    server: APIServer,
) -> None:
    server.create(crd())
    settings = dynkube.InformerSettings(slice=0)

    def leave_the_client(obj: Unstructured) -> list[str]:
        block.cancel()
        return []

    async def enter() -> None:
        await late.__aenter__()
        with pytest.raises(ClosedError):
            await late.wait_synced()

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as block:
                async with dynkube.connect(transport=server.transport(), settings=settings) as client:
                    await (await client.informer(WIDGETS).__aenter__()).wait_state(LIVE)
                    server.create(widget("a"))
                    await quiet()
                    late = client.informer(WIDGETS, indexes={"x": leave_the_client, "y": leave_the_client})
                    nursery.start_soon(enter)
                    await trio.sleep_forever()
