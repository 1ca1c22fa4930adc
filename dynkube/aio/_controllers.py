"""``run`` and ``start`` for asyncio: controllers whose functions are called in the event loop."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Self

from dynkube._portal.controllers import Clusters, ControllerRunFacade, running
from dynkube.aio._call import in_trio
from dynkube.aio._client import Client
from dynkube.aio._held import Held
from dynkube.aio._reconciles import ReconcileLoop
from dynkube.controllers import Controller, ControllerRing, LeaderElection, Lifespan, StatusServer
from dynkube.controllers._lifespan import check_lifespan
from dynkube.meta import HashShard


async def run(
    client: Client | Mapping[str, Client],
    *controllers: Controller,
    election: LeaderElection | None = None,
    sharding: ControllerRing | HashShard | None = None,
    lease_cluster: str | None = None,
    lifespan: Lifespan | None = None,
    events: bool = True,
    server: StatusServer | None = None,
    shutdown_timeout: float = 20.0,
) -> None:
    """Run controllers until the task is cancelled, then end in order.

    Async reconcile functions are called in the running event loop, each call as a task of its own, with a
    :class:`Context`. Plain functions are called in threads, with a :class:`~dynkube.controllers.BlockingContext`. All
    else is as for :func:`dynkube.controllers.run`.

    Cancellation is graceful: no further call starts, those that run have ``shutdown_timeout`` seconds to end, and are
    cancelled then; after that the lease is released. If the task is cancelled again meanwhile, they go on ending in the
    background. ``asyncio.run`` cancels its task at Ctrl-C; for SIGTERM, see ``loop.add_signal_handler``.

    Args:
        client: an open client of :func:`dynkube.aio.connect`; or several, by the names of their clusters.
        *controllers: the controllers, with different names.
        election: reconcile only as the leader of all processes with the same Lease; ``None`` for always.
        sharding: reconcile only some of the objects; ``None`` for all.
        lease_cluster: the cluster that has the Lease of the election, required if there are several.
        lifespan: ``async with lifespan(client) as state`` is entered in the running event loop before the first call,
            and exited after the last one, in the same task: what the calls share, as ``ctx.state``. With a lease, by
            the leader only. A plain context manager is entered and exited in threads.
        events: whether ``ctx.event`` writes Events.
        server: serve health, readiness and metrics over HTTP; ``None`` for no server.
        shutdown_timeout: seconds that running calls have to end.

    Raises:
        LeadershipLost: the lease was not renewed in time, or another process has it.
        InvalidInput: there is no controller, two have the same name, an argument is invalid, or no asyncio loop runs.
        ConfigError: the server's address cannot be used, or hypercorn is not installed.
        ClosedError: the client is closed, or a controller runs already.
    """
    __tracebackhide__ = True
    started = await start(
        client,
        *controllers,
        election=election,
        sharding=sharding,
        lease_cluster=lease_cluster,
        lifespan=lifespan,
        events=events,
        server=server,
        shutdown_timeout=shutdown_timeout,
    )
    async with started:
        await started.wait()


async def start(
    client: Client | Mapping[str, Client],
    *controllers: Controller,
    election: LeaderElection | None = None,
    sharding: ControllerRing | HashShard | None = None,
    lease_cluster: str | None = None,
    lifespan: Lifespan | None = None,
    events: bool = True,
    server: StatusServer | None = None,
    shutdown_timeout: float = 20.0,
) -> ControllerRun:
    """Start controllers in the background, and return; for notebooks, and beside other tasks.

    ::

        async with await dynkube.aio.start(client, controller):
            ...

    They run until :meth:`ControllerRun.stop` is called, the client or the event loop is closed, or the process ends.
    Arguments and errors are those of :func:`run`; a lost lease is logged, and raised by :meth:`ControllerRun.wait` and
    :meth:`ControllerRun.stop`.
    """
    __tracebackhide__ = True
    clusters = Clusters(client, Client, "dynkube.aio.connect")
    check_lifespan(lifespan)
    loop = ReconcileLoop(clusters.clients)
    manager = running(
        clusters.inner,
        *map(loop.controller, controllers),
        election=election,
        sharding=sharding,
        lease_cluster=lease_cluster,
        lifespan=loop.lifespan(lifespan, client),
        events=events,
        server=server,
        shutdown_timeout=shutdown_timeout,
    )
    started = ControllerRun(clusters, controllers, manager, loop)
    await started._open()
    return started


class ControllerRun(ControllerRunFacade):
    """Controllers that run in the background; created by :func:`dynkube.aio.start`.

    Displayed as the cards of its controllers. The end of an ``async with`` block stops them.
    """

    def __init__(
        self,
        clusters: Clusters[Client],
        controllers: tuple[Controller, ...],
        manager: AbstractAsyncContextManager[str | None],
        loop: ReconcileLoop,
    ) -> None:
        super().__init__(clusters.thread, controllers)
        self._clusters = clusters
        watch = partial(loop.end_with_loop, self._end)
        self._held: Held[str | None] = Held(self._thread, manager, watch, owner=clusters.owner)

    async def _open(self) -> None:
        __tracebackhide__ = True
        self.url: str | None = await self._held.open("")
        await in_trio(self._thread, self._clusters.end_with_others, self._held)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        await self.stop()

    async def stop(self) -> None:
        """Stop the controllers, and wait until they have ended. Idempotent.

        No further call starts; those that run have ``shutdown_timeout`` seconds to end, and are cancelled then. If the
        task is cancelled meanwhile, they go on ending in the background.

        Raises:
            LeadershipLost: the lease was lost before; raised once.
        """
        __tracebackhide__ = True
        try:
            await self._held.close()
        finally:
            self._update_displayed()

    async def wait(self) -> None:
        """Wait until the controllers have ended. Cancelling the task ends only the waiting.

        Raises:
            LeadershipLost: the lease was lost; raised once.
        """
        __tracebackhide__ = True
        await in_trio(self._thread, self._held.wait_ended)
        await self.stop()

    def _end(self) -> None:
        self._held.scope.cancel()
