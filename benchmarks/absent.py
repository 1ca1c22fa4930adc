"""Requests and memory of a thousand informers on resources that are not installed, in an hour of virtual time.

    python -m benchmarks.absent [--informers 1000] [--hours 1]

Runs on dynkube's embedded API server in this process, with a clock that jumps. Prints one line of JSON: the number of
requests until all informers have synced (``requests_to_sync``) and after that (``requests_later``; ``later`` has them
by verb and path: the watches of CRDs and APIServices, renewed every 5 to 10 minutes), the watches open at the end, and
the memory of one informer (``bytes_each``): Python's own allocations, by tracemalloc, while 1,000 are added to the
first one, which is charged for what they share.

CPU is not measured: the embedded server uses most of it.
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc
from collections import Counter
from contextlib import AsyncExitStack

import trio
import trio.testing

import dynkube
from benchmarks.measure import report
from dynkube_testing import APIServer


async def run(count: int, hours: float) -> None:
    """Enter the informers, wait, and print the result."""
    async with (
        APIServer() as server,
        dynkube.connect(transport=server.transport()) as client,
        AsyncExitStack() as stack,
    ):

        async def enter(number: int) -> dynkube.Informer:
            return await stack.enter_async_context(client.informer(f"things{number}.v1.group{number % 50}.example.com"))

        await (await enter(0)).wait_synced()
        gc.collect()
        tracemalloc.start()
        informers = [await enter(number) for number in range(1, count + 1)]
        for informer in informers:
            await informer.wait_synced()
        gc.collect()
        each = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.stop()
        assert all(informer.state.phase is dynkube.ABSENT for informer in informers)
        before = len(server.requests)
        await trio.sleep(hours * 3600)
        later = Counter(f"{request.verb or 'get'} {request.path}" for request in server.requests[before:])
        report(
            client="dynkube",
            informers=count,
            requests_to_sync=before,
            requests_later=sum(later.values()),
            requests_besides_watch=sum(count for request, count in later.items() if not request.startswith("watch ")),
            later=dict(later.most_common(5)),
            open_watches=len(server.open_watches),
            bytes_each=each,
        )


def main() -> None:
    """Parse the command line, and run once."""
    parser = argparse.ArgumentParser(description="Measure informers of resources that are not installed.")
    parser.add_argument("--informers", type=int, default=1_000)
    parser.add_argument("--hours", type=float, default=1.0)
    options = parser.parse_args()
    clock = trio.testing.MockClock(autojump_threshold=0)
    trio.run(run, options.informers, options.hours, clock=clock)


if __name__ == "__main__":
    main()
