"""The state machine: what may happen to a cluster and its informers, as rules that hypothesis strings together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Final, TypeVar

import trio
import trio.lowlevel
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule

from tests.informers.kit import quiet
from tests.informers.model.bridge import Bridge
from tests.informers.model.checks import check_always, check_quiet, check_shown
from tests.informers.model.listener import KINDS, Listener
from tests.informers.model.sights import EXPRESSIONS
from tests.informers.model.trouble import HISTORY_FORGOTTEN, LASTING, TROUBLES
from tests.informers.model.watched import SELECTIONS, TRANSFORMS, Watched
from tests.informers.model.world import Options, World, open_world

T = TypeVar("T")

PLACES: Final = ("default/a", "blue/a", "blue/b", "green/c")
kinds = st.sampled_from(["widgets", "widgets", "widgets", "gadgets", "configmaps"])
plurals = st.sampled_from(["widgets", "widgets", "gadgets"])
places = st.sampled_from(PLACES)
teams = st.sampled_from(["x", "y"])
sizes = st.sampled_from(["small", "big"])
versions = st.sampled_from(["v1", "v1 v2", "v2"])
scopes = st.sampled_from(["Namespaced", "Namespaced", "Cluster"])
followed = st.sampled_from(
    [
        *["widgets.v1.example.com"] * 5,
        "widgets.v2.example.com",
        "gadgets.v1.example.com",
        "phantoms.v1.example.com",
        "configmaps.v1",
        "namespaces.v1",
    ]
)
selections = st.sampled_from(["everything"] * 4 + sorted(set(SELECTIONS) - {"everything"}))
transforms = st.sampled_from(["usual"] * 4 + sorted(set(TRANSFORMS) - {"usual"}))
troubles = st.one_of(*map(st.sampled_from, TROUBLES))
verbs = st.sampled_from(["list", "watch", ""])  # "" is discovery


ALWAYS: Final = {"put", "fill", "follow", "listen", "rest", "settle", "set_filter", "define"}
"""The rules that no script is without."""


class _WithAlways:
    """Which rules a script may use: those that hypothesis has chosen for it, and some in any case."""

    def __init__(self, chosen: Any) -> None:
        self._chosen = chosen

    def is_enabled(self, name: str) -> bool:
        return name in ALWAYS or self._chosen.is_enabled(name)


class InformerMachine(RuleBasedStateMachine):
    """See the README beside this file for how it works and how to read what it finds."""

    informers: Bundle[Watched] = Bundle("informer")
    listeners: Bundle[Listener] = Bundle("listener")

    def __init__(self) -> None:
        super().__init__()
        # hypothesis leaves out half of the rules in each script, on average. That is how scripts come to differ, and
        # without these rules nothing comes of the others. There is no public way to say so.
        rules: Any = self._rules_strategy
        rules.enabled_rules_strategy = rules.enabled_rules_strategy.map(_WithAlways)
        self._bridge: Bridge[World] | None = None
        self._failed = False
        self.steps = 0
        """The rules that were played, the start not counted."""

    def _play(self, command: Callable[[World], Awaitable[T]]) -> T:
        """Play a step, and look at what always has to be so."""
        assert self._bridge is not None

        async def step(world: World) -> T:
            result = await command(world)
            await check_always(world)
            return result

        self.steps += 1
        try:
            return self._bridge.play(step)
        except BaseException:
            self._failed = True
            raise

    def _do(self, action: Callable[[World], T], *, moves: bool = True) -> T:
        async def command(world: World) -> T:
            world.moves += moves
            return action(world)

        return self._play(command)

    @initialize(
        target=informers,
        streaming=st.booleans(),
        established_after=st.sampled_from([0.0, 0.0, 3.0]),
        breathing=st.booleans(),
        furnished=st.booleans(),
        shown=EXPRESSIONS,
        early=st.sampled_from(["plain", "plain", "slow", "stuck"]),
    )
    def start(
        self, streaming: bool, established_after: float, breathing: bool, furnished: bool, shown: str, early: str
    ) -> Watched:
        """Begin with one informer, and with some objects of a CRD already there if it is furnished."""
        options = Options(streaming=streaming, established_after=established_after, breathing=breathing)
        self._bridge = Bridge(partial(open_world, options))
        if furnished:
            self._play(furnish)
        first = self._play(lambda world: world.follow("widgets.v1.example.com", "everything", "usual", shown, early))
        self.steps = 0
        return first

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(resource=kinds, at=places, team=teams, size=sizes)
    def put(self, resource: str, at: str, team: str, size: str) -> None:
        """Create an object, or write its next state."""
        self._do(lambda world: world.cluster.put(resource, _key(at), team, size))

    @rule(resource=kinds, team=teams)
    def fill(self, resource: str, team: str) -> None:
        """Put an object into each place."""

        def fill(world: World) -> None:
            for at, size in zip(PLACES, ("small", "big", "small", "big"), strict=True):
                world.cluster.put(resource, _key(at), team, size)

        self._do(fill)

    @rule(resource=kinds, at=places)
    def delete(self, resource: str, at: str) -> None:
        self._do(lambda world: world.cluster.delete(resource, _key(at)))

    @rule(resource=kinds, at=places)
    def delete_unseen(self, resource: str, at: str) -> None:
        """Delete an object while nobody is connected, and forget the history that tells of it."""

        def delete(world: World) -> None:
            world.spoil("watches are cut", "", 1)
            world.cluster.delete(resource, _key(at))
            world.spoil(HISTORY_FORGOTTEN, "", 1)

        self._do(delete)

    @rule(resource=kinds, at=places, team=teams, size=sizes)
    def replace(self, resource: str, at: str, team: str, size: str) -> None:
        """Delete an object and create another one of its name, before anybody has seen it go."""

        def replace(world: World) -> None:
            world.cluster.delete(resource, _key(at))
            world.cluster.put(resource, _key(at), team, size)

        self._do(replace)

    @rule(plural=plurals, served=versions, scope=scopes)
    def define(self, plural: str, served: str, scope: str) -> None:
        """Create a CRD."""
        self._do(lambda world: world.define(plural, served.split(), namespaced=scope == "Namespaced"))

    @rule(plural=plurals, served=versions)
    def serve(self, plural: str, served: str) -> None:
        """Edit a CRD, so that it serves these versions."""
        self._do(lambda world: world.serve(plural, served.split()))

    @rule(plural=plurals, again=st.sampled_from(["never", "at once", "Namespaced", "Cluster"]))
    def undefine(self, plural: str, again: str) -> None:
        """Delete a CRD, and perhaps create it again, with an object, before anybody has seen it go.

        It comes back ``at once`` as it was, or with one version and this scope.
        """

        def undefine(world: World) -> None:
            before = world.truth.definitions.get(plural)
            world.cluster.undefine(plural)
            if again == "at once" and before is not None:
                world.define(plural, sorted(before.served), namespaced=before.namespaced)
            elif again != "never":
                world.define(plural, ["v1"], namespaced=again == "Namespaced")
            world.cluster.put(plural, ("blue", "a"), "x", "small")

        self._do(undefine)

    @rule(name=st.sampled_from(["blue", "green", "default"]), label=st.sampled_from(["chosen", "none", "gone"]))
    def namespace(self, name: str, label: str) -> None:
        """Label a namespace, so that filters choose it or not, or delete it; create it if there is none."""
        if label == "gone":
            self._do(lambda world: world.cluster.delete_namespace(name))
        else:
            self._do(lambda world: world.cluster.put_namespace(name, chosen=label == "chosen"))

    @rule()
    def back_up(self) -> None:
        """Keep what the cluster holds, for :meth:`restore`."""
        self._do(lambda world: world.back_up(), moves=False)

    @rule()
    def restore(self) -> None:
        """Have the cluster hold what was kept last: objects come back in older versions, and revisions go on."""
        self._do(lambda world: world.restore())

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=informers,
        resource=followed,
        selection=selections,
        transform=transforms,
        shown=EXPRESSIONS,
        early=st.sampled_from(["plain", "plain", "nobody", "slow", "stuck"]),
    )
    def follow(self, resource: str, selection: str, transform: str, shown: str, early: str) -> Watched:
        """Enter an informer."""
        return self._play(lambda world: world.follow(resource, selection, transform, shown, early))

    @rule(informer=consumes(informers))
    def close(self, informer: Watched) -> None:
        self._play(lambda world: world.close(informer))

    @rule(target=listeners, informer=informers, kind=st.sampled_from(KINDS))
    def listen(self, informer: Watched, kind: str) -> Listener:
        """Add a handler, or a consumer of events()."""
        return self._do(lambda world: world.listen(informer, kind), moves=False)

    @rule(listener=consumes(listeners))
    def remove(self, listener: Listener) -> None:
        self._do(lambda world: listener.remove(), moves=False)

    @rule(informer=informers, shown=EXPRESSIONS)
    def set_filter(self, informer: Watched, shown: str) -> None:
        self._do(lambda world: world.set_filter(informer, shown))

    @rule(letters=st.sampled_from(["ab", "b", "", "abc"]))
    def change_letters(self, letters: str) -> None:
        """Have the predicate of all ``named`` filters answer otherwise."""
        self._do(lambda world: world.change_letters(letters))

    @rule(informer=informers, index=st.sampled_from(["team", "size"]))
    def add_index(self, informer: Watched, index: str) -> None:
        """Replace an index by one that has to be built."""
        self._do(lambda world: world.add_index(informer, index), moves=False)

    @rule()
    def release(self) -> None:
        """Let handlers that are stuck return, until they are stuck in their next event."""
        self._do(lambda world: world.release(), moves=False)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    @rule(count=st.integers(1, 30))
    def run_steps(self, count: int) -> None:
        """Let tasks run for some steps of the scheduler, while no time passes."""

        async def run(world: World) -> None:
            for _ in range(count):
                await trio.lowlevel.checkpoint()

        self._play(run)

    @rule(seconds=st.sampled_from([0.3, 2.0, 40.0, 100.0]))
    def wait(self, seconds: float) -> None:
        async def wait(world: World) -> None:
            await trio.sleep(seconds)

        self._play(wait)

    @rule()
    def rest(self) -> None:
        """Let all tasks come to rest without time passing, and look, if no trouble was made since things were quiet."""
        self._play(rest)

    @rule()
    def settle(self) -> None:
        """End all trouble, wait until everything has come to rest, and look whether all is as it should be."""
        self._play(settle)

    # ── trouble ──────────────────────────────────────────────────────────────────────────────

    @rule(what=troubles, verb=verbs, times=st.sampled_from([1, 1, 3]))
    def spoil(self, what: str, verb: str, times: int) -> None:
        """Let something happen to open watches, or to the next requests."""
        self._do(lambda world: world.spoil(what, verb, times))

    @rule(how=st.sampled_from(sorted(LASTING)))
    def lose(self, how: str) -> None:
        """Let something happen to all requests of a kind, until :meth:`recover`."""
        self._do(lambda world: world.lose(how))

    @rule()
    def recover(self) -> None:
        """End the trouble that would go on."""
        self._do(lambda world: world.recover())

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        if self._bridge is None:
            return
        try:
            if not self._failed:
                self._play(settle)
                self._play(leave)
                self.steps -= 2
        finally:
            # What a world that has failed leaves behind would only hide why.
            with suppress(Exception) if self._failed else nullcontext():
                self._bridge.close()


def _key(place: str) -> tuple[str, str]:
    namespace, _, name = place.partition("/")
    return namespace, name


async def settle(world: World) -> None:
    """End all trouble, come to rest, and look."""
    world.recover()
    with world.nobody_stuck():
        await check_quiet(world)


async def rest(world: World) -> None:
    """Come to rest without waiting, and look at what needs no time."""
    await quiet()
    if world.untroubled:
        check_shown(world)


async def furnish(world: World) -> None:
    """Put some objects into the cluster."""
    cluster = world.cluster
    cluster.define("widgets", ["v1", "v2"], namespaced=True)
    for resource, place, team, size in (
        ("widgets", "default/a", "x", "small"),
        ("widgets", "blue/b", "y", "big"),
        ("configmaps", "blue/a", "x", "big"),
    ):
        cluster.put(resource, _key(place), team, size)
    await trio.sleep(5)  # until it is established


async def leave(world: World) -> None:
    """Close every informer."""
    for watched in world.open:
        await world.close(watched)
