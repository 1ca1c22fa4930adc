"""Prints the bytes that a thousand informers of absent resources allocate."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import AsyncExitStack

import trio
from trio.testing import MockClock

import dynkube
from dynkube_testing import APIServer


async def measure() -> int:
    """Return the growth of the allocated bytes."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(APIServer())
        client = await stack.enter_async_context(dynkube.connect(transport=server.transport()))

        async def follow(number: int) -> None:
            name = f"things{number}.v1.group{number % 50}.example.com"
            await (await stack.enter_async_context(client.informer(name))).wait_synced()

        await follow(0)  # loads what all share
        gc.collect()
        tracemalloc.start()
        for number in range(1, 1001):
            await follow(number)
        server.forget_requests()  # the records of the server, which is in this process
        gc.collect()
        return tracemalloc.get_traced_memory()[0]


if __name__ == "__main__":
    print(trio.run(measure, clock=MockClock(autojump_threshold=0)))
