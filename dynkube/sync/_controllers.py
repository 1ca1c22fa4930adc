"""``run`` and ``start``, blocking: controllers in the background thread."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dynkube._portal.controllers import Clusters, ControllerRunFacade, running
from dynkube.sync._client import Client
from dynkube.sync._held import Held
from dynkube.sync._streams import within

if TYPE_CHECKING:
    from dynkube.controllers import Controller, ControllerRing, LeaderElection, Lifespan, StatusServer
    from dynkube.meta import HashShard


def run(
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
    """Run controllers until they are interrupted (Ctrl-C, a notebook's stop button), then end in order and return.

    Reconcile functions may be plain or async. SIGTERM is not handled: a program that runs in a pod calls
    :func:`dynkube.controllers.run` with ``signals=True``, or is started with ``dynkube run``.

    Args:
        client: a client of :func:`dynkube.sync.connect`; or several, by the names of their clusters.
        *controllers: the controllers, with different names.
        election: reconcile only as the leader of all processes with the same Lease; ``None`` for always.
        sharding: reconcile only some of the objects; ``None`` for all.
        lease_cluster: the cluster that has the Lease of the election, required if there are several.
        lifespan: ``with lifespan(client) as state`` is entered in a thread before the first call, and exited in another
            one after the last: what the calls share, as ``ctx.state``. With a lease, by the leader only.
        events: whether ``ctx.event`` writes Events.
        server: serve health, readiness and metrics over HTTP; ``None`` for no server.
        shutdown_timeout: seconds that running calls have to end.

    Raises:
        LeadershipLost: the lease was not renewed in time, or another process has it.
        InvalidInput: there is no controller, two have the same name, or an argument is invalid.
        ConfigError: the server's address cannot be used, or hypercorn is not installed.
        ClosedError: the client is closed, or a controller runs already.
    """
    __tracebackhide__ = True
    started = start(
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
    try:
        started.wait()
    except KeyboardInterrupt:
        started.stop()


def start(
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
    """Start controllers in the background, and return; for notebooks.

    They run until :meth:`ControllerRun.stop` is called, the client is closed, or the process ends. Arguments and errors
    are those of :func:`run`; a lost lease is logged, and raised by :meth:`ControllerRun.wait` and
    :meth:`ControllerRun.stop`.
    """
    __tracebackhide__ = True
    from dynkube.controllers._lifespan import check_lifespan  # loaded by those who run controllers only

    clusters = Clusters(client, Client, "dynkube.sync.connect")
    check_lifespan(lifespan)
    manager = running(
        clusters.inner,
        *controllers,
        election=election,
        sharding=sharding,
        lease_cluster=lease_cluster,
        lifespan=None if lifespan is None else lambda _: lifespan(client),
        events=events,
        server=server,
        shutdown_timeout=shutdown_timeout,
    )
    return ControllerRun(clusters, controllers, manager)


class ControllerRun(ControllerRunFacade):
    """Controllers that run in the background; created by :func:`dynkube.sync.start`.

    Displayed as the cards of its controllers. The end of a ``with`` block stops them.
    """

    def __init__(
        self,
        clusters: Clusters[Client],
        controllers: tuple[Controller, ...],
        manager: AbstractAsyncContextManager[str | None],
    ) -> None:
        __tracebackhide__ = True
        super().__init__(clusters.thread, controllers)
        self._held: Held[str | None] = Held(self._thread, manager, owner=clusters.owner)
        self.url: str | None = self._held.open()
        self._thread.call(clusters.end_with_others, self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.stop()

    def stop(self) -> None:
        """Stop the controllers, and wait until they have ended. Idempotent.

        No further call starts; those that run have ``shutdown_timeout`` seconds to end, and are cancelled then. If the
        wait is interrupted, they go on ending in the background.

        Raises:
            LeadershipLost: the lease was lost before; raised once.
        """
        __tracebackhide__ = True
        try:
            self._held.close()
        finally:
            self._update_displayed()

    def wait(self, *, timeout: float | None = None) -> None:
        """Wait until the controllers have ended.

        Args:
            timeout: seconds; ``None`` waits for ever.

        Raises:
            LeadershipLost: the lease was lost; raised once.
            DeadlineExceeded: they run longer than ``timeout``.
        """
        __tracebackhide__ = True
        self._thread.call(within, self._held.wait_ended, timeout, "the controllers had not ended")
        self.stop()
