"""The guarantee of lists and watches: a list plus the events of a watch from its version equals a later list."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import trio
import trio.testing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule

from dynkube.errors import AlreadyExists, NotFound
from dynkube_testing._calls.api import JSONObject
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster

NAMES = st.sampled_from("abc")
LABELS = st.fixed_dictionaries({}, optional={"on": st.sampled_from("01")})
SELECTORS = st.sampled_from(["", "on=1", "on!=1", "!on", "on in (0,1)"])
State = dict[str, JSONObject]


def state_of(listed: JSONObject) -> State:
    return {item["metadata"]["name"]: item for item in listed["items"]}


def fold(state: State, events: list[JSONObject]) -> State:
    """Apply ``events`` to ``state``; assert that each one is valid there, and newer than the one before."""
    state, latest = dict(state), 0
    for event in events:
        obj = {key: value for key, value in event["object"].items() if key not in {"apiVersion", "kind"}}
        name, version = obj["metadata"].get("name"), int(obj["metadata"]["resourceVersion"])
        assert version > latest, "no event is repeated or late"
        latest = version
        assert (name in state) == (event["type"] in {"MODIFIED", "DELETED"}), event
        if event["type"] == "DELETED":
            del state[name]
        else:
            state[name] = obj
    return state


class History(RuleBasedStateMachine):
    """Random writes to two resources, with lists and watches from their versions in between."""

    lists = Bundle("lists")

    @initialize(seed=st.integers(0, 99))
    def start(self, seed: int) -> None:
        self.cluster = Cluster(random=random.Random(seed), history=25)

    @rule(name=NAMES, labels=LABELS, held=st.booleans())
    def create(self, name: str, labels: dict[str, str], held: bool) -> None:
        finalizers = {"finalizers": ["a.b/c"]} if held else {}
        with suppress(AlreadyExists):
            self.cluster.create("configmaps", config(name, labels=labels, **finalizers))

    @rule(name=NAMES, labels=LABELS)
    def change(self, name: str, labels: dict[str, str]) -> None:
        with suppress(NotFound):
            self.cluster.patch("configmaps", name, {"metadata": {"labels": {"on": None, **labels}}})

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        with suppress(NotFound):
            self.cluster.delete("configmaps", name)

    @rule(name=NAMES)
    def release(self, name: str) -> None:
        with suppress(NotFound):
            self.cluster.patch("configmaps", name, {"metadata": {"finalizers": None}})

    @rule()
    def write_elsewhere(self) -> None:
        self.cluster.create("secrets", {"metadata": {"generateName": "s"}})

    @rule()
    def compact(self) -> None:
        self.cluster.engine.storage.compact()

    @rule(target=lists, selector=SELECTORS, limit=st.integers(0, 2))
    def list_in_chunks(self, selector: str, limit: int) -> tuple[str, str, State]:
        page = self.cluster.list_of("configmaps", labelSelector=selector, limit=str(limit))
        state, version = state_of(page), page["metadata"]["resourceVersion"]
        while token := page["metadata"].get("continue"):
            page = self.cluster.list_of("configmaps", labelSelector=selector, limit=str(limit), **{"continue": token})
            state |= state_of(page)
        return selector, version, state

    @rule(listed=consumes(lists))
    def watch_from(self, listed: tuple[str, str, State]) -> None:
        selector, version, state = listed
        events = self._events(labelSelector=selector, resourceVersion=version)
        if events and events[0]["type"] == "ERROR":
            assert int(version) < self.cluster.engine.storage.compacted
            return
        assert fold(state, events) == state_of(self.cluster.list_of("configmaps", labelSelector=selector))

    @rule(listed=lists)
    def look_back(self, listed: tuple[str, str, State]) -> None:
        selector, version, state = listed
        if int(version) >= self.cluster.engine.storage.compacted:
            exact = {"resourceVersion": version, "resourceVersionMatch": "Exact", "labelSelector": selector}
            assert state_of(self.cluster.list_of("configmaps", **exact)) == state

    @rule(selector=SELECTORS)
    def watch_from_nothing(self, selector: str) -> None:
        events = self._events(labelSelector=selector)
        assert all(event["type"] == "ADDED" for event in events)
        objects = {event["object"]["metadata"]["name"] for event in events}
        assert objects == set(self.cluster.names("configmaps", labelSelector=selector))

    def _events(self, **params: str) -> list[JSONObject]:
        async def read() -> list[JSONObject]:
            return await self.cluster.rest_of(self.cluster.watch("configmaps", **params))

        return trio.run(read, clock=trio.testing.MockClock(autojump_threshold=0))


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


async def test_streams_that_are_read_at_different_times_yield_the_same_events() -> None:
    cluster, dice = Cluster(), random.Random(5)
    streams = [cluster.watch("configmaps") for _ in range(3)]
    collected: list[list[bytes]] = [[] for _ in streams]
    for step in range(60):
        name = dice.choice("abcd")
        try:
            cluster.create("configmaps", config(name))
        except AlreadyExists:
            cluster.delete("configmaps", name)
        reader = step % len(streams)
        collected[reader] += [event.line for event in await anext(aiter(streams[reader]))]
    cluster.engine.end_watches()
    for stream, lines in zip(streams, collected, strict=True):
        async for batch in stream:
            lines += [event.line for event in batch]

    assert len(collected[0]) == 60
    assert collected[0] == collected[1] == collected[2]
    versions = [int(json.loads(line)["object"]["metadata"]["resourceVersion"]) for line in collected[0]]
    assert versions == sorted(set(versions))
