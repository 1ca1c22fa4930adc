"""Tasks that can be ended one by one, in a nursery that belongs to somebody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


def start_in_scope(nursery: trio.Nursery, run: Callable[[], Awaitable[None]]) -> trio.CancelScope:
    """Start ``run`` in ``nursery``; cancelling the returned scope ends it and nothing else."""
    scope = trio.CancelScope()

    async def task() -> None:
        with scope:
            await run()

    nursery.start_soon(task, name=run)
    return scope
