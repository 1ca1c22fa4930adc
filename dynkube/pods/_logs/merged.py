"""``MergedLogs``: the logs of many pods as one stream, while pods come and go."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.client import Watch
from dynkube.client._client import APIClient
from dynkube.errors import ClosedError, ConfigError, DynkubeError, Forbidden, LogUnavailable, NotFound, Unauthorized
from dynkube.errors._evidence import proves_deletion
from dynkube.meta import Deleted, FieldSelector, Unstructured
from dynkube.meta._events import Added, Modified
from dynkube.pods._logs.followed import Announce, ContainerLog, FollowedContainer, Pace, Slots
from dynkube.pods._logs.lines import LogLine
from dynkube.pods._logs.options import LogOptions
from dynkube.pods._logs.owners import Owner, Owners, references_of
from dynkube.pods._logs.selection import PodQuery
from dynkube.pods._logs.sight import Phase, container_names, look
from dynkube.pods._logs.source import PODS, State
from dynkube.pods._logs.stream import FAREWELL, LogStream

_log = get_logger("dynkube.pods")

_BATCHES: Final = 16  # that wait to be consumed, each with the lines of at most 64 KiB
_DELETED: Final = "the pod was deleted"
_MOST_NAMES: Final = 100  # of containers, for a message
_MOST_KNOWN: Final = 20_000  # containers that have ended or failed, in `containers`
_ATTEMPTS: Final = 3  # to read the owners of pods, of logs that are not followed
_PAUSE: Final = 1.0  # seconds before the second attempt, twice that before the third
_TOGETHER: Final = 0.05  # seconds in which changes of owners are collected


class MergedLogs(Bound, AsyncIterator[LogLine]):
    """The lines of many containers, as they come: ``async for line in lines``.

    Created by :meth:`Client.logs`. The lines of each container are in order, and each comes once. A slow consumer slows
    the streams down: only a few chunks of lines wait in memory. A cancelled step loses no line. Not for use by several
    tasks at once.
    """

    def __init__(self, receive: trio.MemoryReceiveChannel[list[LogLine]], merger: Merger) -> None:
        self._receive = receive
        self._merger = merger
        self._ready: deque[LogLine] = deque()

    @property
    def containers(self) -> tuple[ContainerLog, ...]:
        """All containers that were seen, with the state of each and the reason for it."""
        return tuple(self._merger.statuses())

    @property
    def waiting(self) -> int:
        """The number of containers that wait because ``max_streams`` are open."""
        return self._merger.slots.waiting

    @property
    def pending(self) -> int:
        """The number of lines received but not yet consumed, without those of batches that wait."""
        return len(self._ready)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LogLine:
        if self._ready:
            await trio.lowlevel.checkpoint()
        else:
            await self._fill()
        return self._ready.popleft()

    async def take(self) -> list[LogLine]:
        """Return the next line and all others that are ready, in one step; an empty list at the end."""
        try:
            if not self._ready:
                await self._fill()
            else:
                await trio.lowlevel.checkpoint()
        except StopAsyncIteration:
            return []
        lines = list(self._ready)
        self._ready.clear()
        return lines

    async def _fill(self) -> None:
        try:
            self._ready.extend(await self._receive.receive())
        except trio.EndOfChannel:
            if self._merger.error is not None:
                raise self._merger.error from None
            raise StopAsyncIteration from None
        except trio.ClosedResourceError:
            raise ClosedError("the logs are closed, as they are after their 'async with' block") from None


@dataclass(slots=True)
class _Candidate:
    """A pod that does not belong to the owner, as far as is known.

    Attributes:
        pod: the pod.
        references: its ownerReferences: decoded once, as they are compared often.
        options: which part of its logs is to be read, should it belong to the owner.
        reason: why that is not known.
    """

    pod: Unstructured
    references: list[Mapping[str, Any]]
    options: LogOptions
    reason: str = ""


class Merger:
    """Starts and ends the logs of containers as pods come and go.

    Args:
        api: sends the requests.
        query: which pods and containers.
        options: which part of each log.
        owners: whether a pod belongs to the owner that was asked for.
        max_streams: how many logs may be read at once.
        send: where lines go.
        announce: called with the containers that come and go, and those that are not read.

    Attributes:
        slots: the streams that may be open at once.
        known_names: names of containers of the pods, also of those that are not selected.
        has_pods: whether there was a pod with one of the names.
        listed: set when the pods of the beginning were seen.
        error: what the stream raises at its end.
    """

    def __init__(
        self,
        api: APIClient,
        query: PodQuery,
        options: LogOptions,
        owners: Owners,
        max_streams: int,
        send: trio.MemorySendChannel[list[LogLine]],
        announce: Announce,
    ) -> None:
        self._api = api
        self._query = query
        self._first_options = options
        self._later_options = replace(options, tail=None, since=None)
        self._owners = owners
        self._send = send
        self._announce = announce
        self._pace = Pace()
        self._open: dict[str, dict[str, FollowedContainer]] = {}  # by UID of the pod and name of the container
        self._candidates: dict[str, _Candidate] = {}  # by UID of the pod
        self._changed = trio.Event()  # candidates, or their owners
        self._undecided: DynkubeError | None = None
        self._allowed = False  # whether any log was read, so that the user may read logs
        self._ended: deque[ContainerLog] = deque(maxlen=_MOST_KNOWN)
        self.slots: Slots = Slots(max_streams)
        self.known_names: set[str] = set()
        self.has_pods: bool = False
        self.listed: trio.Event = trio.Event()
        self.error: BaseException | None = None

    def statuses(self) -> Iterator[ContainerLog]:
        """Yield the states of all containers; those that have ended or failed first."""
        yield from self._ended
        for candidate in self._candidates.values():
            if candidate.reason:
                yield from self._states_of(candidate, "waiting")
        for containers in self._open.values():
            yield from (each.status() for each in containers.values() if each.state not in ("ended", "failed"))

    async def follow(self, events: Watch) -> None:
        """Read the logs of all pods that come, until cancelled or a failure that concerns all of them."""
        first = events.pending
        async with self._reading() as nursery:
            nursery.start_soon(self._follow_owners, nursery)
            if not first:
                self.listed.set()
            async for event in events:
                first -= 1
                match event:
                    case Added(pod) | Modified(pod):
                        self._see(pod, nursery, self._first_options if first >= 0 else self._later_options)
                    case Deleted(pod):
                        self._candidates.pop(pod.uid, None)
                        self._deleted(pod)
                if first == 0:
                    self.listed.set()

    async def read(self, pods: list[Unstructured]) -> None:
        """Read what the containers of these pods have written so far."""
        async with self._reading() as nursery:
            for pod in pods:
                self._see(pod, nursery, self._first_options)
            self.listed.set()
            await self._read_owners(nursery)

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[trio.Nursery]:
        """Open the nursery of the readers; what fails is raised by the stream."""
        with self._send:
            try:
                async with trio.open_nursery() as nursery:
                    yield nursery
                self.error = self._undecided  # after all others were read
            except* DynkubeError as group:
                self.error = _first(group)
            finally:
                self.listed.set()

    # ── which pods ───────────────────────────────────────────────────────────────────────────

    def _see(self, pod: Unstructured, nursery: trio.Nursery, options: LogOptions) -> None:
        """Take a new state of a pod."""
        if pod.uid in self._open:
            self._look(pod, nursery, options)
            return
        if not self._query.has_pod(pod):
            return
        self.has_pods = True
        if (known := self._candidates.get(pod.uid)) is not None:
            before, known.pod, known.references = known.references, pod, references_of(pod)
            if known.references != before:
                self._changed.set()
        elif self._owners.verdict(references := references_of(pod), pod.namespace).belongs:
            self._look(pod, nursery, options)
        else:
            self._candidates[pod.uid] = _Candidate(pod, references, options)
            self._changed.set()

    def _decide(self, nursery: trio.Nursery) -> dict[str, Owner]:
        """Begin with the candidates that belong to the owner by now; return the owners that decide about the others."""
        needed: dict[str, Owner] = {}
        for uid, candidate in list(self._candidates.items()):
            verdict = self._owners.verdict(candidate.references, candidate.pod.namespace)
            candidate.reason = verdict.reason
            if verdict.belongs:
                del self._candidates[uid]
                self._look(candidate.pod, nursery, candidate.options)
            needed |= {owner.uid: owner for owner in verdict.depends_on}
        self._owners.forget_others(needed)
        return needed

    async def _follow_owners(self, nursery: trio.Nursery) -> None:
        """Read the owners of candidates: at once, again with a back-off after failures, and at intervals otherwise."""
        while True:
            self._changed = trio.Event()
            needed = self._decide(nursery).values()
            interval, now = self._owners.interval(len(needed)), trio.current_time()
            idle = [owner for owner in needed if not owner.reading]
            for owner in idle:
                if owner.due(interval) <= now:
                    owner.reading = True
                    nursery.start_soon(self._read_owner, owner)
            next_due = min((owner.due(interval) for owner in idle if not owner.reading), default=math.inf)
            with trio.move_on_at(next_due):
                await self._changed.wait()
            await trio.sleep(_TOGETHER)

    async def _read_owner(self, owner: Owner) -> None:
        await self._owners.read(owner)
        self._changed.set()

    async def _read_owners(self, nursery: trio.Nursery) -> None:
        """Read the owners of candidates; note an error if some cannot be read."""
        for attempt in range(_ATTEMPTS):
            await trio.sleep(_PAUSE * attempt)
            while unread := [
                owner
                for owner in self._decide(nursery).values()
                if owner.references is None and owner.failures <= attempt
            ]:
                async with trio.open_nursery() as requests:
                    for owner in unread:
                        requests.start_soon(self._owners.read, owner)
            if not any(candidate.reason for candidate in self._candidates.values()):
                break
        for candidate in self._candidates.values():
            self._give_up(candidate)
        self._candidates.clear()

    def _give_up(self, candidate: _Candidate) -> None:
        """Report a pod of which it is not known whether it belongs to the owner."""
        unread = self._owners.verdict(candidate.references, candidate.pod.namespace).unread
        for state in self._states_of(candidate, "failed") if unread else ():
            self._ended.append(state)
            self._announce(state)
        for owner in unread:
            if not owner.denied:  # many users may not read all kinds that own pods
                self._undecided = self._undecided or owner.error

    def _states_of(self, candidate: _Candidate, state: State) -> Iterator[ContainerLog]:
        pod = candidate.pod
        for name in filter(self._query.has_container, container_names(pod)):
            yield ContainerLog(
                pod=pod.name, namespace=pod.namespace, container=name, state=state, reason=candidate.reason
            )

    # ── their containers ─────────────────────────────────────────────────────────────────────

    def _look(self, pod: Unstructured, nursery: trio.Nursery, options: LogOptions) -> None:
        containers = self._open.setdefault(pod.uid, {})
        for name in container_names(pod):
            if len(self.known_names) < _MOST_NAMES:
                self.known_names.add(name)
            if not self._query.has_container(name):
                continue
            if (followed := containers.get(name)) is None:
                followed = FollowedContainer(self._api, pod, name, self.slots, self._pace, self._note)
                containers[name] = followed
            followed.changed(pod)
            if followed.started:
                continue
            sight = look(pod, name)
            if options.follow and sight.phase not in {Phase.RUNNING, Phase.ENDED}:
                followed.note_state("waiting", sight.reason)
            else:
                followed.started = True
                nursery.start_soon(self._run, followed, options)

    def _note(self, container: ContainerLog) -> None:
        self._allowed = self._allowed or container.state == "reading"
        self._announce(container)

    def _deleted(self, pod: Unstructured) -> None:
        for followed in self._open.pop(pod.uid, {}).values():
            followed.deleted()
            if not followed.started:
                self._over(followed, "ended", _DELETED)
            elif followed.scope is not None:
                followed.scope.deadline = trio.current_time() + FAREWELL

    async def _run(self, followed: FollowedContainer, options: LogOptions) -> None:
        if self.slots.full and not self.slots.waiting:
            most = self.slots.most
            _log.info("%d logs are open (max_streams): further containers wait until another one has ended", most)
        await followed.take_slot()
        stream = LogStream(followed, followed.container, options, allowed=lambda: self._allowed)
        try:
            await self._pass_on(followed, stream)
        except NotFound as exc:
            self._over(followed, "ended" if proves_deletion(exc) else "failed", str(exc))
        except (Forbidden, Unauthorized, ConfigError, ClosedError):  # all others would fail in the same way
            raise
        except LogUnavailable as exc:  # if no response has said so, the pod has no node yet, which is no failure
            self._over(followed, "ended" if exc.__cause__ is None else "failed", str(exc))
        except DynkubeError as exc:
            self._over(followed, "failed", str(exc))
        else:
            self._over(followed, "ended", _DELETED if followed.gone else stream.reason)
        finally:
            followed.give_back()
            with trio.CancelScope(shield=True):
                await stream.aclose()

    async def _pass_on(self, followed: FollowedContainer, stream: LogStream) -> None:
        missed = 0
        while True:
            with trio.CancelScope() as followed.scope:
                if followed.gone:
                    followed.scope.deadline = trio.current_time() + FAREWELL
                lines = await stream.take()
            if stream.missed_runs > missed:
                where, missed = f"{followed.namespace}/{followed.name} {followed.container}", stream.missed_runs
                _log.warning("%d runs of %s have ended before their logs could be read", missed, where)
            if followed.scope.cancelled_caught or not lines:
                return
            followed.lines_came()
            await self._send.send(lines)

    def _over(self, followed: FollowedContainer, state: State, reason: str) -> None:
        followed.note_state(state, reason)
        self._ended.append(followed.status())


@asynccontextmanager
async def open_merged(
    api: APIClient, query: PodQuery, options: LogOptions, *, max_streams: int, announce: Announce | None = None
) -> AsyncIterator[MergedLogs]:
    """Open the logs of many pods as a context manager; on exit all requests are closed.

    Args:
        api: sends the requests.
        query: which pods and containers.
        options: which part of each log.
        max_streams: how many logs may be read at once.
        announce: called with the containers that come and go, and those that are not read; by default these are logged.
    """
    selected = await query.resolve(api)
    fields = FieldSelector((*query.fields.requirements, *selected.fields.requirements))
    send, receive = trio.open_memory_channel[list[LogLine]](_BATCHES)
    merger = Merger(api, query, options, Owners(api, selected.owner), max_streams, send, announce or _log_failure)
    pods = api.resource(PODS)
    async with AsyncExitStack() as stack:
        stack.callback(receive.close)  # after those who send were cancelled
        if options.follow:
            events = await stack.enter_async_context(
                pods.watch(namespace=query.namespace, label_selector=selected.labels, field_selector=fields)
            )
            nursery = await stack.enter_async_context(OwnedNursery())
            nursery.start_soon(merger.follow, events)
        else:
            found = await pods.list(namespace=query.namespace, label_selector=selected.labels, field_selector=fields)
            nursery = await stack.enter_async_context(OwnedNursery())
            nursery.start_soon(merger.read, list(found))
        yield MergedLogs(receive, merger)


def _log_failure(container: ContainerLog) -> None:
    if container.state == "failed":
        where = f"{container.namespace}/{container.pod} {container.container}"
        _log.warning("the log of %s is not read: %s", where, container.reason)


def _first(group: BaseExceptionGroup[DynkubeError]) -> DynkubeError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
