"""The state machine: the possible changes to a cluster and its informers, as rules that hypothesis combines."""

from __future__ import annotations

from functools import partial

import trio
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.informers.model.bridge import Bridge
from tests.informers.model.filters import EXPRESSIONS
from tests.informers.model.listener import KINDS, Listener
from tests.informers.model.named_faults import FAULTS, HISTORY_COMPACTED, LASTING
from tests.informers.model.scripted import ScriptedMachine, create_initial_objects, key_of, kinds, places
from tests.informers.model.watched import SELECTIONS, TRANSFORMS, Watched
from tests.informers.model.world import Options, World, open_world

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
transient_faults = st.one_of(*map(st.sampled_from, FAULTS))
verbs = st.sampled_from(["list", "watch", ""])  # "" means discovery requests


class InformerMachine(ScriptedMachine):
    """See the README in this directory for how it works and how to read its findings."""

    always = frozenset({"put", "fill", "follow", "listen", "rest", "settle", "set_filter", "define"})
    informers = ScriptedMachine.informers
    listeners = ScriptedMachine.listeners

    @initialize(
        target=informers,
        streaming=st.booleans(),
        established_after=st.sampled_from([0.0, 0.0, 3.0]),
        breathing=st.booleans(),
        with_objects=st.booleans(),
        shown=EXPRESSIONS,
        early=st.sampled_from(["plain", "plain", "slow", "stuck"]),
    )
    def start(
        self, streaming: bool, established_after: float, breathing: bool, with_objects: bool, shown: str, early: str
    ) -> Watched:
        """Begin with one informer; if ``with_objects``, with a CRD and some objects."""
        options = Options(streaming=streaming, established_after=established_after, breathing=breathing)
        self._bridge = Bridge(partial(open_world, options))
        if with_objects:
            self._play(create_initial_objects)
        first = self._play(lambda world: world.follow("widgets.v1.example.com", "everything", "usual", shown, early))
        self.steps = 0
        return first

    # ── the cluster ──────────────────────────────────────────────────────────────────────────

    @rule(resource=kinds, at=places)
    def delete_unseen(self, resource: str, at: str) -> None:
        """Delete an object while no watch is connected, and compact the history that contains the deletion."""

        def delete(world: World) -> None:
            world.transient_fault("watches are cut", "", 1)
            world.cluster.delete(resource, key_of(at))
            world.transient_fault(HISTORY_COMPACTED, "", 1)

        self._do(delete)

    @rule(name=st.sampled_from(["blue", "green", "default"]), label=st.sampled_from(["chosen", "none", "gone"]))
    def namespace(self, name: str, label: str) -> None:
        """Label a namespace so that the filter ``chosen`` matches it or not, or delete it; create it if needed."""
        if label == "gone":
            self._do(lambda world: world.cluster.delete_namespace(name))
        else:
            self._do(lambda world: world.cluster.put_namespace(name, chosen=label == "chosen"))

    @rule()
    def back_up(self) -> None:
        """Take a backup for :meth:`restore`."""
        self._do(lambda world: world.back_up(), moves=False)

    @rule()
    def restore(self) -> None:
        """Restore the last backup: objects get older resourceVersions, while revisions continue."""
        self._do(lambda world: world.restore())

    # ── users ────────────────────────────────────────────────────────────────────────────────

    @rule(
        target=informers,
        resource=followed,
        selection=selections,
        transform=transforms,
        shown=EXPRESSIONS,
        early=st.sampled_from(["plain", "plain", "none", "slow", "stuck"]),
    )
    def follow(self, resource: str, selection: str, transform: str, shown: str, early: str) -> Watched:
        """Enter an informer."""
        return self._play(lambda world: world.follow(resource, selection, transform, shown, early))

    @rule(target=listeners, informer=informers, kind=st.sampled_from(KINDS))
    def listen(self, informer: Watched, kind: str) -> Listener:
        """Add a handler, or a consumer of events()."""
        return self._do(lambda world: world.listen(informer, kind), moves=False)

    @rule(informer=informers, shown=EXPRESSIONS)
    def set_filter(self, informer: Watched, shown: str) -> None:
        self._do(lambda world: world.set_filter(informer, shown))

    @rule(letters=st.sampled_from(["ab", "b", "", "abc"]))
    def change_letters(self, letters: str) -> None:
        """Change the results of the predicate in all ``named`` filters."""
        self._do(lambda world: world.change_letters(letters))

    @rule(informer=informers, index=st.sampled_from(["team", "size"]))
    def add_index(self, informer: Watched, index: str) -> None:
        """Replace an index by one that has to be built."""
        self._do(lambda world: world.add_index(informer, index), moves=False)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    @rule(seconds=st.sampled_from([0.3, 2.0, 40.0, 100.0]))
    def wait(self, seconds: float) -> None:
        async def wait(world: World) -> None:
            await trio.sleep(seconds)

        self._play(wait)

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    @rule(what=transient_faults, verb=verbs, times=st.sampled_from([1, 1, 3]))
    def transient_fault(self, what: str, verb: str, times: int) -> None:
        """End open watches in some way, or inject a fault into the next requests."""
        self._do(lambda world: world.transient_fault(what, verb, times))

    @rule(how=st.sampled_from(sorted(LASTING)))
    def lasting_fault(self, how: str) -> None:
        """Inject a fault into all requests of a kind, until :meth:`recover`."""
        self._do(lambda world: world.lasting_fault(how))

    @rule()
    def recover(self) -> None:
        """End all lasting faults."""
        self._do(lambda world: world.recover())
