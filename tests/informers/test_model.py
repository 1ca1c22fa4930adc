"""Whatever happens to a cluster and its informers: once things are quiet, everybody was told the truth, legally.

Each example is a script of things that happen, run in virtual time. Most happen without a pause between them, some
after a few steps of the scheduler or some seconds, so that they meet lists, watches and handlers half-way.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any, Literal, TypeAlias

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

import dynkube
from dynkube import ABSENT, LIVE, Filter, Informer, LabelFilter, NamespaceFilter, PredicateFilter, Unstructured
from dynkube.errors import APIError, NoMatch
from dynkube.meta import Key
from dynkube.testing import APIServer
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, crd, namespace, quiet, widget

Step: TypeAlias = tuple[str, Any]

NAMES = st.sampled_from(["a", "b", "c"])
SPACES = st.sampled_from(["default", "other"])
TEAMS = st.sampled_from(["x", "y"])
FILTERS = ["all", "team=x", "team=x & chosen", "~chosen", "predicate"]
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("put"), st.tuples(NAMES, SPACES, TEAMS)),
    st.tuples(st.just("put"), st.tuples(NAMES, SPACES, TEAMS)),
    st.tuples(st.just("delete"), st.tuples(NAMES, SPACES)),
    st.tuples(st.just("replace"), st.tuples(NAMES, SPACES, TEAMS)),
    st.tuples(st.just("put"), st.tuples(NAMES, SPACES, TEAMS)),
    st.tuples(st.just("serve"), st.sampled_from([["v1"], ["v1", "v2"], ["v1", "v2"], ["v2"]])),
    st.tuples(st.just("undefine"), st.none()),
    st.tuples(st.just("redefine"), st.none()),
    st.tuples(st.just("choose namespace"), st.tuples(SPACES, st.booleans())),
    st.tuples(st.just("change predicate"), st.sampled_from(["abc", "b", ""])),
    st.tuples(st.just("filter"), st.sampled_from(FILTERS)),
    st.tuples(st.just("add handler"), st.sampled_from([None, 0.0, 7.0])),
    st.tuples(st.just("remove handler"), st.integers(0, 3)),
    st.tuples(st.just("end watches"), st.sampled_from(["clean", "cut", "silent"])),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(
        st.just("fail"), st.tuples(st.sampled_from([403, 404, 410, 429, 500]), st.sampled_from(["list", "watch"]))
    ),
    st.tuples(st.just("schedule"), st.integers(1, 30)),
    st.tuples(st.just("sleep"), st.sampled_from([0.3, 2.0, 40.0])),
    st.tuples(st.just("check"), st.none()),
)

BEFORE: list[Step] = [("serve", ["v1"]), ("put", ("a", "default", "x")), ("put", ("b", "other", "y"))]


class World:
    """A cluster, two informers that share a cache, and what should be seen of it."""

    def __init__(self, server: APIServer, free: Informer, filtered: Informer) -> None:
        self.server, self.free, self.filtered = server, free, filtered
        self.letters = "b"
        self.predicate = PredicateFilter(lambda obj: obj.name in self.letters)
        self.shown = "all"
        self.subscriptions = {free: [Subscription(free, None)], filtered: [Subscription(filtered, None)]}

    async def take(self, step: Step) -> None:
        what, arg = step
        if what == "check":
            await self.check()
        elif what == "schedule":
            for _ in range(arg):
                await trio.lowlevel.checkpoint()
        elif what == "sleep":
            await trio.sleep(arg)
        else:
            # What the cluster refuses (no such kind now, no such object) did not happen.
            with suppress(APIError, NoMatch):
                getattr(self, what.replace(" ", "_"))(arg)

    # ── what happens in the cluster ──────────────────────────────────────────────────────────

    def put(self, arg: tuple[str, str, str]) -> None:
        name, where, team = arg
        obj = widget(name, where, {"team": team}) | {"apiVersion": "example.com/" + self.served()[0]}
        try:
            self.server.create(obj)
        except APIError:
            self.server.update(obj | {"spec": {"at": self.server.revision}})

    def delete(self, arg: tuple[str, str]) -> None:
        self.server.delete("widgets", *arg)

    def replace(self, arg: tuple[str, str, str]) -> None:
        self.delete(arg[:2])
        self.put(arg)

    def served(self) -> list[str]:
        try:
            definition: Any = self.server.get(CRDS, "widgets.example.com")
        except APIError:
            return ["v1"]
        return [version["name"] for version in definition["spec"]["versions"] if version["served"]]

    def serve(self, versions: list[str]) -> None:
        definition = crd(served=["v1", "v2"])
        for version in definition["spec"]["versions"]:
            version["served"] = version["name"] in versions
        try:
            self.server.create(definition)
        except APIError:
            self.server.update(definition)

    def undefine(self, arg: None) -> None:
        self.server.delete(CRDS, "widgets.example.com")

    def redefine(self, arg: None) -> None:
        self.undefine(None)
        self.serve(["v1"])

    def choose_namespace(self, arg: tuple[str, bool]) -> None:
        self.server.update(namespace(arg[0], {"chosen": "yes"} if arg[1] else {}))

    def end_watches(self, how: Literal["clean", "cut", "silent"]) -> None:
        self.server.end_watches(how=how)

    def compact(self, arg: None) -> None:
        self.server.compact()

    def fail(self, arg: tuple[int, str]) -> None:
        self.server.fail(status=arg[0], verb=arg[1], times=2)

    # ── what users do ────────────────────────────────────────────────────────────────────────

    def filter(self, which: str) -> None:
        chosen, team = NamespaceFilter("chosen=yes"), LabelFilter("team=x")
        filters: dict[str, Filter | None] = {
            "all": None,
            "team=x": team,
            "team=x & chosen": team & chosen,
            "~chosen": ~chosen,
            "predicate": self.predicate,
        }
        self.shown = which
        self.filtered.set_filter(filters[which])

    def change_predicate(self, letters: str) -> None:
        self.letters = letters
        self.predicate.notify_changed()

    def add_handler(self, pause: float | None) -> None:
        self.subscriptions[self.filtered].append(Subscription(self.filtered, pause))

    def remove_handler(self, which: int) -> None:
        for subscription in self.subscriptions[self.filtered][which : which + 1]:
            subscription.handle.remove()

    # ── what should be so ────────────────────────────────────────────────────────────────────

    async def check(self) -> None:
        await trio.sleep(700)  # longer than silence, any backoff and any watch
        await quiet()
        truth = self.truth()
        for informer in (self.free, self.filtered):
            expected = truth if informer is self.free else {k: v for k, v in truth.items() if self.visible(v)}
            listed = {obj.key: obj for obj in informer.list()}
            assert {k: (o.uid, o.resource_version) for k, o in listed.items()} == {
                k: (o.uid, o.resource_version) for k, o in expected.items()
            }
            assert informer.state.phase in (LIVE, ABSENT)
            assert informer.has_synced
            for value in ("x", "y"):
                found = {obj.key for obj in informer.by_index("team", value)}
                assert found == {key for key, obj in listed.items() if obj.labels.get("team") == value}
            for subscription in self.subscriptions[informer]:
                assert subscription.wrong == []
                assert subscription.handle_closed or subscription.folded == listed
        watched = [watch.resource for watch in self.server.open_watches]
        assert len(watched) == len(set(watched)), "one watch for each resource, however many users"

    def truth(self) -> dict[Key, Unstructured]:
        try:
            listed: Any = self.server.list(dynkube.GVR("example.com", "v1", "widgets"))
        except (APIError, NoMatch):
            return {}
        items = listed["items"] if isinstance(listed, dict) else listed
        return {obj.key: obj for obj in map(Unstructured, items)}

    def visible(self, obj: Unstructured) -> bool:
        labels: Any = self.server.get("namespaces", obj.namespace)["metadata"]
        chosen = (labels.get("labels") or {}).get("chosen") == "yes"
        team = obj.labels.get("team") == "x"
        return {
            "all": True,
            "team=x": team,
            "team=x & chosen": team and chosen,
            "~chosen": not chosen,
            "predicate": obj.name in self.letters,
        }[self.shown]


async def play(script: list[Step], *, defined: bool, streaming: bool, delay: float) -> None:
    server = APIServer(watch_list=streaming, establish_delay=delay, random=Random(1))
    client = dynkube.connect(
        transport=server.transport(), settings=dynkube.InformerSettings(random=Random(1), cpu_clock=lambda: 0)
    )
    async with server, client:
        server.create(namespace("other"))
        index = {"team": "{.metadata.labels.team}"}
        free, filtered = client.informer(WIDGETS, indexes=index), client.informer(WIDGETS, indexes=index)
        async with free, filtered:
            world = World(server, free, filtered)
            for step in BEFORE if defined else []:
                await world.take(step)
            for step in [*script, ("check", None)]:
                await world.take(step)
    await quiet()
    assert server.open_watches == ()


@pytest.mark.scenario("P1", "P2", "P3", "P4", "P6", "P7", "P12", "P13", "G13")
@settings(max_examples=60)
@given(
    script=st.lists(STEPS, min_size=10, max_size=50),
    defined=st.sampled_from([True, True, False]),
    streaming=st.booleans(),
    delay=st.sampled_from([0.0, 0.0, 3.0]),
)
def test_once_things_are_quiet_everybody_was_told_the_truth(
    script: list[Step],
    defined: bool,
    streaming: bool,
    delay: float,
) -> None:
    trio.run(
        lambda: play(script, defined=defined, streaming=streaming, delay=delay),
        clock=trio.testing.MockClock(autojump_threshold=0),
    )
