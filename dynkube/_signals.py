"""Cancellation by signals, so that a program can end in order."""

from __future__ import annotations

import signal

import trio


async def cancel_at_signal(scope: trio.CancelScope, *, task_status: trio.TaskStatus[None]) -> None:
    """Cancel ``scope`` at the first SIGINT or SIGTERM.

    Reports started once the signals are handled.
    """
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            break
    # From here on Ctrl-C raises KeyboardInterrupt again, in case that closing takes too long.
    scope.cancel()
