"""``run``: runs controllers, and ends them in order."""

from __future__ import annotations

import math
import random as random_module
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import trio

from dynkube._client import Client
from dynkube._nursery import OwnedNursery
from dynkube.controllers._controller import Controller
from dynkube.controllers._running import RunningController
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta._arguments import a_type


async def run(
    client: Client,
    *controllers: Controller,
    shutdown_timeout: float = 20.0,
    now: Callable[[], datetime] | None = None,
    random: random_module.Random | None = None,
) -> None:
    """Run controllers until cancelled.

    Each controller opens its informers, waits for their initial objects, and reconciles. A controller whose informers
    cannot be opened or read does not hold up others: its :meth:`Controller.status` has the reason.

    Cancellation is graceful: no further call starts, those that run have ``shutdown_timeout`` seconds to end, and are
    cancelled then. A second cancellation, by a scope around that of the first, changes nothing.

    Args:
        client: an open client.
        *controllers: the controllers, with different names. Each can be run once at a time.
        shutdown_timeout: seconds that running calls have to end; 0 cancels them at once.
        now: the time for timestamps; by default the system's.
        random: for jitter; by default a generator with a random seed.

    Raises:
        InvalidInput: there is no controller, two have the same name, or an argument is invalid.
        ClosedError: the client is not open, or was closed; or a controller runs already.
    """
    _check(controllers, shutdown_timeout)
    client._layers()  # raises ClosedError here rather than in a task
    generator = random_module.Random() if random is None else random
    clock = _utc if now is None else now
    running = [RunningController(each, client, events=None, now=clock, random=generator) for each in controllers]
    for declared, each in zip(controllers, running, strict=True):
        declared._status = each.status
    try:
        await _run(running, shutdown_timeout)
    finally:
        for declared in controllers:
            declared._status = None


async def _run(running: Sequence[RunningController], shutdown_timeout: float) -> None:
    async with OwnedNursery() as watchers:
        with trio.CancelScope(shield=True) as working:
            watchers.start_soon(_stop_when_cancelled, running, working, shutdown_timeout)
            async with OwnedNursery() as followers:
                for each in running:
                    followers.start_soon(each.follow)
                async with trio.open_nursery() as workers:
                    for each in running:
                        workers.start_soon(each.work)
    await trio.lowlevel.checkpoint()


async def _stop_when_cancelled(running: Sequence[RunningController], working: trio.CancelScope, timeout: float) -> None:
    try:
        await trio.sleep_forever()
    finally:
        for each in running:
            each.stop()
        working.deadline = trio.current_time() + timeout


def _check(controllers: Sequence[object], shutdown_timeout: float) -> None:
    if not controllers:
        raise InvalidInput("run() has no controllers: pass at least one")
    for each in controllers:
        if not isinstance(each, Controller):
            raise InvalidInput(f"{a_type(each)} is no controller: pass Controller(resource, reconcile)")
        if each._status is not None:
            raise ClosedError(f"{each!r} runs already: create another one with another name")
    names = Counter(each.name for each in controllers if isinstance(each, Controller))
    for name, count in names.items():
        if count > 1:
            raise InvalidInput(
                f"{count} controllers are named {name!r}: pass name=..., which is their field manager as well"
            )
    if not 0 <= shutdown_timeout < math.inf:
        raise InvalidInput(f"shutdown_timeout={shutdown_timeout!r}: pass 0 or more seconds")


def _utc() -> datetime:
    return datetime.now(UTC)
