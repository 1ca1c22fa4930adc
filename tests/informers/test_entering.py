"""Waiting on an informer that is being entered, which may take a while if its resource is given by a short name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
import trio

from dynkube import LIVE, STOPPED, Client, Informer
from dynkube.errors import ClosedError, NoMatch
from dynkube_testing import APIServer, Delay, Hang
from tests.informers.kit import crd, quiet, widget


async def first_event(informer: Informer) -> None:
    async with informer.events() as events:
        await anext(events)


WAITS: dict[str, Callable[[Informer], Awaitable[object]]] = {
    "wait_synced": Informer.wait_synced,
    "wait_state": lambda informer: informer.wait_state(LIVE),
    "events": first_event,
}
each_wait = pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)


async def closed_to(wait: Callable[[Informer], Awaitable[object]], informer: Informer) -> None:
    with pytest.raises(ClosedError):
        await wait(informer)


@each_wait
async def test_a_wait_that_begins_before_entering_succeeds_once_entered(
    client: Client, server: APIServer, wait: Callable[[Informer], Awaitable[object]]
) -> None:
    server.create(crd())
    server.create(widget("a"))
    widgets = client.informer("widgets")

    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        nursery.start_soon(wait, widgets)
        await stack.enter_async_context(widgets)


@each_wait
async def test_a_wait_raises_if_entering_fails(client: Client, wait: Callable[[Informer], Awaitable[object]]) -> None:
    widgets = client.informer("widgets")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(closed_to, wait, widgets)
        with pytest.raises(NoMatch):
            await widgets.__aenter__()


async def test_an_informer_that_is_closed_while_its_name_is_looked_up_is_not_entered(
    client: Client, server: APIServer
) -> None:
    server.create(crd())
    server.inject(Delay(5), path_prefix="/apis", times=1)
    widgets = client.informer("widgets")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(closed_to, Informer.__aenter__, widgets)
        await trio.sleep(1)
        await widgets.aclose()

    assert (widgets.state.phase, server.open_watches) == (STOPPED, ())


async def test_of_two_tasks_that_enter_an_informer_at_once_the_second_gets_an_error(
    client: Client, server: APIServer
) -> None:
    server.create(crd())
    server.inject(Delay(5), path_prefix="/apis", times=1)
    widgets = client.informer("widgets")

    async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
        nursery.start_soon(stack.enter_async_context, widgets)
        await trio.sleep(1)
        with pytest.raises(ClosedError, match="another task is entering this informer"):
            await widgets.__aenter__()
        await widgets.wait_state(LIVE)
    await quiet()

    assert server.open_watches == ()


@each_wait
async def test_a_wait_raises_if_the_informer_is_closed_while_names_are_looked_up(
    client: Client, server: APIServer, wait: Callable[[Informer], Awaitable[object]]
) -> None:
    server.inject(Hang())
    widgets = client.informer("widgets")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(widgets.__aenter__)
        async with trio.open_nursery() as waiting:
            waiting.start_soon(closed_to, wait, widgets)
            await trio.sleep(1)
            await widgets.aclose()
        nursery.cancel_scope.cancel()
