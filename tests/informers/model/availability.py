"""The state machine about availability: resources and revisions change while lasting faults are in force.

It has fewer steps than the other machine, chosen where availability and history are decided; the reports of handlers
and states are compared with the real history of the server (``oracle.py``).
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, TypeAlias

import trio
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, rule

from dynkube import Unstructured
from dynkube.errors import InvalidInput
from dynkube.meta._object import Key
from dynkube_testing import Snapshot
from tests.informers.kit import quiet
from tests.informers.model.bridge import Bridge
from tests.informers.model.checks import check_bounds
from tests.informers.model.expected_state import CUSTOM, ExpectedState
from tests.informers.model.faults import EFFECTS, ENDINGS, TARGETS, Imposed
from tests.informers.model.listener import Listener
from tests.informers.model.scripted import ScriptedMachine, create_initial_objects, key_of, places, sizes, teams
from tests.informers.model.watched import SELECTIONS, Watched
from tests.informers.model.world import Options, World, open_world

Backup: TypeAlias = tuple[Snapshot, ExpectedState]

_UNTIL_NOTICED = 700.0  # seconds; longer than any watch
_LOST_CHANGES = 10  # more revisions than a restored backup is followed by
_MANY = 10  # namespaces: more than there are
_WAIT_TIMEOUT = 20.0  # seconds that a wait for a write may take; faults may delay the object
kinds = st.sampled_from(["widgets"] * 4 + ["gadgets", "configmaps", "gauges"])
followed = st.sampled_from(
    [
        *["widgets.v1.example.com"] * 5,
        "widgets.v2.example.com",
        *["widgets.example.com"] * 2,
        "gadgets.v1.example.com",
        "phantoms.v1.example.com",
        "gauges.v1.metrics.test",
        "gauges.metrics.test",
        "configmaps.v1",
    ]
)
shown = st.sampled_from(["all", "all", "all", "team", "~team"])


class AvailabilityMachine(ScriptedMachine):
    """See the README in this directory for how it works and how to read its findings."""

    always: ClassVar[frozenset[str]] = frozenset({"put", "fill", "wait", "settle", "define", "impose", "lift"})
    informers = ScriptedMachine.informers
    listeners = ScriptedMachine.listeners
    faults: Bundle[Imposed] = Bundle("fault")
    backups: Bundle[Backup] = Bundle("backup")

    @initialize(
        target=informers,
        streaming=st.booleans(),
        established_after=st.sampled_from([0.0, 0.0, 3.0]),
        aggregated=st.booleans(),
        with_objects=st.booleans(),
        early=st.sampled_from(["plain", "plain", "slow", "stuck"]),
    )
    def start(
        self, streaming: bool, established_after: float, aggregated: bool, with_objects: bool, early: str
    ) -> Watched:
        """Begin with one informer; if ``with_objects``, with a CRD and some objects."""
        options = Options(streaming=streaming, established_after=established_after, aggregated=aggregated, judged=True)
        self._bridge = Bridge(partial(open_world, options))
        if with_objects:
            self._play(create_initial_objects)
        first = self._play(lambda world: world.follow("widgets.v1.example.com", "everything", "usual", "all", early))
        self.steps = 0
        return first

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(resource=kinds, count=st.sampled_from([5, 60]))
    def churn(self, resource: str, count: int) -> None:
        """Create ``count`` objects of new names, and delete each at once."""

        async def churn(world: World) -> None:
            world.moves += 1
            for _ in range(count):
                world.cluster.flash(resource)
            await quiet()
            check_bounds(world)

        self._play(churn)

    @rule(there=st.booleans())
    def aggregate(self, there: bool) -> None:
        """Start or stop serving an API without a CRD."""

        def aggregate(world: World) -> None:
            world.disturbed = True  # discovery is polled for it
            world.cluster.aggregate(served=there)

        self._do(aggregate)

    @rule(target=backups)
    def back_up(self) -> Backup:
        """Take a backup."""
        return self._do(lambda world: world.cluster.back_up(), moves=False)

    @rule(backup=backups)
    def restore(self, backup: Backup) -> None:
        """Restore a backup; revisions continue, as with etcdutl's ``--bump-revision``."""

        def restore(world: World) -> None:
            world.disturbed = True
            world.cluster.restore(backup, rewind=False)

        self._do(restore)

    @rule(backup=backups)
    def rewind(self, backup: Backup) -> None:
        """Restore a backup and count revisions from there, so that resourceVersions are used a second time.

        A client can notice this only while the server's revision is lower than the last one it has seen. So this step
        ends all faults, writes more revisions before the restore than will follow it, and lasts until the client has
        noticed; meanwhile reports are not judged.
        """

        async def rewind(world: World) -> None:
            world.moves += 1
            world.disturbed = True
            world.recover()
            for _ in range(_LOST_CHANGES):
                world.cluster.flash("configmaps")
            await trio.sleep(_UNTIL_NOTICED)  # bookmarks carry the server's revision
            with world.oracle_paused():
                world.cluster.restore(backup, rewind=True)
                await trio.sleep(_UNTIL_NOTICED)

        self._play(rewind)

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=informers,
        resource=followed,
        selection=st.sampled_from(["everything"] * 4 + sorted(set(SELECTIONS) - {"everything"})),
        shown=shown,
        early=st.sampled_from(["plain", "plain", "none", "slow", "stuck"]),
    )
    def follow(self, resource: str, selection: str, shown: str, early: str) -> Watched:
        """Enter an informer."""
        return self._play(lambda world: world.follow(resource, selection, "usual", shown, early))

    @rule(target=listeners, informer=informers, kind=st.sampled_from(["plain", "slow", "stuck", "stream"]))
    def listen(self, informer: Watched, kind: str) -> Listener:
        """Add a handler, or a consumer of events()."""
        return self._do(lambda world: world.listen(informer, kind), moves=False)

    @rule(informer=informers, shown=shown)
    def set_filter(self, informer: Watched, shown: str) -> None:
        self._do(lambda world: world.set_filter(informer, shown))

    @rule(informer=informers, at=places, team=teams, size=sizes, crd=st.sampled_from(["before", "before", "with it"]))
    def read_own_write(self, informer: Watched, at: str, team: str, size: str, crd: str = "before") -> None:
        """Write an object and wait for it; afterwards the informer has it, unless it never came.

        With ``crd="with it"`` the CRD is created just before, as from one manifest, and its watch event comes late.
        """

        async def write(world: World) -> None:
            world.moves += 1
            plural = informer.gvr.resource
            if crd == "with it" and plural in CUSTOM and plural not in world.expected_state.crds:
                world.end_watches("customresourcedefinitions", "clean")
                world.define(plural, ["v1"], namespaced=True)
            await wait_for_write(world, informer, key_of(at), team, size)

        self._play(write)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    @rule(seconds=st.sampled_from([0.3, 2.0, 15.0, 40.0, 100.0, 700.0, 3600.0]))
    def wait(self, seconds: float) -> None:
        async def wait(world: World) -> None:
            await trio.sleep(seconds)

        self._play(wait)

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    @rule(
        target=faults,
        struck=st.sampled_from(["widgets", "CRDs", "CRDs", "everything", *sorted(TARGETS)]),
        effect=st.sampled_from(["403", "404", *sorted(EFFECTS)]),
        ending=st.sampled_from(ENDINGS),
    )
    def impose(self, struck: str, effect: str, ending: str) -> Imposed:
        """Begin a lasting fault."""
        return self._do(lambda world: world.impose(struck, effect, ending))

    @rule(fault=consumes(faults))
    def lift(self, fault: Imposed) -> None:
        self._do(lambda world: world.lift(fault))

    @rule()
    def recover(self) -> None:
        """End all faults."""
        self._do(lambda world: world.recover())

    @rule()
    def discovery_lags(self) -> None:
        """Let discovery leave out the group of the CRDs for some seconds."""
        self._do(lambda world: world.hide_group())

    @rule(resource=st.sampled_from(["*", "customresourcedefinitions", "widgets"]), how=st.sampled_from(ENDINGS[:3]))
    def end_watches(self, resource: str, how: str) -> None:
        self._do(lambda world: world.end_watches(resource, how))

    @rule()
    def compact(self) -> None:
        """Compact the history: a watch that resumes from an earlier revision gets 410."""
        self._do(lambda world: world.compact())

    @rule(seconds=st.sampled_from([1.0, 30.0]))
    def restart(self, seconds: float) -> None:
        """Stop the API server, and start it again."""

        async def restart(world: World) -> None:
            world.disturbed = True
            await world.server.restart(seconds)

        self._play(restart)

    @rule(how=st.sampled_from(["hold", "release"]))
    def establishing(self, how: str) -> None:
        """Keep new CRDs from being established, or release them."""
        self._do(lambda world: world.lasting_fault("establishing") if how == "hold" else world.release_crds())


def _left(world: World, watched: Watched, place: str, begin: int) -> bool:
    """Return whether a namespace is not in the set of ``watched`` that could be read all the time since ``begin``."""
    rights = world.rights
    return rights is not None and place not in rights.ledger.readable_since(watched, begin)


async def wait_for_write(world: World, watched: Watched, key: Key, team: str, size: str) -> None:
    """Write an object, if its resource is served, and wait for it."""
    world.moves += 1
    stored = world.cluster.put_as(watched.gvr, key, team, size)
    if stored is not None:
        await _wait_for(world, watched, Unstructured(dict(stored)))


async def _wait_for(world: World, watched: Watched, written: Unstructured) -> None:
    """Wait for a write, but not without a limit, and check that it is there."""
    begin = world.ledger.advance()
    with trio.move_on_after(_WAIT_TIMEOUT) as waiting:
        try:
            await watched.informer.wait_for(written)
        except InvalidInput:
            stored = world.expected_state.objects[watched.gvr.resource][written.key]
            if watched.selection.by_label:
                return  # the client may not have seen yet that the namespace was labelled
            selected = watched.selection.selects(stored) and not _left(world, watched, stored.key[0], begin)
            assert not selected, f"{written!r} is within the selectors, and was rejected"
            return
    expected = watched.expected(world.expected_state, world.filters).get(written.key)
    world.ledger.advance()
    if waiting.cancelled_caught or expected is None or world.ledger.was_missing(watched, begin):
        return  # objects can be written to a CRD that is not established yet, while it still counts as absent
    if world.rights is not None and (_left(world, watched, written.namespace, begin) or world.options.most < _MANY):
        return
    found = watched.informer.get(written.name, namespace=written.namespace or None)
    assert found is not None, f"waited for {written!r}, and it is not there: {watched.gvr} is {watched.informer.state}"
    assert (found.uid, found.resource_version) == (written.uid, written.resource_version), (
        f"{found!r} is another version"
    )
