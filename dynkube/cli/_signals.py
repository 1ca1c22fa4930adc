"""Ctrl-C as a cancellation, so that a command can still say what it has done."""

from __future__ import annotations

import signal

import trio


async def cancel_at_signal(scope: trio.CancelScope, *, task_status: trio.TaskStatus[None]) -> None:
    """Cancel ``scope`` at the first SIGINT or SIGTERM; started once it listens."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            break
    # From here on Ctrl-C is Python's own again, should closing take too long for somebody.
    scope.cancel()
