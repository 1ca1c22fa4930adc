"""Everything that a script acts on: a cluster, a client, its informers and their listeners."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from random import Random

import trio
import trio.lowlevel
import trio.testing

import dynkube
from dynkube import GVR, LabelSelector
from dynkube.discovery._lookup import gvr_to_follow
from dynkube.errors import ClosedError
from dynkube.informers._namespace_set import Namespaces
from dynkube.informers._settings import InjectedSettings
from dynkube_testing import APIServer, Disconnect, Fault, Outage, Refuse, Snapshot
from tests.informers.kit import quiet
from tests.informers.model.cluster import Cluster
from tests.informers.model.expected_state import CUSTOM, GROUP, ExpectedState
from tests.informers.model.faults import LAG, Imposed, end_watches, hide_group, impose
from tests.informers.model.filters import NamedFilters
from tests.informers.model.joined import Joined
from tests.informers.model.ledger import Ledger
from tests.informers.model.listener import Listener
from tests.informers.model.named_faults import EVENT_FAULTS, HISTORY_COMPACTED, OPEN_WATCHES, REQUEST_FAULTS
from tests.informers.model.oracle import Oracle
from tests.informers.model.rights import USER, Rights
from tests.informers.model.watched import CHOSEN, INDEXES, SELECTIONS, SETS, TRANSFORMS, Selection, Watched


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the server and the client of one script behave.

    Attributes:
        streaming: whether the server supports streaming lists.
        established_after: seconds until a new CRD is established.
        aggregated: whether the server supports aggregated discovery.
        breathing: whether the client yields to the event loop wherever it may, as if each bit of work took long.
        rights: whether the user needs rights to read, and sets of namespaces are watched.
        crd_rights: whether the user may read CRDs and APIServices.
        most: the number of namespaces of a set that may be watched at the same time.
        judged: whether events and states are compared with the real history of the server.
    """

    streaming: bool = True
    established_after: float = 0.0
    aggregated: bool = True
    breathing: bool = False
    rights: bool = False
    crd_rights: bool = True
    most: int = 250
    judged: bool = False


class World:
    """The state of a script, and the actions of its rules."""

    def __init__(self, options: Options, server: APIServer, nursery: trio.Nursery) -> None:
        self.options = options
        self.server = server
        self.expected_state = ExpectedState()
        self.filters = NamedFilters(self.expected_state)
        self.cluster = Cluster(server, self.expected_state)
        self.ledger = Ledger(server, self.expected_state)
        self.ledger.advance()
        self.cluster.changed = self.ledger.advance
        self.oracle = Oracle(self.ledger, self.filters) if options.judged else None
        self.rights = Rights(self) if options.rights else None
        self.joins: list[Joined] = []
        self.watched: list[Watched] = []
        self.wrong: list[str] = []
        self.released = trio.Event()
        self.ever_seen = self.cluster.ever_written
        self.moves = 0
        """Counts the changes of the objects that may be shown."""
        self.moves_at_rest = -1
        """The value of ``moves`` when everything had last come to rest."""
        self.disturbed = False
        """Whether a fault was injected since everything had last come to rest."""
        self._backup: tuple[Snapshot, ExpectedState] | None = None
        self._compact_on_recovery = False
        self._faults: list[Fault | Outage] = []
        self._imposed: list[Imposed] = []
        self._hidden_until = -math.inf
        self._nursery = nursery
        self.client: dynkube.Client
        """Set as soon as the client is connected."""

    @property
    def open(self) -> list[Watched]:
        """The informers that were not closed."""
        return [watched for watched in self.watched if not watched.closed]

    # ── informers ────────────────────────────────────────────────────────────────────────────

    async def follow(self, resource: str, selection: str, transform: str, shown: str, early: str) -> Watched:
        """Enter a new informer; ``early`` is the kind of a handler to add before, or ``"none"``."""
        selected = {**SELECTIONS, **SETS}[selection]
        gvr = gvr_to_follow(resource) or GVR.parse(resource)  # without discovery, which may fail now
        informer = self.client.informer(
            gvr,
            namespace=selected.namespace,
            namespaces=self._namespaces(selected),
            label_selector=selected.label_selector,
            field_selector=selected.field_selector,
            transform=TRANSFORMS[transform],
            filter=self.filters.filter(shown),
            indexes=INDEXES,
        )
        watched = Watched(informer=informer, gvr=gvr, selection=selected, transform=transform, shown=shown)
        watched.entered_at = trio.current_time()
        watched.entered = self.ledger.advance()
        watched.filters.append((watched.entered, shown))
        if self.oracle is not None:
            self.oracle.entering(watched)
        if early != "none":
            watched.early = (self.listen(watched, early),)
        await informer.__aenter__()
        self.watched.append(watched)
        self._nursery.start_soon(self._await_synced, watched, self.moves)
        return watched

    def _namespaces(self, selected: Selection) -> Namespaces | None:
        if selected.by_label:
            return LabelSelector.parse(CHOSEN)
        return self.rights.chosen if selected.changing and self.rights is not None else selected.namespaces

    async def join(self, resource: str) -> None:
        """Enter a join of two informers, with an async handler that fails at its first event."""
        gvr = GVR.parse(resource)
        members = {place: self.client.informer(gvr, namespaces=[place]) for place in ("blue", "green")}
        joined = Joined(gvr, dynkube.join(members))
        await joined.join.__aenter__()
        self.joins.append(joined)

    async def close(self, watched: Watched) -> None:
        """Leave an informer."""
        await watched.informer.aclose()
        watched.closed = True
        if self.oracle is not None:
            self.oracle.left(len(self.open))
        for listener in watched.listeners:
            listener.removed = True

    def listen(self, watched: Watched, kind: str) -> Listener:
        """Add a handler, or a consumer of events."""
        listener = Listener(self, watched, kind)
        self._nursery.start_soon(self._await_handled if listener.is_handler else self._consume, listener)
        return listener

    def set_filter(self, watched: Watched, expression: str) -> None:
        """Change a filter; reads change at once."""
        at_rest = self.moves == self.moves_at_rest
        self.moves += 1
        watched.informer.set_filter(self.filters.filter(expression))
        watched.shown = expression
        if at_rest:  # the objects are still at rest, so that who has not synced has to be shown what this filter shows
            self.moves_at_rest = self.moves
            for listener in watched.listeners:
                if listener.is_handler and not listener.handle._task.marked:
                    listener.refiltered = self.moves
        watched.filters.append((self.ledger.advance(), expression))

    def change_letters(self, letters: str) -> None:
        """Change the results of a predicate, and notify its informers."""
        self.moves += 1
        self.filters.letters = letters
        self.filters.named.refresh_filter()

    def add_index(self, watched: Watched, name: str) -> None:
        """Replace an index by a new one."""
        watched.informer.add_index(name, INDEXES[name])

    def release(self) -> None:
        """Let stuck handlers continue with their next event, in which they are stuck again."""
        self.released.set()
        self.released = trio.Event()

    @contextmanager
    def all_released(self) -> Iterator[None]:
        """Let handlers continue with all events."""
        self.released.set()
        try:
            yield
        finally:
            self.released = trio.Event()

    def define(self, plural: str, served: Iterable[str], *, namespaced: bool) -> None:
        """Create a CRD, which may take some time to be served."""
        self.disturbed = self.disturbed or self.options.established_after > 0
        self.cluster.define(plural, served, namespaced=namespaced)

    def serve(self, plural: str, served: Iterable[str]) -> None:
        """Edit a CRD: its watches end, and clients open them again over a spread of time."""
        self.disturbed = True
        self.cluster.serve(plural, served)

    def back_up(self) -> None:
        """Take a backup."""
        self._backup = self.cluster.back_up()

    def restore(self) -> None:
        """Restore the last backup, as with etcdutl's ``--bump-revision``."""
        if self._backup is not None:
            self.disturbed = True
            self.cluster.restore(self._backup, rewind=False)

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    def add_faults(self, faults: Iterable[Fault]) -> None:
        """Record faults, which last until :meth:`recover` at most."""
        self.disturbed = True
        self._faults += faults

    @property
    def undisturbed(self) -> bool:
        """Whether no fault was injected since everything had last come to rest, and no handler is slow."""
        return not self.disturbed and all(
            each.kind not in ("slow", "stuck") for watched in self.open for each in watched.listeners
        )

    def transient_fault(self, what: str, verb: str, times: int) -> None:
        """End open watches, compact the history, or inject a fault into the next requests."""
        self.disturbed = True
        if what in OPEN_WATCHES:
            self.server.end_watches(how=OPEN_WATCHES[what])
        elif what == HISTORY_COMPACTED:
            self.server.compact()
        elif what in EVENT_FAULTS:
            self._faults.append(self.server.inject(EVENT_FAULTS[what](), verb="watch", times=times))
        else:
            self._faults.append(self.server.inject(REQUEST_FAULTS[what](), verb=verb, times=times))

    def lasting_fault(self, how: str) -> None:
        """Inject a fault that lasts until :meth:`recover`."""
        self.disturbed = True
        if how.startswith("everything"):
            self._compact_on_recovery = self._compact_on_recovery or "history" in how
            self._faults.append(self.server.inject(Disconnect("reset")))
            self.server.end_watches(how="reset")
        elif how == "CRDs":
            self._faults.append(self.server.inject(Refuse(403), resource="customresourcedefinitions"))
            self.server.end_watches("customresourcedefinitions")
        elif how == "establishing":
            self._faults += [self.server.hold_definition(f"{plural}.{GROUP}") for plural in CUSTOM]
        else:
            self._faults.append(self.server.inject(Refuse(500), verb={"lists": "list", "watches": "watch"}[how]))

    def impose(self, target: str, effect: str, ending: str) -> Imposed:
        """Begin a fault that lasts until :meth:`lift` or :meth:`recover`."""
        self.disturbed = True
        imposed = impose(self.server, target, effect, ending)
        self._imposed.append(imposed)
        if imposed.outage and self.oracle is not None:
            self.oracle.outage_began(silent=ending == "silent")
        return imposed

    def lift(self, imposed: Imposed) -> None:
        """End a fault of :meth:`impose`, if it has not ended yet."""
        imposed.fault.remove()
        if imposed in self._imposed:
            self._imposed.remove(imposed)
        if self.oracle is not None and not any(other.outage for other in self._imposed):
            self.oracle.outage_ended()

    @contextmanager
    def oracle_paused(self) -> Iterator[None]:
        """Do not compare reports with the history of the server in this block."""
        if self.oracle is None:
            yield
            return
        self.oracle.judging = False
        try:
            yield
        finally:
            self.oracle.judging = True

    def hide_group(self) -> None:
        """Let discovery lag for some seconds, if it has not done so for a while."""
        if trio.current_time() < self._hidden_until + 5 * LAG:
            return  # two lags of one server with nothing in between would prove an absence
        self.disturbed = True
        self._hidden_until = trio.current_time() + LAG
        self._faults += hide_group(self.server)
        if self.oracle is not None:
            self.oracle.hidden()

    def end_watches(self, resource: str, how: str) -> None:
        """End open watches of a resource, or all of them (``"*"``)."""
        self.disturbed = True
        end_watches(self.server, resource, how)

    def compact(self) -> None:
        """Compact the history."""
        self.disturbed = True
        self.server.compact()

    def release_crds(self) -> None:
        """Let new CRDs be established again."""
        for fault in [fault for fault in self._faults if isinstance(fault, Outage)]:
            fault.remove()
            self._faults.remove(fault)

    def recover(self) -> None:
        """End all lasting faults."""
        for fault in self._faults:
            fault.remove()
        self._faults.clear()
        for imposed in tuple(self._imposed):
            self.lift(imposed)
        if self._compact_on_recovery:
            self.server.compact()
            self._compact_on_recovery = False

    # ── checks in the background ─────────────────────────────────────────────────────────────

    async def _consume(self, listener: Listener) -> None:
        with suppress(ClosedError):  # the informer was closed before the first event
            await listener.consume()

    async def _await_handled(self, listener: Listener) -> None:
        moves = self.moves
        if await listener.wait_synced():
            self._expect_shown(listener, moves)

    async def _await_synced(self, watched: Watched, moves: int) -> None:
        with suppress(ClosedError):
            await watched.informer.wait_synced()
            for listener in watched.early:
                if not (listener.removed or listener.handle.has_synced):
                    self.wrong.append(f"has_synced before {listener} has")
                self._expect_shown(listener, moves)

    def _expect_shown(self, listener: Listener, moves: int) -> None:
        """If nothing has changed since before the listener was added, it was shown every object when it has synced."""
        if moves == self.moves == self.moves_at_rest and not listener.removed:
            watched = listener.watched
            expected = set(watched.expected(self.expected_state, self.filters))
            if self.rights is not None:  # without the namespaces that may not be read, or not all at once
                expected = {key for key in expected if key[0] in watched.live_namespaces}
            if listener.folded.keys() != expected:
                self.wrong.append(f"{listener} has synced and was shown {set(listener.folded)} of {set(expected)}")


@asynccontextmanager
async def open_world(options: Options) -> AsyncIterator[World]:
    """A world that must leave nothing behind: no task, no watch, no connection."""
    before = trio.lowlevel.current_statistics().tasks_living
    server = APIServer(
        watch_list=options.streaming,
        aggregated_discovery=options.aggregated,
        establish_delay=options.established_after,
        rbac=options.rights,
        random=Random(1),
    )
    ticks = count()
    settings = InjectedSettings(
        max_namespaces=options.most,
        random=Random(1),
        cpu_clock=(lambda: float(next(ticks))) if options.breathing else lambda: 0.0,
    )
    async with server:
        async with trio.open_nursery() as nursery:
            world = World(options, server, nursery)
            transport = server.transport(user=USER) if options.rights else server.transport()
            observers = [] if world.oracle is None else [world.oracle]
            async with dynkube.connect(transport=transport, settings=settings, observers=observers) as client:
                world.client = client
                yield world
                nursery.cancel_scope.cancel()
        await quiet()
        assert server.open_watches == (), "a watch was left open"
    after = trio.lowlevel.current_statistics().tasks_living
    assert after == before, f"{after - before} tasks were left behind"
