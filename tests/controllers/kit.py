"""Helpers of the controller tests: running controllers, and a record of their calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random

import trio
import trio.testing

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, Requeue, run

START = datetime(2026, 11, 1, tzinfo=UTC)


@asynccontextmanager
async def running(client: dynkube.Client, *controllers: Controller, shutdown: float = 20.0) -> AsyncIterator[None]:
    """Run controllers within the block."""

    async def run_them() -> None:
        await run(client, *controllers, shutdown_timeout=shutdown, now=lambda: START, random=Random(7))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_them)
        yield
        nursery.cancel_scope.cancel()


async def quiet(seconds: float = 0.0) -> None:
    """Wait some virtual seconds, and then until all tasks wait."""
    await trio.sleep(seconds)
    await trio.testing.wait_all_tasks_blocked()


class Calls:
    """A reconcile function that records its calls: the key, and the seconds since this object was created."""

    def __init__(self, *results: Requeue | BaseException | None, seconds: float = 0.0) -> None:
        self.keys: list[str] = []
        self.times: list[float] = []
        self.attempts: list[int] = []
        self.objects: list[Unstructured | None] = []
        self.running: set[ObjectKey] = set()
        self._results = iter(results)
        self._seconds = seconds
        self._start = trio.current_time()

    async def __call__(self, ctx: Context, key: ObjectKey) -> Requeue | None:
        assert key not in self.running, "a key is reconciled twice at once"
        self.running.add(key)
        self.keys.append(str(key))
        self.times.append(round(trio.current_time() - self._start, 6))
        self.attempts.append(ctx.attempt)
        self.objects.append(ctx.get())
        try:
            if self._seconds:
                await trio.sleep(self._seconds)
            result = next(self._results, None)
            if isinstance(result, BaseException):
                raise result
            return result
        finally:
            self.running.discard(key)
