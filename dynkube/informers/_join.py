"""``Join``: the informers of several clusters as one reader, with the cluster in the key."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

import trio

from dynkube._bound import Bound
from dynkube._text.tables import printable
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._cache.index import IndexFunc, index_func
from dynkube.informers._filters.filters import Filter, Predicate, as_filter
from dynkube.informers._informer import Informer
from dynkube.informers._join_registration import JoinRegistration
from dynkube.informers._reads import Selector
from dynkube.informers._states import Phase, State, next_state
from dynkube.informers._summary import state_of_clusters
from dynkube.informers._views.handlers import OnError
from dynkube.meta import Unstructured
from dynkube.meta._arguments import a_type

OnClusterAdd: TypeAlias = Callable[..., Awaitable[None] | None]
"""``on_add(cluster, obj)``; with a parameter ``initial`` it gets that as well."""
OnClusterUpdate: TypeAlias = Callable[[str, Unstructured, Unstructured], Awaitable[None] | None]
OnClusterDelete: TypeAlias = Callable[[str, Unstructured], Awaitable[None] | None]


class ClusterObject(NamedTuple):
    """An object, and the name of its cluster."""

    cluster: str
    object: Unstructured


def _nothing(obj: Unstructured) -> bool:
    return False


class Join(Bound):
    """The objects of informers of several clusters, read and handled together.

    Created by :func:`dynkube.join`. Enter it (``async with``) to enter all its informers, which it closes at the end.
    The clients of the clusters are entered before, and left after it. Clusters come and go by :meth:`add` and
    :meth:`remove`. A cluster that cannot be reached keeps its last objects, and shows that in :attr:`states`.

    Reads are synchronous and may be called from any thread, like those of an :class:`Informer`. Each uses one version
    of each cluster's cache; clusters have no common order of changes. Everything else must be called in the event
    loop's thread.
    """

    def __init__(self, informers: Mapping[str, Informer]) -> None:
        self._informers: dict[str, Informer] = {}
        self._leaving: set[str] = set()  # clusters that are being removed; their names are not free yet
        self._open: set[Informer] = set()  # those that this join has entered
        self._changed = trio.Event()  # set, and replaced, when one was entered or removed, or the join was closed
        self._handlers: list[JoinRegistration] = []
        self._filter: tuple[Filter | None] | None = None  # that of set_filter(), if it was called
        self._indexes: dict[str, str | IndexFunc] = {}
        self._last = State(Phase.STOPPED, "NotEntered")
        self._entered = False
        self._closed = False
        for cluster, informer in informers.items():
            self._check_new(cluster, informer)
            self._informers[cluster] = informer

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        """Enter all informers; does not wait until they have synced. If one cannot be entered, the others are closed.

        Raises:
            ClosedError: it was entered before, or an informer was, or a client is not open; or it was closed before all
                informers were entered.
            NoMatch, DiscoveryFailed, TransportError: a resource was given by a name that requires discovery; see
                :meth:`Informer.__aenter__`. Use RESOURCE.VERSION.GROUP, so that an unreachable cluster is no error.
        """
        if self._entered:
            raise ClosedError("this join was entered before; create another one with dynkube.join(...)")
        self._entered = True
        try:
            for cluster, informer in tuple(self._informers.items()):
                self._check_open()
                if self._informers.get(cluster) is informer:  # if not, it was removed meanwhile
                    await self._enter_first(cluster, informer)
            self._check_open()
        except BaseException:
            with trio.CancelScope(shield=True):
                await self.aclose()
            raise
        return self

    async def _enter_first(self, cluster: str, informer: Informer) -> None:
        try:
            await self._enter(informer)
        except ClosedError:
            if self._informers.get(cluster) is informer:  # if not, it was removed, and closed, meanwhile
                raise

    async def _enter(self, informer: Informer) -> None:
        await informer.__aenter__()
        self._open.add(informer)
        self._wake_waiters()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with trio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Close all informers: no handler is called any more.

        Async handlers that are running are cancelled and waited for. Safe to call twice. If the call is cancelled, it
        stops waiting for them, but everything is closed.
        """
        self._closed = True
        self._wake_waiters()
        async with trio.open_nursery() as nursery:
            for informer in tuple(self._open):
                nursery.start_soon(informer.aclose)  # closes at once, before its first checkpoint
        await trio.lowlevel.checkpoint()

    async def add(self, cluster: str, informer: Informer) -> None:
        """Add a cluster: enters its informer, with all handlers, and the filter and indexes set on the join.

        Args:
            cluster: its name, which no other cluster of the join has, nor one that is still being removed.
            informer: an informer of its client, not entered yet.

        Raises:
            InvalidInput: the name is taken or not a string, or ``informer`` is no informer.
            ClosedError: the join is closed, the informer was entered before, or its client is not open. Or the cluster
                was removed, or the join closed, before this was complete.
            NoMatch, DiscoveryFailed, TransportError: as for entering the join.
        """
        self._check_open()
        self._check_new(cluster, informer)
        if self._filter is not None:
            informer.set_filter(self._filter[0])
        for name, source in self._indexes.items():
            informer.add_index(name, source)
        for handler in self._handlers:
            handler._attach(cluster, informer)
        self._informers[cluster] = informer
        if not self._entered:
            return await trio.lowlevel.checkpoint()
        try:
            await self._enter(informer)
            self._check_open()
        except BaseException:
            if self._informers.get(cluster) is informer:
                del self._informers[cluster]
            self._wake_waiters()
            await self._close(informer)
            raise

    async def remove(self, cluster: str) -> None:
        """Remove a cluster: handlers get deletions for the objects that they know, then its informer is closed.

        Reads do not show its objects from now on. Returns when the handlers have handled the deletions. So it must not
        be awaited in a handler of any cluster, where it would wait for itself. If it is cancelled, the informer is
        closed at once, and deletions that were not handled are lost. To replace a cluster by another one of the same
        name, add the other one after this has returned. Remove a cluster before its client is closed: after that
        handlers get no deletions.

        Raises:
            InvalidInput: there is no such cluster.
        """
        informer = self._of(cluster)
        del self._informers[cluster]
        self._wake_waiters()
        self._leaving.add(cluster)
        try:
            if informer in self._open:  # if not, handlers have got nothing yet
                await informer._hide_everything(_nothing)
                for handler in tuple(self._handlers):
                    await handler._finish(informer)
        finally:
            try:
                await self._close(informer)
            finally:
                self._leaving.discard(cluster)

    async def _close(self, informer: Informer) -> None:
        for handler in self._handlers:
            handler._detach(informer)
        with trio.CancelScope(shield=True):
            await informer.aclose()
        self._open.discard(informer)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this join is closed; create another one with dynkube.join(...)")

    def _check_new(self, cluster: object, informer: object) -> None:
        if not (isinstance(cluster, str) and cluster):
            raise InvalidInput(f"the name of a cluster is {cluster!r}: pass a string")
        if not isinstance(informer, Informer):
            raise InvalidInput(f"cluster {cluster!r} is {a_type(informer)}: pass client.informer(...), not entered")
        if cluster in self._leaving:
            raise InvalidInput(f"the cluster {cluster!r} is being removed: add another one once remove() has returned")
        if cluster in self._informers:
            raise InvalidInput(f"there is a cluster {cluster!r} in this join already: remove it first")
        if informer in self._informers.values():
            raise InvalidInput(f"the informer of cluster {cluster!r} is that of another one: create one for each")
        informer._check_never_entered()

    def _names(self) -> str:
        return ", ".join(sorted(self._informers)) or "none"

    # ── states ───────────────────────────────────────────────────────────────────────────────

    @property
    def informers(self) -> Mapping[str, Informer]:
        """The current informers by cluster, for example to read their statistics. The join closes them."""
        return dict(self._informers)

    @property
    def states(self) -> Mapping[str, State]:
        """The state of each cluster's informer, by name."""
        return {cluster: informer.state for cluster, informer in self._members()}

    @property
    def state(self) -> State:
        """The state of all together.

        DEGRADED if one is degraded or closed, else SYNCING if one is not listed yet, else LIVE; ABSENT if no cluster
        serves the resource; STOPPED before the join was entered, and when it is closed.
        """
        now = state_of_clusters(self.states)
        if self._closed or not self._entered:
            now = State(Phase.STOPPED, "Closed" if self._closed else "NotEntered")
        self._last = last = next_state(self._last, now.phase, now.reason, now.message)
        return last

    @property
    def has_synced(self) -> bool:
        """Whether each informer has synced. Becomes false when a cluster is added."""
        return self._entered and all(informer.has_synced for _, informer in self._members())

    async def wait_synced(self) -> None:
        """Wait until each informer has synced; also those that are added meanwhile.

        Does not return while there is a cluster that was never reached: put ``trio.fail_after`` around it, and read
        :attr:`states` for the reason. Cancellation only stops the waiting.

        Raises:
            ClosedError: the join was not entered, or an informer or the join was closed.
        """
        if not self._entered:
            raise ClosedError("this join was not entered: use it inside 'async with dynkube.join(...) as joined:'")
        while waiting := [(cluster, each) for cluster, each in self._members() if not each.has_synced]:
            cluster, informer = waiting[0]
            if informer not in self._open:  # it is still to be entered
                self._check_open()
                await self._changed.wait()
                continue
            try:
                await informer.wait_synced()
            except ClosedError:
                if self._informers.get(cluster) is informer:  # if not, it was removed
                    raise
        self._check_open()
        await trio.lowlevel.checkpoint()

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _members(self) -> builtins.list[tuple[str, Informer]]:
        return builtins.list(self._informers.items())

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    def list(
        self, *, cluster: str | None = None, namespace: str | None = None, label_selector: Selector = None
    ) -> builtins.list[ClusterObject]:
        """Return the objects with their clusters, in no particular order.

        Args:
            cluster: only those of this cluster.
            namespace: only those of this namespace.
            label_selector: only those whose labels match.

        Raises:
            InvalidInput: there is no such cluster, or another argument is invalid; see :meth:`Informer.list`.
        """
        members = self._members() if cluster is None else [(cluster, self._of(cluster))]
        return [
            ClusterObject(name, obj)
            for name, informer in members
            for obj in informer.list(namespace=namespace, label_selector=label_selector)
        ]

    def get(self, cluster: str, name: str, *, namespace: str | None = None) -> Unstructured | None:
        """Return one object of a cluster; see :meth:`Informer.get`.

        Raises:
            InvalidInput: there is no such cluster, or the name or the namespace is invalid.
        """
        return self._of(cluster).get(name, namespace=namespace)

    def by_index(self, index: str, value: str) -> builtins.list[ClusterObject]:
        """Return the objects that have ``value`` in ``index``, which each informer must have.

        Raises:
            InvalidInput: an informer has no such index, or the value is not a string.
        """
        return [
            ClusterObject(cluster, obj)
            for cluster, informer in self._members()
            for obj in informer.by_index(index, value)
        ]

    def __len__(self) -> int:
        """The number of objects of all clusters."""
        return sum(len(informer) for _, informer in self._members())

    def __iter__(self) -> Iterator[ClusterObject]:
        return iter(self.list())

    def _of(self, cluster: str) -> Informer:
        informer = self._informers.get(cluster)
        if informer is None:
            raise InvalidInput(f"no cluster {cluster!r} in this join, which has {self._names()}")
        return informer

    # ── handlers, filter and indexes ─────────────────────────────────────────────────────────

    def add_handler(
        self,
        *,
        on_add: OnClusterAdd | None = None,
        on_update: OnClusterUpdate | None = None,
        on_delete: OnClusterDelete | None = None,
        on_error: OnError = "log",
        name: str = "",
    ) -> JoinRegistration:
        """Register functions to be called with changes in all clusters, also those that are added later.

        The functions are ``on_add(cluster, obj)``, ``on_update(cluster, old, new)`` and ``on_delete(cluster, obj)``.
        Everything else is as with :meth:`Informer.add_handler`. They never run concurrently, also for different
        clusters; so a function that waits delays the events of all.

        Raises:
            InvalidInput: no function was given, or an argument is not a function.
            ClosedError: the join is closed.
        """
        self._check_open()
        functions = {"on_add": on_add, "on_update": on_update, "on_delete": on_delete}
        handler = JoinRegistration(functions, on_error, name, self._handlers.remove)
        self._handlers.append(handler)
        for cluster, informer in self._usable():
            handler._attach(cluster, informer)
        return handler

    def _usable(self) -> builtins.list[tuple[str, Informer]]:
        """Return the informers whose client is open: a closed one is reported in the states until it is removed."""
        return [
            (cluster, informer)
            for cluster, informer in self._members()
            if not (informer in self._open and informer.state.phase is Phase.STOPPED)
        ]

    def set_filter(self, filter: Filter | Predicate | None) -> None:  # noqa: A002  # the word users know
        """Replace the filters of all informers, also of those that are added later; see :meth:`Informer.set_filter`.

        If one of them rejects it, all keep theirs.

        Raises:
            InvalidInput: ``filter`` is neither a filter nor a function nor ``None``, or an informer rejects it.
            ClosedError: the join is closed.
        """
        self._check_open()
        new = None if filter is None else as_filter(filter)
        before: builtins.list[tuple[Informer, Filter | None]] = []
        try:
            for _, informer in self._usable():
                before.append((informer, informer.filter))
                informer.set_filter(new)
        except BaseException:
            for informer, old in before[:-1]:
                informer.set_filter(old)
            raise
        self._filter = (new,)

    def add_index(self, name: str, source: str | IndexFunc) -> None:
        """Add an index to all informers, also to those that are added later; see :meth:`Informer.add_index`.

        Raises:
            InvalidInput: the name is not a string, or the source is neither a function nor a valid JSONPath, also for
                informers that have only metadata.
            ClosedError: the join is closed.
        """
        self._check_open()
        informers = [informer for _, informer in self._usable()]
        # Raises before any informer has it.
        index_func(source, metadata_only=any(informer._metadata_only for informer in informers))
        if not isinstance(name, str):
            raise InvalidInput(f"the name of an index is {name!r}: pass a string")
        for informer in informers:
            informer.add_index(name, source)
        self._indexes[name] = source

    def __repr__(self) -> str:
        return printable(f"<Join of {self._names()}: {self.state.phase} objects={len(self)}>")


def join(informers: Mapping[str, Informer] | None = None) -> Join:
    """Join the informers of several clusters to one reader.

    ::

        async with (
            dynkube.connect(context="east") as east,
            dynkube.connect(context="west") as west,
            dynkube.join({"east": east.informer("pods.v1"), "west": west.informer("pods.v1")}) as pods,
        ):
            await pods.wait_synced()
            for cluster, pod in pods.list(): ...

    Does no I/O; use it with ``async with``. The informers may differ in their resources and arguments, for example in
    the version of a CRD.

    Args:
        informers: informers that are not entered yet, by the name of the cluster; more can be added later.

    Raises:
        InvalidInput: a name is not a string, or a value is not an informer.
    """
    given: object = informers  # callers are not always type-checked
    if not isinstance(given or {}, Mapping):
        raise InvalidInput(f"informers is {a_type(given)}: pass {{'name of the cluster': client.informer(...)}}")
    return Join(informers or {})
