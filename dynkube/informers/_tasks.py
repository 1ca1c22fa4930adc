"""Tasks in a shared nursery that can be cancelled one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


def start_in_scope(nursery: trio.Nursery, run: Callable[[], Awaitable[None]]) -> trio.CancelScope:
    """Start ``run`` in ``nursery``; return a scope that cancels only this task."""
    scope = trio.CancelScope()

    async def task() -> None:
        with scope:
            await run()

    nursery.start_soon(task, name=run)
    return scope
