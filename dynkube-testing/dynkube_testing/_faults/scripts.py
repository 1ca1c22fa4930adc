"""Scripted sequences of timed steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import trio

from dynkube.errors import InvalidInput
from dynkube_testing._faults.effects import check_seconds


async def play_script(*steps: tuple[float, Callable[[], object]]) -> None:
    """Call functions at given times, in order, and return after the last one.

    Async functions are awaited. Use this to run a sequence of faults, outages and object changes on a server while the
    test observes the client. For a single fault use ``start`` and ``duration`` of ``inject`` instead. ::

        nursery.start_soon(
            play_script,
            (0, lambda: server.end_watches(how="silent")),
            (60, lambda: server.delete("crds", "widgets.acme.example")),
            (65, lambda: server.create(other_definition)),
            (90, lambda: server.restart(seconds=10)),
        )

    Args:
        steps: Pairs of a time and the function to call then. The time is in seconds since the start of the script, on
            trio's clock. An async function that takes time, such as ``server.restart``, delays the steps due meanwhile.

    Raises:
        InvalidInput: A time is negative, or earlier than the time of the previous step.
    """
    last = 0.0
    for seconds, _ in steps:
        check_seconds("a step's time", seconds)
        if seconds < last:
            raise InvalidInput(f"a step at {seconds:g} s comes after one at {last:g} s; put them in order")
        last = seconds
    begin = trio.current_time()
    for seconds, call in steps:
        await trio.sleep_until(begin + seconds)
        result = call()
        if inspect.isawaitable(result):
            await result
    await trio.lowlevel.checkpoint()
