"""The base of the machines in this package: a world, and the steps that every script may have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Any, ClassVar, Final, TypeVar

import trio
import trio.lowlevel
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

from tests.informers.kit import quiet
from tests.informers.model.bridge import Bridge
from tests.informers.model.checks import check_always, check_quiet, check_shown
from tests.informers.model.listener import Listener
from tests.informers.model.rights_checks import check_rights
from tests.informers.model.watched import Watched
from tests.informers.model.world import World

T = TypeVar("T")

PLACES: Final = ("default/a", "blue/a", "blue/b", "green/c")
kinds = st.sampled_from(["widgets", "widgets", "widgets", "gadgets", "configmaps"])
plurals = st.sampled_from(["widgets", "widgets", "gadgets"])
places = st.sampled_from(PLACES)
teams = st.sampled_from(["x", "y"])
sizes = st.sampled_from(["small", "big"])
versions = st.sampled_from(["v1", "v1 v2", "v2"])
scopes = st.sampled_from(["Namespaced", "Namespaced", "Cluster"])


class _WithAlways:
    """The rules that a script may use: those that hypothesis has chosen for it, and some that are always enabled."""

    def __init__(self, chosen: Any, machine: type[ScriptedMachine]) -> None:
        self._chosen = chosen
        self._machine = machine

    def is_enabled(self, name: str) -> bool:
        return name in self._machine.always or self._chosen.is_enabled(name)


class ScriptedMachine(RuleBasedStateMachine):
    """Plays steps in a world. Subclasses add how a script begins, and further steps."""

    always: ClassVar[frozenset[str]] = frozenset()
    """The rules that every script may use."""
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Arguments whose plain values of other machines are not values of this one."""

    informers: Bundle[Watched] = Bundle("informer")
    listeners: Bundle[Listener] = Bundle("listener")

    def __init__(self) -> None:
        super().__init__()
        # hypothesis disables half of the rules in each script, on average, which makes scripts differ. Without the
        # rules
        # in ``always``, the others have no effect. There is no public API for this.
        rules: Any = self._rules_strategy
        rules.enabled_rules_strategy = rules.enabled_rules_strategy.map(lambda some: _WithAlways(some, type(self)))
        self._bridge: Bridge[World] | None = None
        self._failed = False
        self.steps = 0
        """The number of rules that were played, without the start."""

    def _play(self, command: Callable[[World], Awaitable[T]]) -> T:
        """Play a step, and check the invariants that hold at every moment."""
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

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(resource=kinds, at=places, team=teams, size=sizes)
    def put(self, resource: str, at: str, team: str, size: str) -> None:
        """Create an object, or write its next state."""
        self._do(lambda world: world.cluster.put(resource, key_of(at), team, size))

    @rule(resource=kinds, team=teams)
    def fill(self, resource: str, team: str) -> None:
        """Create or update an object in each place."""

        def fill(world: World) -> None:
            for at, size in zip(PLACES, ("small", "big", "small", "big"), strict=True):
                world.cluster.put(resource, key_of(at), team, size)

        self._do(fill)

    @rule(resource=kinds, at=places)
    def delete(self, resource: str, at: str) -> None:
        self._do(lambda world: world.cluster.delete(resource, key_of(at)))

    @rule(resource=kinds, at=places, team=teams, size=sizes)
    def replace(self, resource: str, at: str, team: str, size: str) -> None:
        """Delete an object and create another one with its name, before any client can see the deletion."""

        def replace(world: World) -> None:
            world.cluster.delete(resource, key_of(at))
            world.cluster.put(resource, key_of(at), team, size)

        self._do(replace)

    @rule(plural=plurals, served=versions, scope=scopes)
    def define(self, plural: str, served: str, scope: str) -> None:
        """Create a CRD."""
        self._do(lambda world: world.define(plural, served.split(), namespaced=scope == "Namespaced"))

    @rule(plural=plurals, served=versions)
    def serve(self, plural: str, served: str) -> None:
        """Edit a CRD to serve exactly these versions."""
        self._do(lambda world: world.serve(plural, served.split()))

    @rule(plural=plurals, again=st.sampled_from(["never", "at once", "Namespaced", "Cluster"]))
    def undefine(self, plural: str, again: str) -> None:
        """Delete a CRD, and perhaps create it again, with an object, before any client can see the deletion.

        ``at once`` creates it as it was; a scope creates it with that scope and one version.
        """

        def undefine(world: World) -> None:
            before = world.expected_state.crds.get(plural)
            world.cluster.undefine(plural)
            if again == "at once" and before is not None:
                world.define(plural, sorted(before.served), namespaced=before.namespaced)
            elif again != "never":
                world.define(plural, ["v1"], namespaced=again == "Namespaced")
            world.cluster.put(plural, ("blue", "a"), "x", "small")

        self._do(undefine)

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(informer=consumes(informers))
    def close(self, informer: Watched) -> None:
        self._play(lambda world: world.close(informer))

    @rule(listener=consumes(listeners))
    def remove(self, listener: Listener) -> None:
        self._do(lambda world: listener.remove(), moves=False)

    @rule()
    def release(self) -> None:
        """Let the stuck handlers finish their current event; they are stuck again in the next one."""
        self._do(lambda world: world.release(), moves=False)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    @rule(count=st.integers(1, 30))
    def run_steps(self, count: int) -> None:
        """Run some steps of the scheduler without letting time pass."""

        async def run(world: World) -> None:
            for _ in range(count):
                await trio.lowlevel.checkpoint()

        self._play(run)

    @rule()
    def rest(self) -> None:
        """Wait until all tasks wait, without letting time pass; check what is shown, if no fault was injected."""
        self._play(rest)

    @rule()
    def settle(self) -> None:
        """End all faults, wait until everything has come to rest, and check that everything is shown and in order."""
        self._play(settle)

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
            # What a failed world leaves behind would hide the cause.
            with suppress(Exception) if self._failed else nullcontext():
                self._bridge.close()


def key_of(place: str) -> tuple[str, str]:
    namespace, _, name = place.partition("/")
    return namespace, name


async def settle(world: World) -> None:
    """End all faults, wait for the world to be quiet, and check it."""
    world.recover()
    with world.all_released():
        await (check_quiet(world) if world.rights is None else check_rights(world))


async def rest(world: World) -> None:
    """Wait until all tasks wait, without letting time pass; check what is shown, if it needs no time."""
    await quiet()
    if world.undisturbed and world.rights is None:
        check_shown(world)


async def create_initial_objects(world: World) -> None:
    """Create a CRD and some objects."""
    cluster = world.cluster
    cluster.define("widgets", ["v1", "v2"], namespaced=True)
    for resource, place, team, size in (
        ("widgets", "default/a", "x", "small"),
        ("widgets", "blue/b", "y", "big"),
        ("configmaps", "blue/a", "x", "big"),
    ):
        cluster.put(resource, key_of(place), team, size)
    await trio.sleep(5)  # until the CRD is established


async def leave(world: World) -> None:
    """Close every informer."""
    for joined in world.joins:
        await joined.join.aclose()
    for watched in world.open:
        await world.close(watched)
