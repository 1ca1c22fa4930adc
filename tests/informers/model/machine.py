"""The state machine: what may happen to a cluster and its informers, as rules that hypothesis strings together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Final, Literal, TypeVar

import trio
import trio.lowlevel
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule

from tests.informers.model.bridge import Bridge
from tests.informers.model.checks import check_always, check_quiet
from tests.informers.model.listener import KINDS, Listener
from tests.informers.model.sights import EXPRESSIONS
from tests.informers.model.truth import CUSTOM
from tests.informers.model.watched import SELECTIONS, TRANSFORMS, Watched
from tests.informers.model.world import Options, World, open_world

T = TypeVar("T")

RESOURCES: Final = (
    "widgets.v1.example.com",
    "widgets.v2.example.com",
    "gadgets.v1.example.com",
    "phantoms.v1.example.com",
    "configmaps.v1",
    "namespaces.v1",
)
kinds = st.sampled_from(["widgets", "widgets", "gadgets", "configmaps"])
plurals = st.sampled_from(CUSTOM)
places = st.sampled_from(["default/a", "default/b", "blue/a", "blue/b", "blue/c", "green/a"])
teams = st.sampled_from(["x", "y"])
sizes = st.sampled_from(["small", "big"])
versions = st.sampled_from(["v1", "v1 v2", "v2"])
scopes = st.sampled_from(["Namespaced", "Namespaced", "Cluster"])


class InformerMachine(RuleBasedStateMachine):
    """See the README beside this file for how it works and how to read what it finds."""

    informers: Bundle[Watched] = Bundle("informer")
    listeners: Bundle[Listener] = Bundle("listener")

    def __init__(self) -> None:
        super().__init__()
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

    @initialize(streaming=st.booleans(), established_after=st.sampled_from([0.0, 0.0, 3.0]), breathing=st.booleans())
    def start(self, streaming: bool, established_after: float, breathing: bool) -> None:
        options = Options(streaming=streaming, established_after=established_after, breathing=breathing)
        self._bridge = Bridge(partial(open_world, options))

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(resource=kinds, at=places, team=teams, size=sizes)
    def put(self, resource: str, at: str, team: str, size: str) -> None:
        """Create an object, or write its next state."""
        self._do(lambda world: world.cluster.put(resource, _key(at), team, size))

    @rule(resource=kinds, at=places)
    def delete(self, resource: str, at: str) -> None:
        self._do(lambda world: world.cluster.delete(resource, _key(at)))

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
        self._do(lambda world: world.cluster.define(plural, served.split(), namespaced=scope == "Namespaced"))

    @rule(plural=plurals, served=versions)
    def serve(self, plural: str, served: str) -> None:
        """Edit a CRD, so that it serves these versions."""
        self._do(lambda world: world.cluster.serve(plural, served.split()))

    @rule(plural=plurals)
    def undefine(self, plural: str) -> None:
        """Delete a CRD."""
        self._do(lambda world: world.cluster.undefine(plural))

    @rule(plural=plurals, served=versions, scope=scopes, at=places)
    def redefine(self, plural: str, served: str, scope: str, at: str) -> None:
        """Delete a CRD and create it again, with an object, before anybody has seen it go."""

        def redefine(world: World) -> None:
            world.cluster.undefine(plural)
            world.cluster.define(plural, served.split(), namespaced=scope == "Namespaced")
            world.cluster.put(plural, _key(at), "x", "small")

        self._do(redefine)

    @rule(name=st.sampled_from(["blue", "green", "default"]), chosen=st.booleans())
    def choose(self, name: str, chosen: bool) -> None:
        """Label a namespace, so that filters choose it or not; create it if there is none."""
        self._do(lambda world: world.cluster.put_namespace(name, chosen=chosen))

    @rule(name=st.sampled_from(["blue", "green"]))
    def delete_namespace(self, name: str) -> None:
        self._do(lambda world: world.cluster.delete_namespace(name))

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=informers,
        resource=st.sampled_from(RESOURCES),
        selection=st.sampled_from(sorted(SELECTIONS)),
        transform=st.sampled_from(["usual", *TRANSFORMS]),
        shown=EXPRESSIONS,
        early=st.sampled_from(["plain", "nobody", "slow", "stuck"]),
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
    def settle(self) -> None:
        """End all trouble, wait until everything has come to rest, and look whether all is as it should be."""
        self._play(settle)

    # ── trouble ──────────────────────────────────────────────────────────────────────────────

    @rule(how=st.sampled_from(["clean", "cut", "silent"]))
    def end_watches(self, how: Literal["clean", "cut", "silent"]) -> None:
        self._do(lambda world: world.server.end_watches(how=how))

    @rule()
    def compact(self) -> None:
        """Forget history: who comes back gets 410."""
        self._do(lambda world: world.server.compact())

    @rule(
        status=st.sampled_from([401, 403, 404, 410, 429, 500, 503]),
        verb=st.sampled_from(["list", "watch"]),
        times=st.sampled_from([1, 3, None]),
    )
    def fail(self, status: int, verb: str, times: int | None) -> None:
        self._do(lambda world: world.trouble(status=status, verb=verb, times=times))

    @rule()
    def disconnect(self) -> None:
        """Refuse everything and end every watch, until :meth:`recover`."""
        self._do(lambda world: world.disconnect())

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


async def leave(world: World) -> None:
    """Close every informer."""
    for watched in world.open:
        await world.close(watched)
