"""Shards of kubernetes-controller-sharding: an object is reconciled by its shard, and by no other."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import (
    Context,
    Controller,
    ControllerPhase,
    ControllerRing,
    LeaderElection,
    LeadershipLost,
    ObjectKey,
    Requeue,
    run,
)
from dynkube.controllers._sharding import RingShard
from dynkube.errors import Conflict, InvalidInput
from dynkube_testing import APIServer, Hang, Lag, Refuse, RequestFacts
from tests.controllers.kit import Calls, quiet
from tests.controllers.sharder import PREFIX, Sharder, labels, wall_clock
from tests.informers.kit import WIDGETS, crd, widget

RING: Any = ControllerRing  # for arguments that a type checker would reject
NAMES = "abcdefgh"


@dataclass
class Record:
    """The calls of all shards."""

    calls: list[tuple[float, str, str]] = field(default_factory=list)
    running: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)  # a controller would catch assertions


class Shard:
    """One of several processes, as a task with its own client."""

    def __init__(self, name: str, record: Record, **settings: Any) -> None:
        self.name = name
        self.record = record
        self.seconds = 0.0  # for each call
        self.result: Requeue | None = Requeue(after=0.5)
        self.stopped = -math.inf  # when its last call ended
        self.controller = Controller(WIDGETS, self.reconcile, **settings)
        self.scope = trio.CancelScope()
        self.ended_by: BaseException | None = None
        self.ended = trio.Event()

    async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue | None:
        if ctx.get() is None:
            self.record.violations.append(f"{key} seems to be deleted for {self.name}")
        if other := self.record.running.get(key.name):
            self.record.violations.append(f"{key} is reconciled by {self.name} and {other} at once")
        self.record.running[key.name] = self.name
        self.record.calls.append((trio.current_time(), self.name, key.name))
        try:
            await trio.sleep(self.seconds)
        finally:
            self.stopped = trio.current_time()
            del self.record.running[key.name]
        return self.result

    async def run(self, server: APIServer) -> None:
        ring = ControllerRing("widgets", namespace="default", shard=self.name)
        with self.scope:
            async with dynkube.connect(url=server.url, token=self.name, transport=server.transport()) as client:
                try:
                    await run(client, self.controller, sharding=ring, random=Random(self.name), now=wall_clock)
                except LeadershipLost as exc:
                    self.ended_by = exc
        self.ended.set()

    def names(self, since: float) -> set[str]:
        """Return the objects that it has reconciled since ``since``."""
        return {name for at, shard, name in self.record.calls if shard == self.name and at >= since}


class Cluster:
    """A server with widgets and a sharder, and the shards started so far."""

    def __init__(self, server: APIServer, nursery: trio.Nursery) -> None:
        self.server = server
        self.sharder = Sharder(server)
        self.record = Record()
        self._nursery = nursery

    def start(self, name: str, **settings: Any) -> Shard:
        shard = Shard(name, self.record, **settings)
        self._nursery.start_soon(shard.run, self.server)
        return shard


@asynccontextmanager
async def ring(server: APIServer, *, sharder: bool = True) -> AsyncIterator[Cluster]:
    """A ring without shards; at the end it is checked that no key was reconciled concurrently or without its object."""
    server.create(crd())
    for name in NAMES:
        server.create(widget(name))
    async with trio.open_nursery() as nursery:
        cluster = Cluster(server, nursery)
        if sharder:
            nursery.start_soon(cluster.sharder.run)
        yield cluster
        nursery.cancel_scope.cancel()
    assert cluster.record.violations == []


async def since(seconds: float) -> float:
    """Wait some virtual seconds, and return the time from which calls are counted."""
    await quiet(seconds)
    return trio.current_time()


# ── assignment ───────────────────────────────────────────────────────────────────────────────


async def test_each_object_is_reconciled_by_its_assigned_shard(server: APIServer) -> None:
    async with ring(server) as cluster:
        one, two = cluster.start("pod-0"), cluster.start("pod-1")
        settled = await since(30)
        await quiet(10)

        assigned = {obj["metadata"]["name"]: labels(obj)[cluster.sharder.shard_label] for obj in server.list("widgets")}
        for shard in (one, two):
            assert shard.names(settled) == {name for name, owner in assigned.items() if owner == shard.name} != set()


@pytest.mark.parametrize("lag", [0, 5])
@pytest.mark.parametrize("seconds", [0.0, 0.3, 7.0])
async def test_no_key_is_reconciled_by_two_shards_at_once_while_shards_start_and_stop(
    server: APIServer, seconds: float, lag: float
) -> None:
    server.inject(Lag(lag), verb="watch")
    async with ring(server) as cluster:
        shards = []
        for name in ("pod-0", "pod-1", "pod-2"):
            shards.append(cluster.start(name, concurrency=4))
            shards[-1].seconds = seconds
            await quiet(40)
        shards[0].scope.cancel()
        settled = await since(60)
        await quiet(30)

        assert cluster.sharder.drains > 0
        assert shards[0].names(settled) == set()
        assert shards[1].names(settled) | shards[2].names(settled) == set(NAMES)


@pytest.mark.parametrize("seed", range(3))
async def test_no_key_is_reconciled_by_two_shards_at_once_under_random_faults(server: APIServer, seed: int) -> None:
    random = Random(seed)
    async with ring(server) as cluster:
        shards: dict[str, Shard] = {}
        for _ in range(10):
            name = f"pod-{random.randrange(4)}"
            if name not in shards or shards[name].ended.is_set():
                shards[name] = cluster.start(name, concurrency=random.randint(1, 4))
                shards[name].seconds, shards[name].result = random.choice([0.0, 0.4, 9.0]), Requeue(after=5)
            elif random.random() < 0.5:
                shards[name].scope.cancel()
            else:  # it is disconnected, or its caches lag
                cut_off = Hang() if random.random() < 0.5 else Lag(random.uniform(1, 8))
                server.inject(cut_off, when=partial(is_by, name), duration=random.uniform(5, 40))
            await quiet(random.uniform(0, 30))
        shards["pod-9"] = cluster.start("pod-9")
        settled = await since(100)
        await quiet(20)

        assert {name for at, _, name in cluster.record.calls if at >= settled} == set(NAMES)


def is_by(name: str, request: RequestFacts) -> bool:
    """Whether a shard has sent a request."""
    return request.headers.get("authorization") == f"Bearer {name}"


async def test_an_object_is_released_after_its_running_reconcile_has_ended(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0", concurrency=8)
        one.seconds = 20
        await quiet(5)
        two = cluster.start("pod-1")
        await quiet(10)
        drained = [obj for obj in server.list("widgets") if cluster.sharder.drain_label in labels(obj)]
        assert drained
        assert two.names(0) == set()

        await quiet(20)
        assert two.names(0) == {obj["metadata"]["name"] for obj in drained}


async def test_a_drained_object_is_released_whatever_the_predicate_returns(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0", predicate=lambda old, new: old is None)
        one.result = None
        await quiet(5)
        two = cluster.start("pod-1")
        await quiet(20)

        assert two.names(0) != set()


async def test_the_release_is_based_on_the_cached_object(server: APIServer, client: dynkube.Client) -> None:
    settings = ControllerRing("widgets", shard="pod-0")
    shard = RingShard(settings, client, rng=Random(1), now=wall_clock)
    server.create(crd())
    server.create(widget("a", labels={settings.shard_label: "pod-0", settings.drain_label: "true"}))
    cached = await client.get(WIDGETS, "a")
    server.update(widget("a", labels={settings.shard_label: "pod-1"}))  # released before, and assigned to another shard
    patch = shard.handover(cached)
    assert patch is not None
    with pytest.raises(Conflict):
        await client.resource(WIDGETS).patch("a", patch, namespace="default")

    assert labels(server.get("widgets", "a")) == {settings.shard_label: "pod-1"}


async def test_the_failures_of_a_moved_object_are_forgotten(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0", predicate=lambda old, new: old is None)
        one.result = ...  # type: ignore[assignment]  # fails
        await quiet(60)
        assert len(one.controller.status().failures) == len(NAMES)
        two = cluster.start("pod-1")
        await quiet(10)

        assert len(one.controller.status().failures) == len(NAMES) - len(two.names(0)) != len(NAMES)


async def test_a_failed_release_is_retried_with_a_growing_delay(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0")
        await quiet(5)
        fault = server.inject(Refuse(403), verb="patch", resource="widgets")
        two = cluster.start("pod-1")
        await quiet(60)
        assert two.names(0) == set()
        assert 4 <= fault.hits / cluster.sharder.drains <= 20
        assert "403" in one.controller.status().failures[0].error

        fault.remove()
        await quiet(200)
        assert two.names(0) != set()
        assert one.controller.status().failures == ()


async def test_an_object_is_released_once_although_the_cache_lags(server: APIServer) -> None:
    async with ring(server) as cluster:
        cluster.start("pod-0", owns=["configmaps"])
        await quiet(5)
        server.inject(Lag(10), verb="watch", resource="widgets")
        server.end_watches("widgets")
        cluster.start("pod-1")
        await quiet(60)

        patches = [each.verb for each in server.audit if each.name in NAMES and each.name].count("patch")
        assert patches == cluster.sharder.drains > 0


async def test_a_deleted_object_is_not_reconciled(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0")
        await quiet(5)
        server.delete("widgets", "a")
        deleted = await since(0.1)
        await quiet(10)

        assert one.names(deleted) == set(NAMES) - {"a"}


async def test_keys_of_other_shards_that_a_mapper_returns_are_ignored(server: APIServer) -> None:
    everything = dynkube.controllers.Watch("configmaps", to=lambda obj: [("default", name) for name in NAMES])
    async with ring(server) as cluster:
        shards = [cluster.start(name, watches=[everything]) for name in ("pod-0", "pod-1")]
        settled = await since(30)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        await quiet(10)

        assert shards[0].names(settled) | shards[1].names(settled) == set(NAMES)
        assert shards[0].names(settled) & shards[1].names(settled) == set()


# ── the Lease ────────────────────────────────────────────────────────────────────────────────


async def test_a_shard_announces_itself_by_a_lease_with_its_name(server: APIServer) -> None:
    async with ring(server, sharder=False) as cluster:
        cluster.start("pod-0")
        await quiet(5)

        lease = server.get("leases", "pod-0")
        assert lease["metadata"]["labels"] == {PREFIX + "controllerring": "widgets"}
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == ("pod-0", 15)


async def test_a_shard_that_ends_releases_its_lease_and_its_objects_are_moved_at_once(server: APIServer) -> None:
    async with ring(server) as cluster:
        one, two = cluster.start("pod-0"), cluster.start("pod-1")
        await quiet(30)
        one.scope.cancel()
        await one.ended.wait()
        assert server.get("leases", "pod-0")["spec"]["holderIdentity"] == ""
        ended = await since(3)
        await quiet(5)

        assert two.names(ended) == set(NAMES)


async def test_a_shard_that_lost_its_lease_is_cancelled_before_its_objects_are_moved(server: APIServer) -> None:
    async with ring(server) as cluster:
        one, two = cluster.start("pod-0", concurrency=8), cluster.start("pod-1")
        cut_off = await since(30)
        one.seconds = 1000
        server.inject(Hang(), when=lambda request: request.name == "pod-0" and request.verb != "list")
        await one.ended.wait()

        assert isinstance(one.ended_by, LeadershipLost)
        assert 8 <= one.stopped - cut_off <= 10
        await quiet(60)
        assert server.get("leases", "pod-0")["spec"]["holderIdentity"] == "shardlease-controller"
        assert two.names(cut_off + 40) == set(NAMES)


async def test_a_shard_whose_lease_was_taken_by_the_sharder_waits_for_it(server: APIServer) -> None:
    async with ring(server) as cluster:
        server.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "pod-0", "labels": {PREFIX + "controllerring": "widgets"}},
                "spec": {
                    "holderIdentity": "shardlease-controller",
                    "leaseDurationSeconds": 30,
                    "renewTime": "2026-11-01T00:00:00.000000Z",
                },
            }
        )
        one = cluster.start("pod-0")
        await quiet(25)
        assert one.controller.status().phase is ControllerPhase.STANDBY
        await quiet(30)
        assert one.names(0) == set(NAMES)


# ── without a sharder ────────────────────────────────────────────────────────────────────────


async def test_without_a_sharder_nothing_is_reconciled_and_the_status_says_why(
    server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with ring(server, sharder=False) as cluster:
        one = cluster.start("pod-0")
        await quiet(60)
        assert one.names(0) == set()
        assert "install kubernetes-controller-sharding" in one.controller.status().problem
        assert "ControllerRing widgets" in one.controller.status().problem
        warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
        assert ["no sharder has seen" in each.getMessage() for each in warnings] == [True]

        cluster.sharder.sync()
        await quiet(5)
        assert one.controller.status().problem == ""
        assert one.names(0) == set(NAMES)


async def test_a_shard_that_the_sharder_considers_expired_shows_that_in_its_status(server: APIServer) -> None:
    async with ring(server) as cluster:
        one = cluster.start("pod-0")
        await quiet(5)
        assert one.controller.status().problem == ""

        cluster.sharder.available = lambda lease: True  # type: ignore[method-assign]
        lease = server.get("leases", "pod-0")
        lease["metadata"]["labels"][PREFIX + "state"] = "expired"
        server.update(lease)
        await quiet(3)
        assert "considers shard pod-0 'expired'" in one.controller.status().problem


# ── owned resources ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("controlled", "expected"), [((), 2), (["configmaps"], 1)])
async def test_owned_objects_are_restricted_to_the_shard_if_the_ring_controls_them(
    server: APIServer, client: dynkube.Client, controlled: list[str], expected: int
) -> None:
    for name in ("pod-0", "pod-1"):
        owned = {"name": name, "labels": {f"shard.{PREFIX}widgets": name}}
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned})
    found: list[int] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found.append(len(ctx.list("configmaps")))

    server.create(crd())
    server.create(widget("a", labels={f"shard.{PREFIX}widgets": "pod-0"}))
    settings = ControllerRing("widgets", shard="pod-0", controlled=controlled)
    controller = Controller(WIDGETS, reconcile, owns=["configmaps"])
    with trio.move_on_after(5):
        await run(client, controller, sharding=settings, shutdown_timeout=0)

    assert found == [expected]


async def test_the_label_selector_of_a_controller_applies_as_well(server: APIServer) -> None:
    async with ring(server) as cluster:
        server.create(widget("z", labels={"team": "web"}))
        one = cluster.start("pod-0", label_selector="team=web")
        await quiet(10)

        assert one.names(0) == {"z"}


# ── settings ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("object_labels", "expected"),
    [
        ({}, "foreign"),
        ({"shard": "pod-0"}, "ours"),
        ({"shard": "pod-1"}, "foreign"),
        ({"shard": ""}, "foreign"),
        ({"shard": "pod-0", "drain": "true"}, "handed over"),
        ({"shard": "pod-0", "drain": ""}, "handed over"),
        ({"shard": "pod-1", "drain": "true"}, "foreign"),
        ({"drain": "true"}, "foreign"),
    ],
)
async def test_labels_decide_which_shard_reconciles_an_object(
    client: dynkube.Client, object_labels: dict[str, str], expected: str
) -> None:
    shard = RingShard(ControllerRing("widgets", shard="pod-0"), client, rng=Random(1), now=wall_clock)
    obj = Unstructured(widget("a", labels={f"{name}.{PREFIX}widgets": value for name, value in object_labels.items()}))

    found = "ours" if shard.reconciles(obj) else "foreign" if shard.handover(obj) is None else "handed over"
    assert found == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": ""}, "name='': pass the name of the ControllerRing object"),
        ({"name": "a" * 64}, "at most 63"),
        ({"name": "Widgets"}, "lowercase DNS name"),
        ({"name": 5}, "name=5"),
        ({"shard": "a/b"}, "shard='a/b': pass a name that is unique among the replicas"),
        ({"shard": ""}, "shard=''"),
        ({"namespace": "a.b"}, "namespace='a.b'"),
        ({"controlled": "configmaps"}, "controlled is 'configmaps': pass a list"),
        ({"renew_deadline": 20}, "is not greater than renew_deadline=20"),
    ],
)
def test_invalid_settings_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RING(**{"name": "widgets", **given})


async def test_a_ring_and_a_leader_election_exclude_each_other(client: dynkube.Client) -> None:
    controller, election = Controller(WIDGETS, Calls()), LeaderElection("widgets")
    with pytest.raises(InvalidInput, match="exclude each other"):
        await run(client, controller, election=election, sharding=ControllerRing("widgets"))


async def test_controlled_resources_must_be_owned(client: dynkube.Client) -> None:
    controller, ring = Controller(WIDGETS, Calls(), owns=["pods"]), ControllerRing("widgets", controlled=["secrets"])
    with pytest.raises(InvalidInput, match="controlled has secrets, which no controller owns \\(owned: pods\\)"):
        await run(client, controller, sharding=ring)


async def test_the_default_name_of_a_shard_is_the_host_name(
    server: APIServer, client: dynkube.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "web-7f9c")
    server.create(crd())
    with trio.move_on_after(5):
        await run(client, Controller(WIDGETS, Calls()), sharding=ControllerRing("widgets"))
    assert server.get("leases", "web-7f9c")["spec"]["holderIdentity"] == ""

    monkeypatch.setattr("socket.gethostname", lambda: "My_Laptop.local")
    with pytest.raises(InvalidInput, match=r"shard='My_Laptop\.local': pass"):
        await run(client, Controller(WIDGETS, Calls()), sharding=ControllerRing("widgets"))
