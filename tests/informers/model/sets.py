"""The state machine about sets of namespaces: rights change, and answers about rights and discovery are wrong."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

import trio
from hypothesis import strategies as st
from hypothesis.stateful import MultipleResults, initialize, multiple, rule

from tests.informers.kit import quiet
from tests.informers.model.availability import wait_for_write
from tests.informers.model.bridge import Bridge
from tests.informers.model.listener import Listener
from tests.informers.model.rights import DENIALS, HALF, NAMES, Rights
from tests.informers.model.rights_checks import NOTICED_BY_REVIEWS, check_noticed
from tests.informers.model.scripted import (
    ScriptedMachine,
    create_initial_objects,
    key_of,
    places,
    sizes,
    teams,
)
from tests.informers.model.watched import Watched
from tests.informers.model.world import Options, World, open_world

_MOST_INFORMERS: Final = 3
followed = st.sampled_from(["configmaps.v1"] * 3 + ["widgets.v1.example.com"] * 3 + ["extras.v1.extra"])
selections = st.sampled_from(["names", "names", "many names", "labels", "changing", "names, team=x"])
shown = st.sampled_from(["all", "all", "team", "~team"])
names = st.sampled_from(NAMES)


class SetMachine(ScriptedMachine):
    """See the README in this directory for how it works and how to read its findings."""

    always: ClassVar[frozenset[str]] = frozenset({"put", "follow", "listen", "wait", "deny", "end_watches"})
    fixed: ClassVar[frozenset[str]] = frozenset({"selection"})
    informers = ScriptedMachine.informers
    listeners = ScriptedMachine.listeners

    @initialize(
        target=informers,
        streaming=st.booleans(),
        breathing=st.booleans(),
        crd_rights=st.booleans(),
        most=st.sampled_from([250, 250, 1, 2]),
        resource=st.sampled_from(["configmaps.v1", "widgets.v1.example.com"]),
        selection=selections,
        early=st.sampled_from(["plain", "plain", "slow"]),
    )
    def start(
        self,
        streaming: bool,
        breathing: bool,
        crd_rights: bool,
        most: int,
        resource: str,
        selection: str,
        early: str,
    ) -> Watched:
        """Begin with a CRD, some objects, rights in two of the three namespaces, and one informer."""
        options = Options(
            streaming=streaming, breathing=breathing, crd_rights=crd_rights, most=most, rights=True, judged=True
        )
        self._bridge = Bridge(partial(open_world, options))
        self._play(_begin)
        first = self._play(lambda world: world.follow(resource, selection, "usual", "all", early))
        self.steps = 0
        return first

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(name=names, chosen=st.booleans())
    def label(self, name: str, chosen: bool) -> None:
        """Add a namespace to the set that is chosen by labels, or remove it."""
        self._do(lambda world: world.cluster.put_namespace(name, chosen=chosen))

    @rule()
    def upgrade(self) -> None:
        """Serve a built-in API that the server did not have before."""
        self._do(lambda world: world.cluster.upgrade())

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=informers,
        resource=followed,
        selection=selections,
        shown=shown,
        early=st.sampled_from(["plain", "plain", "none", "slow"]),
    )
    def follow(self, resource: str, selection: str, shown: str, early: str) -> Watched | MultipleResults[Watched]:
        """Enter an informer of a set, unless enough are open: each causes thousands of reviews."""

        async def follow(world: World) -> Watched | MultipleResults[Watched]:
            if len(world.open) >= _MOST_INFORMERS:
                return multiple()
            return await world.follow(resource, selection, "usual", shown, early)

        return self._play(follow)

    @rule(target=listeners, informer=informers, kind=st.sampled_from(["plain", "slow", "leaving", "leaving", "stream"]))
    def listen(self, informer: Watched, kind: str) -> Listener:
        """Add a handler, or a consumer of events()."""
        return self._do(lambda world: world.listen(informer, kind), moves=False)

    @rule(informer=informers, shown=shown)
    def set_filter(self, informer: Watched, shown: str) -> None:
        self._play(lambda world: _refilter(world, informer, shown))

    @rule(resource=st.sampled_from(["configmaps.v1", "widgets.v1.example.com"]))
    def join(self, resource: str) -> None:
        """Enter a join of two informers, if there is none yet."""

        async def join(world: World) -> None:
            if not world.joins:
                await world.join(resource)

        self._play(join)

    @rule(informer=informers, at=places, team=teams, size=sizes)
    def read_own_write(self, informer: Watched, at: str, team: str, size: str) -> None:
        """Write an object and wait for it."""
        self._play(lambda world: wait_for_write(world, informer, key_of(at), team, size))

    # ── rights ───────────────────────────────────────────────────────────────────────────────

    @rule(name=names)
    def grant(self, name: str) -> None:
        self._with_rights(lambda rights: rights.grant(name))

    @rule(name=names)
    def revoke(self, name: str) -> None:
        self._with_rights(lambda rights: rights.revoke(name))

    @rule(name=names)
    def replace_binding(self, name: str) -> None:
        """Replace a RoleBinding, which is missing for a second."""

        async def replace(world: World) -> None:
            assert world.rights is not None
            await world.rights.replace(name)

        self._play(replace)

    @rule(name=names)
    def toggle(self, name: str) -> None:
        """Add a namespace to the changing set, or remove it."""
        self._with_rights(lambda rights: rights.toggle(name))

    @rule()
    def notice(self) -> None:
        """Wait until changed rights have to be noticed, although some reviews fail."""
        self._play(check_noticed)

    def _with_rights(self, change: object) -> None:
        def act(world: World) -> None:
            assert callable(change)
            change(world.rights)
            world.ledger.advance()

        self._do(act)

    # ── time and faults ──────────────────────────────────────────────────────────────────────

    @rule(seconds=st.sampled_from([0.3, 2.0, 15.0, 40.0, 100.0]))
    def wait(self, seconds: float) -> None:
        async def wait(world: World) -> None:
            await trio.sleep(seconds)

        self._play(wait)

    @rule(what=st.sampled_from(sorted(DENIALS)))
    def deny(self, what: str) -> None:
        """Begin to answer wrongly about rights."""
        self._with_rights(lambda rights: rights.deny(what))

    @rule()
    def allow(self) -> None:
        """End the wrong answers about rights."""
        self._with_rights(Rights.recover)

    @rule()
    def hang_forbidden(self) -> None:
        """Do not respond to lists of forbidden namespaces, or to reviews."""
        self._with_rights(Rights.hang_forbidden)

    @rule()
    def lag(self) -> None:
        """Let the watch cache lag."""
        self._with_rights(Rights.lag)

    @rule(how=st.sampled_from(["once", "for seconds"]))
    def misdiscover(self, how: str) -> None:
        """Leave the group of the CRDs out of one answer of discovery, or of all for some seconds."""
        self._with_rights(lambda rights: rights.misdiscover(how))

    @rule(resource=st.sampled_from(["*", "configmaps", "widgets", "namespaces"]), how=st.sampled_from(["clean", "cut"]))
    def end_watches(self, resource: str, how: str) -> None:
        self._do(lambda world: world.end_watches(resource, how))

    @rule()
    def compact(self) -> None:
        """End all watches and compact the history, so that everything is listed again."""

        def compact(world: World) -> None:
            world.end_watches("*", "cut")
            world.cluster.flash("configmaps")
            world.compact()

        self._do(compact)

    @rule(seconds=st.sampled_from([1.0, 30.0]))
    def restart(self, seconds: float) -> None:
        """Stop the API server, and start it again."""

        async def restart(world: World) -> None:
            world.disturbed = True
            await world.server.restart(seconds)

        self._play(restart)


class RacingSetMachine(SetMachine):
    """The same with races, each of which is several steps that matter together only."""

    informers = ScriptedMachine.informers
    listeners = ScriptedMachine.listeners

    @rule(at=places)
    def delete_between_versions(self, at: str) -> None:
        """Serve the widgets in one version, delete one, and serve them in both versions again."""

        async def delete(world: World) -> None:
            world.serve("widgets", ["v1"])
            await trio.sleep(10)
            world.moves += 1
            world.cluster.delete("widgets", key_of(at))
            await trio.sleep(10)
            world.serve("widgets", ["v1", "v2"])
            await trio.sleep(10)

        self._play(delete)

    @rule(informer=informers, shown=shown, then=shown, pauses=st.integers(0, 12))
    def replace_filter(self, informer: Watched, shown: str, then: str, pauses: int) -> None:
        """Add a handler, replace the filter, and replace it again while the objects are evaluated."""
        self._play(lambda world: _replace_filter(world, informer, (shown, then), pauses))

    @rule(name=names)
    def revoke_while_reviews_fail(self, name: str) -> None:
        """Take a right while half of the reviews fail, and wait until that has to be noticed."""

        async def revoke(world: World) -> None:
            assert world.rights is not None
            world.rights.deny(HALF)
            world.rights.revoke(name)
            world.ledger.advance()
            if world.rights.denial == HALF:  # otherwise other wrong answers are in force
                await check_noticed(world, NOTICED_BY_REVIEWS)

        self._play(revoke)


async def _begin(world: World) -> None:
    assert world.rights is not None
    world.rights.begin()
    for name in ("blue", "default"):
        world.rights.grant(name)
        world.cluster.put_namespace(name, chosen=True)
    await create_initial_objects(world)


async def _replace_filter(world: World, informer: Watched, filters: tuple[str, str], pauses: int) -> None:
    """Check that a handler syncs with what the second filter shows, if both are set without time in between."""
    if informer.closed:
        return
    await quiet()
    listener = world.listen(informer, "plain")
    world.set_filter(informer, filters[0])
    for _ in range(pauses):
        await trio.lowlevel.checkpoint()
    marked = listener.handle._task.marked  # it syncs with what the first filter shows
    world.set_filter(informer, filters[1])
    begun = trio.current_time()
    with trio.move_on_after(0.001):
        if await listener.wait_synced() and not marked and trio.current_time() == begun:
            listed = {obj.key for obj in informer.informer.list()}
            if listener.folded.keys() != listed:
                world.wrong.append(f"{listener} has synced and was shown {set(listener.folded)} of {listed}")


async def _refilter(world: World, informer: Watched, shown: str) -> None:
    world.set_filter(informer, shown)
