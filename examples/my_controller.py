"""A controller that deletes each Session, a custom resource of this example, when it has expired.

The CRD need not be installed at the start. The test is in test_my_controller.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Requeue, run

SESSIONS = "sessions.v1.example.com"


def session_expiry(now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Controller:
    """Return the controller; ``now`` is the clock that ``metadata.creationTimestamp`` is compared with."""

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue | None:
        session = ctx.get()
        if session is None or session.deletion_timestamp is not None:
            return None
        created = datetime.fromisoformat(session["metadata"]["creationTimestamp"])
        left = created + timedelta(seconds=session["spec"]["seconds"]) - now()
        if left > timedelta(0):
            return Requeue(after=left.total_seconds())  # or earlier, when the session changes
        await ctx.delete(session, unchanged=True)  # it may have been extended since
        return None

    return Controller(SESSIONS, reconcile)


if __name__ == "__main__":

    async def main() -> None:
        async with dynkube.connect() as client:
            await run(client, session_expiry())

    logging.basicConfig(level=logging.INFO)
    trio.run(main)
