"""Informers: nothing may be lost, and nothing may count as known that is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from dynkube import ABSENT, LIVE, STOPPED, HashShard, Informer, LabelSelector, Unstructured, join
from dynkube.meta import Deleted
from tests.sweep.cluster import (
    DEPLOYMENTS,
    WIDGETS,
    alice,
    deployment,
    in_default,
    namespaces,
    widget,
    widgets,
    workload,
)
from tests.sweep.lab import Lab, Play, Scenario, scenario

INFORMER = "dynkube.Client.informer"
QUARTER = 900.0  # of an hour: longer than any interval of polls and backoff

SLOW: dict[str, Any] = {"discovery_poll": 100.0, "access_interval": 100.0}  # fewer equal polls


class Witness:
    """Follows an informer, and compares what it shows with the server's objects."""

    def __init__(self, lab: Lab, resource: str) -> None:
        self._lab = lab
        self._resource = resource
        self.seen: set[str] = set()

    def attach(self, informer: Informer) -> None:
        """Add handlers."""
        informer.add_handler(on_add=self._added, on_delete=self._deleted)

    def _added(self, obj: Unstructured) -> None:
        self.seen.add(obj.name)

    def _deleted(self, obj: Unstructured) -> None:
        self.seen.discard(obj.name)
        if self._lab.exists(self._resource, obj.name, obj.namespace):
            self._lab.fail(f"Deleted {obj.name}, which exists")

    async def follow(self, informer: Informer) -> None:
        """Note the states, of which some would be false."""
        async for state in informer.states():
            if state.phase in {ABSENT, STOPPED}:
                self._lab.fail(f"state {state.phase.name} ({state.reason}), and the resource is served")
            if state.phase is not LIVE:
                self._lab.note(f"state {state.phase.name}")

    def compare(self, informer: Informer, when: str) -> None:
        """Fail unless the informer shows what the server has."""
        right = self._lab.names(self._resource)
        self._lab.equal((each.name for each in informer.list()), right, f"{when} it shows")
        self._lab.equal(self.seen, right, f"{when} its handler has")


@asynccontextmanager
async def witnessed(lab: Lab, informer: Informer, resource: str) -> AsyncIterator[Witness]:
    """Attach handlers to an informer, and follow its states during the block."""
    lab.opened()
    witness = Witness(lab, resource)
    async with trio.open_nursery() as nursery:
        witness.attach(informer)
        nursery.start_soon(witness.follow, informer)
        with trio.move_on_after(QUARTER) as waiting:
            await informer.wait_synced()
        lab.check(not waiting.cancelled_caught, "did not sync within a quarter of an hour")
        await trio.lowlevel.checkpoint()
        witness.compare(informer, "synced,")
        yield witness
        nursery.cancel_scope.cancel()
    lab.settle()


async def follow(lab: Lab, resource: str, another: Callable[[str], dict[str, Any]], **options: Any) -> None:
    """Follow a resource whose watches end and expire, and whose objects come and go."""
    async with (
        lab.client.informer(resource, **options) as informer,
        witnessed(lab, informer, resource) as witness,
    ):
        await trio.sleep(60)
        lab.server.create(another("c"))
        lab.server.end_watches()
        await trio.sleep(60)
        lab.expire()
        lab.server.create(another("d"))
        await trio.sleep(QUARTER)
        witness.compare(informer, "a quarter of an hour later")
        lab.check(informer.state.phase is LIVE, f"a quarter of an hour later its state is {informer.state.phase.name}")
        lab.server.delete(resource, "d", another("d")["metadata"]["namespace"])
        await trio.sleep(60)
        witness.compare(informer, "after a deletion")


def labelled(name: str) -> dict[str, Any]:
    """Return a widget with the labels that selectors want."""
    return widget(name, labels={"app": "web"}, size=1)


def _deployment(name: str) -> dict[str, Any]:
    return in_default(workload(name=name))


def of(title: str, *covers: str, resource: str = WIDGETS, options: Any = None, **scenario_options: Any) -> Scenario:
    """Return the scenario of an informer with these options."""

    async def run(lab: Lab) -> None:
        another = labelled if resource == WIDGETS else _deployment
        await follow(lab, resource, another, **(options or {}))

    settings = {"prepare": widgets, "opening": 0.0, "repeat": False, **scenario_options}
    return Scenario(feature=title, covers=covers, play=run, **settings)


def options_of(name: str, value: Any) -> Scenario:
    """Return the scenario of an informer with one option."""
    shown = f"{name}={value!r}" if isinstance(value, bool | int | str) else name
    return of(f"informer, {shown}", f"{INFORMER}({name})", options={name: value}, sweeps=_of_objects)


def _of_objects(line: str) -> bool:
    """Leave out the requests about availability, which do not depend on the options."""
    return "/widgets" in line


no_options = (
    of(
        "informer",
        INFORMER,
        "dynkube.Informer",
        "dynkube.Informer.states",
        "dynkube.Informer.wait_synced",
    ),
    of("informer of a resource without a CRD", resource=DEPLOYMENTS, prepare=deployment),
    of("informer, user without CRD permissions", user="alice", prepare=alice, server={"rbac": True}, settings=SLOW),
    of(
        "informer without a CRD, user without CRD permissions",
        resource=DEPLOYMENTS,
        user="alice",
        prepare=alice,
        server={"rbac": True},
    ),
)
with_options = (
    options_of("namespace", "default"),
    options_of("label_selector", "app=web"),
    options_of("field_selector", "metadata.name!=z"),
    options_of("metadata_only", True),
    options_of("page_size", 1),
    options_of("streaming_lists", False),
    options_of("consistency", "most_recent"),
    options_of("shard", HashShard(0, 1)),
)


def in_namespaces(title: str, chosen: Any, *covers: str, user: str = "alice") -> Scenario:
    """Return the scenario of an informer of a set of namespaces."""

    async def run(lab: Lab) -> None:
        async with (
            lab.client.informer(WIDGETS, namespaces=chosen) as informer,
            witnessed(lab, informer, WIDGETS) as witness,
        ):
            await trio.sleep(60)
            lab.server.create(widget("c", namespace="n0"))
            lab.server.end_watches()
            await trio.sleep(60)
            lab.expire()
            await trio.sleep(QUARTER)
            witness.compare(informer, "a quarter of an hour later")
            lab.server.delete(WIDGETS, "c", "n0")
            await trio.sleep(60)
            witness.compare(informer, "after a deletion")

    common: dict[str, Any] = {
        "prepare": namespaces,
        "settings": SLOW,
        "most": 2,
        "server": {"rbac": True},
        "opening": 0.0,
        "repeat": False,
    }
    return Scenario(feature=title, covers=covers, play=run, user=user, **common)


sets = (
    in_namespaces("informer of named namespaces", ["n0", "n1"], f"{INFORMER}(namespaces)"),
    in_namespaces("informer of labelled namespaces", LabelSelector.parse("team=a")),
    in_namespaces("informer of labelled namespaces, administrator", LabelSelector.parse("team=a"), user=""),
)


def on_widgets(title: str, *covers: str) -> Callable[[Play], Scenario]:
    """Make a scenario on widgets, whose streams must not end."""
    return scenario(title, *covers, prepare=widgets, opening=0.0, repeat=False)


@on_widgets("informer, events", "dynkube.Informer.events", "dynkube.informers.EventStream")
async def events(lab: Lab) -> None:
    lab.opened()
    async with (
        lab.client.informer(WIDGETS) as informer,
        informer.events() as stream,
        lab.meanwhile((60, lab.server.end_watches), (120, lab.expire)),
    ):
        with trio.move_on_after(QUARTER):
            async for event in stream:
                lab.check(not isinstance(event, Deleted), "Deleted an object that exists")
            lab.check(False, "the stream ended")


@on_widgets("informer, wait_state", "dynkube.Informer.wait_state")
async def wait_state(lab: Lab) -> None:
    lab.opened()
    async with lab.client.informer(WIDGETS) as informer:
        with trio.move_on_after(QUARTER) as waiting:
            state = await informer.wait_state(LIVE, ABSENT)
            lab.check(state.phase is LIVE, "state ABSENT, and the resource is served")
        lab.check(not waiting.cancelled_caught, "not LIVE within a quarter of an hour")


@on_widgets("informer, wait_for of a write", "dynkube.Informer.wait_for")
async def wait_for(lab: Lab) -> None:
    lab.opened()
    async with lab.client.informer(WIDGETS) as informer:
        created = Unstructured(lab.server.create(widget("c")))
        with trio.move_on_after(QUARTER) as waiting:
            await informer.wait_for(created)
            lab.check(informer.get("c", namespace="default"), "returned, and the cache does not have the object")
        lab.check(not waiting.cancelled_caught, "did not return within a quarter of an hour")


@on_widgets(
    "join",
    "dynkube.join",
    "dynkube.Join",
    "dynkube.Join.add",
    "dynkube.Join.remove",
    "dynkube.Join.wait_synced",
)
async def joined(lab: Lab) -> None:
    lab.opened()

    def deleted(cluster: str, obj: Unstructured) -> None:
        lab.fail(f"Deleted {obj.name} of {cluster}, which exists")

    async with join({"one": lab.client.informer(WIDGETS)}) as both:
        both.add_handler(on_delete=deleted)
        await both.add("two", lab.client.informer(WIDGETS, namespace="default"))
        with trio.move_on_after(QUARTER) as waiting:
            await both.wait_synced()
        lab.check(not waiting.cancelled_caught, "did not sync within a quarter of an hour")
        right = [*lab.names(WIDGETS), *lab.names(WIDGETS)]
        lab.equal((each.object.name for each in both.list()), right, "synced, it shows")
        lab.expire()
        await trio.sleep(QUARTER)
        lab.equal((each.object.name for each in both.list()), right, "a quarter of an hour later it shows")
    lab.settle()
