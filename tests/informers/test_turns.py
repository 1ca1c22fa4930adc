"""Turns: handlers with many events continue in the order in which they came, a few in each iteration of the loop."""

from __future__ import annotations

import trio

from dynkube.informers._views.turns import Turns


async def test_who_had_a_turn_waits_behind_the_others() -> None:
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

    # Eight continue in one iteration, in any order, and the other twelve, or eleven at the start, are before them then.
    assert all(len({*turns[start : start + 10]}) == 10 for start in range(490))
