"""Leader election with Leases: of several processes, one at a time works.

The semantics are those of client-go v0.37 (``tools/leaderelection``). What differs makes the end of a leadership
harder: the work runs in a cancel scope whose deadline is counted from the start of the last successful request; it is
cancelled at once when another process holds the lease; and the lease is renewed until the work has ended, also while it
cleans up, and released only then.
"""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import datetime
from random import Random
from typing import Final

import trio

from dynkube._bound import Bound
from dynkube._client import Client
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized, word
from dynkube.client._deadline import within
from dynkube.controllers._lease_record import (
    JITTER,
    LEASES,
    UNSEEN,
    Claim,
    LeaderElection,
    LeaderElectionStatus,
    LeaseRecord,
    Observation,
    Timestamps,
    claim,
    held_record,
    observed,
    read_record,
    released_record,
    unobserved,
)
from dynkube.errors import (
    AlreadyExists,
    APIError,
    ClosedError,
    Conflict,
    DynkubeError,
    InvalidInput,
    NotFound,
    ProtocolError,
)
from dynkube.errors._evidence import proves_deletion
from dynkube.meta import Unstructured
from dynkube.meta._arguments import brief, is_number

_log = get_logger("dynkube.controllers")

_RELEASES: Final = 5  # attempts to release a lease that is modified meanwhile


class LeadershipLost(DynkubeError):
    """The leadership ended while the block of :meth:`LeaderElector.leadership` was running.

    Raised at the end of the block: the work was cancelled, and has ended.

    Attributes:
        holder: identity of the new holder; ``""`` if the lease was not renewed in time, or the holder is not known.
    """

    def __init__(self, message: str, *, holder: str = "") -> None:
        super().__init__(message)
        self.holder = holder


class LeaderElector(Bound):
    """A candidate of a leader election, and the leader once it was elected.

    ::

        elector = LeaderElector(client, LeaderElection("sites"), rng=Random(), now=lambda: datetime.now(UTC))
        async with elector.leadership():
            await run_workers()

    Requires the permissions ``get``, ``create`` and ``update`` for Leases. Its requests have connections of their own,
    so they do not wait behind those of the workers; but if the client has an injected transport, they share it.

    **Limits.** A lease does not fence: code that blocks the event loop or works in a thread is not cancelled in time,
    and a write that was sent before may arrive later. If the Lease is deleted, a candidate that has just been started
    creates it at once, while its holder may still work. Changes of the wall clock have no effect. Durations are
    measured on trio's clock: it may run slower than those of other candidates by the ratio of ``renew_deadline`` to
    ``lease_duration``. On Linux and macOS it stops while the *machine* is suspended: afterwards this elector still
    leads until its next request or its deadline, although another one may have taken over. If only the process was
    stopped, the clock goes on, and the work is cancelled at its next checkpoint.

    **Coordinated leader election** (KEP-4355): a leader stops if a coordinator prefers another holder, and a candidate
    leaves such a lease alone for a ``lease_duration``. No LeaseCandidate objects are written.

    Not thread-safe: all methods are called in the event loop's thread.

    Args:
        client: an open client.
        election: the settings.
        rng: source of the identity's suffix and of jitter; if seeded, differently in each process.
        now: returns the current time with a time zone, for the timestamps in the Lease.

    Raises:
        ClosedError: the client is not open.
        InvalidInput: the result of ``now`` has no time zone.
    """

    def __init__(self, client: Client, election: LeaderElection, *, rng: Random, now: Callable[[], datetime]) -> None:
        self._client = client
        self._leases = client.resource(LEASES)  # in leadership(), with connections of its own
        self._election = election
        self._rng = rng
        self._now = now
        self._times = Timestamps(now)
        self._namespace = client.namespace if election.namespace is None else election.namespace
        self._identity = election.identity or f"{word(socket.gethostname())}_{rng.getrandbits(64):016x}"
        place = f"{self._namespace}/{election.name}"
        self._name = f"Lease {place}"  # in messages
        self._extra = {"lease": place, "identity": self._identity}  # in log records
        self._entered = False
        self._scope: trio.CancelScope | None = None  # while the block runs
        self._lost = ""  # why, if not by the deadline
        self._seen = UNSEEN
        self._since: datetime | None = None
        self._lease: Unstructured | None = None  # as read or written last; None if it does not exist
        self._may_hold = False  # whether the Lease may have this identity
        self._renewed = -math.inf  # when the last successful write was started
        self._error = ""
        self._failing = ""  # the kind of failure that was logged
        self._annotations: Callable[[], Mapping[str, str]] = dict  # to set whenever the Lease is written

    # ── leading ──────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def leadership(self) -> AsyncIterator[trio.CancelScope]:
        """Wait until this elector leads; the block runs while it does.

        If the leadership is lost, the block is cancelled: when another process holds the lease, and at the latest
        ``renew_deadline`` seconds after the start of the last successful renewal, even if the server does not respond.
        The lease is renewed until the block has ended, and then released, which takes at most half of
        ``renew_deadline``. May be entered again afterwards.

        Failures are not raised while waiting: they are retried, logged once, and shown in :attr:`status`. If waiting is
        cancelled, a lease that was requested without a response is released first, which may take as long as above.
        Cancellation of the block ends the leadership like any other end of the block.

        Returns:
            The block's cancel scope. Its deadline is the end of the leadership unless the lease is renewed. Its
            ``cancel()`` steps down: the block is cancelled, and nothing is raised.

        Raises:
            LeadershipLost: the leadership was lost before the block ended. An exception of the block, and cancellation
                from outside, are raised instead.
            ClosedError: the client was closed while waiting.
            InvalidInput: another task has entered it.
        """
        if self._entered:
            raise InvalidInput(f"{self} has been entered and not left: create an elector for each task")
        self._entered = True
        try:
            async with self._client._separate_connections() as separate:
                self._leases = separate.resource(LEASES)
                async with self._led() as scope:
                    yield scope
        finally:
            self._entered = False

    @asynccontextmanager
    async def _led(self) -> AsyncIterator[trio.CancelScope]:
        lost: LeadershipLost | None = None
        try:
            await self._acquire()
            async with OwnedNursery() as nursery:
                self._lost = ""
                scope = trio.CancelScope(deadline=self._deadline())
                renewals = trio.CancelScope(shield=True)  # the lease is needed until the block has cleaned up
                nursery.start_soon(self._keep, scope, renewals)
                try:
                    with scope:
                        self._scope = scope
                        yield scope
                finally:
                    lost = self._left(scope)
                    renewals.cancel()
        finally:
            if self._may_hold and self._election.release_on_exit:
                await self._release()
        if lost is not None:
            raise lost from None

    async def _acquire(self) -> None:
        _log.info("%s: waiting for the lease as %s", self._name, self._identity, extra=self._extra)
        self._seen = unobserved(self._seen)
        while True:
            try:
                acquired = await self._attempt()
            except ClosedError:
                raise
            except DynkubeError as exc:
                self._failed(exc)
            else:
                if acquired:
                    _log.info("%s: acquired by %s", self._name, self._identity, extra=self._extra)
                    return
            await trio.sleep(self._election.retry_period * (1 + JITTER * self._rng.random()))

    async def _keep(self, scope: trio.CancelScope, renewals: trio.CancelScope) -> None:
        """Renew the lease until the block has ended or another process holds the lease; move the deadline."""
        with renewals:
            while True:
                await trio.sleep(self._election.retry_period)
                try:
                    renewed = await self._attempt()
                except DynkubeError as exc:
                    self._failed(exc)
                    continue
                if not renewed:
                    self._lost = self._seen.obstacle(self._identity)
                    scope.cancel()
                    return
                if trio.current_time() < scope.deadline:  # else the block is cancelled, and the leadership is lost
                    scope.deadline = self._deadline()

    def _deadline(self) -> float:
        # From the start of the request: the lease was renewed at some time between then and the response, and others
        # may have seen that at once.
        return self._renewed + self._election.renew_deadline

    def _left(self, scope: trio.CancelScope) -> LeadershipLost | None:
        """End the leadership; return the exception if it was lost before."""
        self._scope = None
        if not self._lost and trio.current_time() < scope.deadline:
            return None
        holder = self._seen.holder if self._lost else ""
        lost = self._lost or f"it was not renewed within {self._election.renew_deadline:g} s"
        detail = f" ({self._error})" if self._error else ""
        _log.warning("%s: lost by %s: %s%s", self._name, self._identity, lost, detail, extra=self._extra)
        return LeadershipLost(f"{self._name}: {lost}{detail}; enter leadership() again to wait for it", holder=holder)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    async def _attempt(self) -> bool:
        """Acquire or renew the lease if possible; return whether this elector holds it now.

        Raises:
            DynkubeError: a request failed, or took too long.
        """
        with self._in_time():
            held = await self._renew_unread() or await self._read_and_write()
        if self._failing:
            _log.info("%s: requests succeed again", self._name, extra=self._extra)
        self._error = self._failing = ""
        return held

    def _in_time(self) -> AbstractContextManager[None]:
        """Cancel the block after half of the renew deadline, so that there is time for another attempt."""
        return within(self._election.renew_deadline / 2, "no response")

    async def _renew_unread(self) -> bool:
        """Renew without a read if no other process can have written; return whether that succeeded."""
        seen = self._seen
        expired = trio.current_time() >= seen.expires(self._election.lease_duration)
        if self._scope is None or seen.holder != self._identity or expired:
            return False
        try:
            await self._write(seen)
        except (Conflict, NotFound):  # whatever it means, the lease is read next
            return False
        return True

    async def _read_and_write(self) -> bool:
        seen = await self._read()
        now, duration = trio.current_time(), self._election.lease_duration
        if claim(seen, self._identity, leading=self._leading, now=now, lease_duration=duration) is Claim.WAIT:
            return False
        await self._write(seen)
        return True

    async def _read(self) -> Observation:
        try:
            lease = await self._leases.get(self._election.name, namespace=self._namespace)
        except NotFound as exc:
            if not proves_deletion(exc):
                raise
            return self._saw(None)
        return self._saw(lease)

    async def _write(self, seen: Observation) -> None:
        """Write this elector as the holder.

        Raises:
            DynkubeError: the request failed; except for error responses below 500 it may take effect nevertheless.
        """
        seconds = math.ceil(self._election.lease_duration)  # never less: others measure it from the same renewal
        record = held_record(seen.record, self._identity, seconds=seconds, time=self._times.next())
        before, self._may_hold = self._may_hold, True
        started = trio.current_time()
        try:
            stored = await self._send(record)
        except APIError as exc:
            if exc.code < 500:
                self._may_hold = before
            raise
        if self._saw(stored).holder != self._identity:
            raise ProtocolError("the response to a write has another holderIdentity than was written")
        self._renewed = started

    async def _send(self, record: LeaseRecord) -> Unstructured:
        if self._lease is None:
            metadata = {"name": self._election.name, "namespace": self._namespace, "labels": self._election.labels}
            if annotations := self._annotations():
                metadata["annotations"] = annotations
            lease = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": record.spec()}
            return await self._leases.create(lease)
        if not self._lease.resource_version:  # the update would overwrite what others have written since
            raise ProtocolError("the response to a read has no metadata.resourceVersion")
        labels = {**self._lease.labels, **self._election.labels}
        changed = self._lease.transform(["spec"], record.spec(), ["metadata", "labels"], labels)
        if annotations := {**self._lease.annotations, **self._annotations()}:
            changed = changed.transform(["metadata", "annotations"], annotations)
        return await self._leases.update(changed, namespace=self._namespace)

    async def _release(self) -> None:
        """Release the lease if this elector holds it. Not cancelled, but bounded; raises nothing."""
        try:
            with trio.CancelScope(shield=True), self._in_time():
                await self._try_release()
        except DynkubeError as exc:
            _log.warning("%s: not released: %s", self._name, exc, extra=self._extra | {"error": type(exc).__name__})

    async def _try_release(self) -> None:
        """Read the lease, and release it; again if an earlier renewal arrives in between.

        Raises:
            DynkubeError: a request failed.
        """
        for attempt in range(_RELEASES):
            seen = await self._read()
            if seen.holder != self._identity or seen.record is None:
                break
            try:
                self._saw(await self._send(released_record(seen.record, time=self._times.next())))
            except Conflict:
                if attempt == _RELEASES - 1:
                    raise
            else:
                _log.info("%s: released by %s", self._name, self._identity, extra=self._extra)
                break
        self._may_hold = False

    def _saw(self, lease: Unstructured | None) -> Observation:
        """Note a response: a Lease, or that there is none."""
        record = None if lease is None else read_record(lease)
        before, seen = self._seen, observed(self._seen, record, trio.current_time())
        self._seen, self._lease = seen, lease
        if before.holder != seen.holder:
            self._since = self._now()
            if seen.holder not in ("", self._identity):
                _log.info("%s: held by %s", self._name, word(seen.holder), extra=self._extra)
        return seen

    # ── state ────────────────────────────────────────────────────────────────────────────────

    @property
    def identity(self) -> str:
        """The identity in the Lease while this elector leads."""
        return self._identity

    @property
    def status(self) -> LeaderElectionStatus:
        """The state of this elector. Does not block."""
        return LeaderElectionStatus(
            identity=self._identity,
            leading=self._leading,
            holder=word(self._seen.holder),
            since=self._since,
            transitions=0 if self._seen.record is None else self._seen.record.transitions,
            error=self._error,
        )

    def healthy(self, timeout: float = 0.0) -> bool:
        """Return whether the process may continue, for a liveness probe (client-go's ``HealthzAdaptor``).

        ``False`` if the block of :meth:`leadership` is still running although the lease has expired: the work cannot be
        cancelled, and the process has to be killed. Always true for candidates. Does not block.

        Args:
            timeout: seconds after the expiry for which this is still ``True``.

        Raises:
            InvalidInput: ``timeout`` is not a number >= 0.
        """
        if not is_number(timeout) or timeout < 0:
            raise InvalidInput(f"timeout={brief(timeout)}: pass 0 or more seconds")
        return self._scope is None or trio.current_time() <= self._renewed + self._election.lease_duration + timeout

    def write_deadline(self) -> float:
        """Return until when the leader may write unless it renews the lease, on trio's clock; the past if it is lost.

        For work that goes on outside of the block's cancel scope, such as that of ``EventRecorder(write_until=...)``.
        """
        return -math.inf if self._scope is None or self._lost else self._scope.deadline

    @property
    def _problem(self) -> str:
        """Why the lease cannot be read or written; ``""`` if it can, also if another candidate was faster."""
        return f"{self._name}: {self._error}" if self._failing else ""

    @property
    def _leading(self) -> bool:
        return self._leads_at(trio.current_time())

    def _leads_at(self, now: float) -> bool:
        """Return whether this elector leads; on any thread."""
        scope = self._scope
        return scope is not None and not self._lost and now < scope.deadline

    def _failed(self, exc: DynkubeError) -> None:
        """Note a failed attempt; log it if it failed in another way than the one before."""
        self._error = sanitized(str(exc))
        self._seen = unobserved(self._seen)
        if isinstance(exc, Conflict | AlreadyExists):  # another candidate was faster
            _log.debug("%s: %s", self._name, exc, extra=self._extra | {"error": type(exc).__name__})
            return
        kind = f"{type(exc).__name__} {exc.request if isinstance(exc, APIError) else ''}"
        level = logging.DEBUG if kind == self._failing else logging.WARNING
        self._failing = kind
        _log.log(level, "%s: %s; retrying", self._name, exc, extra=self._extra | {"error": type(exc).__name__})

    def __repr__(self) -> str:
        return f"<LeaderElector {self._extra['lease']} as {self._identity}>"
