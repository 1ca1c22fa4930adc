"""``run``: runs controllers, as the leader of several processes if wanted, and ends them in order."""

from __future__ import annotations

import math
import random as random_module
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol

import trio

from dynkube._client import Client
from dynkube._nursery import OwnedNursery
from dynkube._server_text import word
from dynkube._signals import cancel_at_signal
from dynkube.controllers._blocked_loop import BlockedLoop
from dynkube.controllers._cluster_runs import ClusterRuns
from dynkube.controllers._clusters import RunsInCluster, clients_by_cluster, lease_cluster_of
from dynkube.controllers._controller import Controller
from dynkube.controllers._controller_ring import ControllerRing
from dynkube.controllers._event_recorder import EventRecorder
from dynkube.controllers._handover import WrittenVersions
from dynkube.controllers._leader_election import LeaderElector
from dynkube.controllers._lease_record import LeaderElection
from dynkube.controllers._lifespan import EXIT, Lifespan, check_lifespan, held
from dynkube.controllers._running import RunningController
from dynkube.controllers._sharding import HashSharding, RingShard, Sharding
from dynkube.controllers._status import ControllerStatus
from dynkube.controllers._status_server import StatusServer, serve
from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta import HashShard
from dynkube.meta._arguments import a_type

_INSTANCE: Final = 128  # bytes of an Event's reportingInstance
_BLOCKED: Final = 1.0  # seconds for which a reconcile may block the event loop without a warning
_LEASE_GRACE: Final = 20.0  # seconds after the lease has expired until /livez fails; as in Kubernetes' components


async def run(
    client: Client | Mapping[str, Client],
    *controllers: Controller,
    election: LeaderElection | None = None,
    sharding: ControllerRing | HashShard | None = None,
    lease_cluster: str | None = None,
    lifespan: Lifespan | None = None,
    events: bool = True,
    server: StatusServer | None = None,
    signals: bool = False,
    shutdown_timeout: float = 20.0,
    now: Callable[[], datetime] | None = None,
    random: random_module.Random | None = None,
    task_status: trio.TaskStatus[str | None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run controllers until cancelled.

    Each controller opens its informers, waits for their initial objects, and reconciles. A controller whose informers
    cannot be opened or read does not hold up others: its :meth:`Controller.status` has the reason.

    With ``election``, informers are opened at once, and controllers reconcile only while this process is the leader. A
    leader that cannot renew its lease is stopped hard: all reconciles are cancelled at the renew deadline, and
    :class:`LeadershipLost` is raised. Let the process end then, and be started again.

    With ``sharding``, several processes share the objects of the reconciled resources: each one caches and reconciles
    only its own. An object that is deleted or assigned to another process is dropped without a call: use a finalizer
    to clean up. A process that loses its shard's Lease is stopped hard in the same way.

    With several clusters, ``run({"east": east, "west": west}, controller)``, each controller runs in each cluster, with
    a queue, caches and ``concurrency`` for each: one that is slow or cannot be reached holds up no other. The name of
    the cluster is ``ctx.cluster``, and in logs and metrics; ``controller.status().clusters`` has the statuses.

    Cancellation is graceful: no further call starts, those that run have ``shutdown_timeout`` seconds to end, and are
    cancelled then; after that the lease is released, so that another process can take over at once. With ``signals``,
    SIGINT and SIGTERM do the same, and ``run`` returns; a second one ends the process.

    Args:
        client: an open client; or several, by the names of their clusters.
        *controllers: the controllers, with different names. Each can be run once at a time.
        election: reconcile only as the leader of all processes with the same Lease; ``None`` for always.
        sharding: reconcile only some of the objects: those that a sharder assigns to this process
            (:class:`ControllerRing`), or a fixed part of them (:class:`~dynkube.HashShard`); ``None`` for all. Not an
            argument of the controllers, which are the same in all processes. A ring has one cluster.
        lease_cluster: the cluster that has the Lease of the election, required if there are several. If it cannot be
            reached, no process is the leader, and nothing is reconciled in any of them.
        lifespan: ``async with lifespan(client) as state`` is entered before the first call, and exited after the last
            one: what the calls share, as ``ctx.state``, such as a connection to a database. With a lease, by the leader
            only: entered once this process has it, and exited before it is released. It has 5 seconds to end, also if
            the lease was lost (less if ``lease_duration - renew_deadline`` is), and is cancelled then. A plain context
            manager is entered and exited in threads. What a standby needs as well belongs around ``run``.
        events: whether ``ctx.event`` writes Events, which needs the permission to create and patch them.
        server: serve health, readiness and metrics over HTTP; ``None`` for no server.
        signals: whether the first SIGINT or SIGTERM stops the controllers. Only in the main thread.
        shutdown_timeout: seconds that running calls have to end; 0 cancels them at once.
        now: the time for timestamps; by default the system's.
        random: for jitter and identities; by default a generator with a random seed.
        task_status: for ``nursery.start(run, ...)``, which returns when the controllers have been started; with the URL
            of the server, or ``None``. Their informers need not be synced then.

    Raises:
        LeadershipLost: the lease was not renewed in time, or another process has it.
        InvalidInput: there is no controller, two have the same name, an argument is invalid, both ``election`` and a
            ControllerRing are given, or it is not clear which cluster has the Lease.
        ConfigError: the server's address cannot be used, or hypercorn is not installed.
        ClosedError: the client is not open, or was closed; or a controller runs already.
        BaseException: the lifespan raised; all calls have ended then.
    """
    clients = clients_by_cluster(client)
    _check(controllers, server, shutdown_timeout)
    _check_lease(election, sharding)
    check_lifespan(lifespan)
    if isinstance(sharding, ControllerRing):
        _check_controlled(controllers, sharding)
    if signals and threading.current_thread() is not threading.main_thread():
        raise InvalidInput("signals=True requires the main thread: signals are received only there; cancel run instead")
    home = lease_cluster_of(clients, lease_cluster, election, sharding)
    generator = random_module.Random() if random is None else random
    held_lifespan = partial(held, lifespan, client)
    manager = _Manager(
        clients, home, controllers, election, server, sharding, held_lifespan, events, now or _utc, generator
    )
    for controller, each in zip(controllers, manager.running, strict=True):
        controller._status = each.status
    try:
        async with OwnedNursery() as nursery:
            if signals:
                await nursery.start(cancel_at_signal, nursery.cancel_scope)
            await manager.run(shutdown_timeout, task_status)
    finally:
        for controller in controllers:
            controller._status = None


class _HeldLifespan(Protocol):
    """Returns the lifespan, which has ``limit`` seconds to end."""

    def __call__(self, *, limit: float) -> AbstractAsyncContextManager[object]: ...


class _Manager:
    """One call of :func:`run`."""

    def __init__(
        self,
        clients: Mapping[str, Client],
        home: str,
        controllers: Sequence[Controller],
        election: LeaderElection | None,
        server: StatusServer | None,
        sharding: ControllerRing | HashShard | None,
        lifespan: _HeldLifespan,
        events: bool,
        now: Callable[[], datetime],
        random: random_module.Random,
    ) -> None:
        self._elector = None if election is None else LeaderElector(clients[home], election, rng=random, now=now)
        self._ring: RingShard | None = None
        part: Sharding | None = None
        if isinstance(sharding, ControllerRing):
            part = self._ring = RingShard(sharding, clients[home], rng=random, now=now)
            self._elector = self._ring.elector
        elif sharding is not None:
            part = HashSharding(sharding)
        self._written = WrittenVersions()
        if self._elector is not None:
            self._elector._annotations = self._written.annotations
        instance = word(socket.gethostname())[:_INSTANCE] or "unknown"
        write_until = _always if self._elector is None else self._elector.write_deadline
        self._recorders = {
            (each, name): EventRecorder(
                client, controller=each.name, instance=instance, now=now, rng=random, write_until=write_until
            )
            for each in (controllers if events else ())
            for name, client in clients.items()
        }
        self._blocked = BlockedLoop(time.monotonic, limit=_BLOCKED)
        self.running = [
            ClusterRuns(
                each,
                {
                    name: RunningController(
                        each,
                        name,
                        clients,
                        sharding=part,
                        events=self._recorders.get((each, name)),
                        blocked=self._blocked,
                        written=self._written,
                        now=now,
                        random=random,
                        lease_problem=self._lease_problem,
                    )
                    for name in clients
                },
            )
            for each in controllers
        ]
        self._observed = [
            (client._observers, RunsInCluster(self, name, has_lease=name == home)) for name, client in clients.items()
        ]
        self._lifespan = lifespan
        self._clock = trio.lowlevel.current_clock()
        self._server = server
        self._working = trio.CancelScope(shield=True)
        self._leads = False

    async def run(self, shutdown_timeout: float, task_status: trio.TaskStatus[str | None]) -> None:
        """Run until cancelled."""
        for observers, runs in self._observed:
            for hook in observers.controllers_started:
                hook(runs)
        try:
            with self._blocked.watching(), ExitStack() as stack:
                for each in self.running:
                    stack.enter_context(each.connected(leads=self._elector is None))
                await self._run(shutdown_timeout, task_status)
        finally:
            for observers, runs in self._observed:
                for hook in observers.controllers_stopped:
                    hook(runs)

    def statuses(self) -> list[ControllerStatus]:
        """Return the status of each controller, in each cluster; on any thread."""
        return [status for each in self.running for status in each.statuses()]

    def leadership(self) -> tuple[str, bool] | None:
        """Return the name of the Lease, and whether this process leads; on any thread."""
        if self._elector is None:
            return None
        return self._elector._election.name, self._elector._leads_at(self._clock.current_time())

    def _lease_problem(self) -> str:
        return "" if self._elector is None else self._elector._problem

    def healthy(self) -> bool:
        """Return ``False`` if this process was the leader, its lease has expired, and reconciles are still running."""
        return self._elector is None or self._elector.healthy(_LEASE_GRACE)

    async def _run(self, shutdown_timeout: float, task_status: trio.TaskStatus[str | None]) -> None:
        async with OwnedNursery() as watchers:
            with self._working:
                watchers.start_soon(self._stop_when_cancelled, shutdown_timeout)
                async with OwnedNursery() as followers:
                    for each in self.running:
                        followers.start_soon(each.follow)
                    url = None if self._server is None else await followers.start(serve, self._server, self)
                    task_status.started(url)
                    async with self._leadership(), self._held_lifespan() as state:
                        self._leads = True
                        if self._ring is not None:
                            followers.start_soon(self._ring.warn_unless_ready)
                        await self._work(state)
        await trio.lowlevel.checkpoint()

    def _held_lifespan(self) -> AbstractAsyncContextManager[object]:
        election = None if self._elector is None else self._elector._election
        spare = EXIT if election is None else election.lease_duration - election.renew_deadline
        return self._lifespan(limit=min(EXIT, spare))

    async def _work(self, state: object) -> None:
        """Reconcile, and write Events until that has ended: all within the leadership."""
        async with OwnedNursery() as background:
            for recorder in self._recorders.values():
                background.start_soon(recorder.run)
            async with trio.open_nursery() as workers:
                for each in self.running:
                    workers.start_soon(each.work, state)

    @asynccontextmanager
    async def _leadership(self) -> AsyncIterator[None]:
        if self._elector is None:
            yield
        else:
            async with self._elector.leadership():
                lease = self._elector._lease  # with the record of the leader before, as writing it keeps annotations
                self._written.take_over({} if lease is None else lease.annotations)
                yield

    async def _stop_when_cancelled(self, timeout: float) -> None:
        try:
            await trio.sleep_forever()
        finally:
            for each in self.running:
                each.stop()
            self._working.deadline = trio.current_time() + (timeout if self._leads else 0)


def _check(controllers: Sequence[object], server: object, shutdown_timeout: float) -> None:
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
    if server is not None and not isinstance(server, StatusServer):
        raise InvalidInput(f"server is {a_type(server)}: pass StatusServer(port=8080), or None")
    if not 0 <= shutdown_timeout < math.inf:
        raise InvalidInput(f"shutdown_timeout={shutdown_timeout!r}: pass 0 or more seconds")


def _check_lease(election: object, sharding: object) -> None:
    if election is not None and not isinstance(election, LeaderElection):
        raise InvalidInput(f"election is {a_type(election)}: pass LeaderElection(name), or None")
    if sharding is not None and not isinstance(sharding, ControllerRing | HashShard):
        raise InvalidInput(
            f"sharding is {a_type(sharding)}: pass ControllerRing(name), HashShard(index, count), or None"
        )
    if election is not None and isinstance(sharding, ControllerRing):
        raise InvalidInput(
            "election and a ControllerRing exclude each other: each shard of the ring has a Lease of its own"
        )


def _check_controlled(controllers: Sequence[Controller], ring: ControllerRing) -> None:
    owned = {watch.resource for each in controllers for watch in each._others if watch.maps_to_owner}
    for resource in ring.controlled:
        if resource not in owned:
            names = ", ".join(map(str, owned)) or "none"
            raise InvalidInput(
                f"controlled has {resource}, which no controller owns (owned: {names}): name it as in owns="
            )


def _always() -> float:
    return math.inf


def _utc() -> datetime:
    return datetime.now(UTC)
