"""Turns: handlers with many events continue in the order of their requests, a few per iteration of the event loop."""

from __future__ import annotations

import trio

from dynkube.informers._views.turns import Turns


async def test_a_handler_that_had_a_turn_waits_for_the_others() -> None:
    turns: list[int] = []
    async with trio.open_nursery() as nursery:
        shared = Turns(lambda: 0.0, 0.0, nursery.start_soon)

        async def handle(number: int) -> None:
            while True:
                await shared.wait()
                turns.append(number)

        for number in range(20):
            nursery.start_soon(handle, number)
        while len(turns) < 500:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()

    # Eight continue in one iteration, in any order; the other twelve (eleven at the start) then have their turn first.
    assert all(len({*turns[start : start + 10]}) == 10 for start in range(490))
