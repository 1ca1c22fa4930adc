"""F22, F23: many informers lose their server at once and reconnect spread over time, each of them once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest
import trio

from dynkube import LIVE, Client, Informer
from dynkube_testing import APIServer, Disconnect, Refuse
from tests.informers.kit import WIDGETS, crd, quiet, widget

MANY = 60


@pytest.fixture
async def informers(server: APIServer, client: Client) -> AsyncIterator[list[Informer]]:
    """Informers that have been live for a while, each with its own watch."""
    server.create(crd())
    async with AsyncExitStack() as stack:
        made = [client.informer(WIDGETS, label_selector=f"n notin (x{number})") for number in range(MANY)]
        for informer in made:
            await stack.enter_async_context(informer)
        await trio.sleep(100)
        server.forget_requests()
        yield made


def watches(server: APIServer) -> list[float]:
    """Return the times of the watch requests for widgets."""
    return sorted(r.time for r in server.requests if r.verb == "watch" and r.resource and r.resource.group != "")


@pytest.mark.scenario("F22", "F9", "P13")
@pytest.mark.parametrize("how", ["clean", "cut", "reset"])
async def test_watches_that_end_together_are_opened_again_spread_over_time(
    how: Any, server: APIServer, informers: list[Informer]
) -> None:
    since = [informer.state.since for informer in informers]
    server.end_watches("widgets", how=how)
    server.create(widget("meanwhile"))
    await trio.sleep(5)

    times = watches(server)
    assert len(times) == MANY
    assert times[-1] - times[0] > 0.5
    assert all(one < other for one, other in pairwise(times)), "no two at the same time"
    assert [len(informer) for informer in informers] == [1] * MANY
    assert [informer.state.since for informer in informers] == since, "no change of state"


@pytest.mark.scenario("F22", "P13")
async def test_after_an_outage_all_informers_reconnect_soon_after_the_first_but_not_at_once(
    server: APIServer, informers: list[Informer]
) -> None:
    outage = server.inject(Disconnect())
    server.end_watches(how="reset")
    await trio.sleep(600)
    server.create(widget("meanwhile"))

    outage.remove()
    server.forget_requests()
    await trio.sleep(65)

    assert {informer.state.phase for informer in informers} == {LIVE}
    assert [len(informer) for informer in informers] == [1] * MANY
    times = watches(server)
    assert 1 < times[-1] - times[0] < 10
    assert all(one < other for one, other in pairwise(times))


@pytest.mark.scenario("F23")
async def test_watches_with_the_same_retry_after_are_not_opened_again_at_once(
    server: APIServer, informers: list[Informer]
) -> None:
    server.inject(Refuse(429, retry_after=60), verb="watch", resource="widgets", times=MANY)
    server.end_watches("widgets", how="cut")
    await trio.sleep(10)
    server.forget_requests()
    await trio.sleep(120)
    await quiet()

    times = watches(server)
    assert len(times) == MANY
    assert times[0] >= 160
    assert 2 < times[-1] - times[0] < 10
    assert all(one < other for one, other in pairwise(times))
