"""Controllers that run on several clusters, which do not hold up each other."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from prometheus_client import CollectorRegistry

import dynkube
from dynkube import HashShard
from dynkube.controllers import (
    BlockingContext,
    Context,
    Controller,
    ControllerPhase,
    ControllerRing,
    LeaderElection,
    ObjectKey,
    Source,
    SourceKey,
    run,
)
from dynkube.controllers._handover import WRITTEN
from dynkube.controllers._probes import readiness
from dynkube.errors import InvalidInput
from dynkube.telemetry import PrometheusMetrics
from dynkube_testing import APIServer, Hang
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget

RUN: Any = run  # for arguments that a type checker would reject
A = ("default", "a")


class Fleet:
    """Two clusters with the widget ``a``, and their clients."""

    def __init__(self, servers: Mapping[str, APIServer], clients: Mapping[str, dynkube.Client]) -> None:
        self.servers, self.clients = servers, clients

    @asynccontextmanager
    async def running(self, *controllers: Controller, **options: Any) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(run, self.clients, *controllers, **options))
            yield
            nursery.cancel_scope.cancel()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def fleet(registry: CollectorRegistry) -> AsyncIterator[Fleet]:
    metrics = PrometheusMetrics(registry)
    async with APIServer() as east, APIServer() as west:
        for server in (east, west):
            server.create(crd())
            server.create(widget("a"))
        async with (
            dynkube.connect(transport=east.transport(), observers=[metrics]) as one,
            dynkube.connect(transport=west.transport(), observers=[metrics]) as two,
        ):
            yield Fleet({"east": east, "west": west}, {"east": one, "west": two})


class InClusters:
    """A reconcile function that records clusters, keys and whether the object exists."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seen: list[tuple[str, str, bool]] = []
        self.most = self._running = 0
        self._seconds = seconds

    async def __call__(self, ctx: Context, key: ObjectKey) -> None:
        self.seen.append((ctx.cluster, str(key), ctx.get() is not None))
        self._running += 1
        self.most = max(self.most, self._running)
        await trio.sleep(self._seconds)
        self._running -= 1


# ── work ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_objects_of_each_cluster_are_reconciled_with_its_name(fleet: Fleet) -> None:
    calls = InClusters()
    async with fleet.running(Controller(WIDGETS, calls)):
        await quiet(1)
        fleet.servers["west"].delete(WIDGETS, "a")
        await quiet(1)

    assert sorted(calls.seen[:2]) == [("east", "default/a", True), ("west", "default/a", True)]
    assert calls.seen[2:] == [("west", "default/a", False)]


async def test_a_reconcile_writes_to_its_cluster_and_may_write_to_another(fleet: Fleet) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{ctx.cluster}"}}
        await ctx.apply(config)
        hub = ctx.clients["east"].resource("configmaps")
        named = {**config, "metadata": {"name": f"{ctx.cluster}-in-hub", "namespace": "default"}}
        await hub.apply(named, field_manager="widgets")

    async with fleet.running(Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(1)

    names = {
        name: {each["metadata"]["name"] for each in fleet.servers[name].list("configmaps")} for name in fleet.servers
    }
    assert names == {"east": {"of-east", "east-in-hub", "west-in-hub"}, "west": {"of-west"}}


async def test_a_reconcile_with_one_client_has_no_cluster(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    seen: list[object] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        seen.append((ctx.cluster, ctx.clients))

    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(1)

    assert seen == [("", {"": client})]


async def test_the_concurrency_is_that_of_each_cluster(fleet: Fleet) -> None:
    for server in fleet.servers.values():
        server.create(widget("b"))
    calls = InClusters(seconds=10)
    async with fleet.running(Controller(WIDGETS, calls, concurrency=1)):
        await quiet(60)

    assert (len(calls.seen), calls.most) == (4, 2)


@pytest.mark.real_time
async def test_threads_reconcile_the_same_key_of_two_clusters_at_once(fleet: Fleet) -> None:
    both = threading.Barrier(2, timeout=5)
    met: set[str] = set()
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        try:
            both.wait()
            met.add(ctx.cluster)
            both.wait()
        finally:
            token.run_sync_soon(done.set)

    async with fleet.running(Controller(WIDGETS, reconcile)):
        await done.wait()

    assert met == {"east", "west"}


async def test_own_writes_are_awaited_in_their_cluster_only(fleet: Fleet) -> None:
    calls: list[tuple[str, float]] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append((ctx.cluster, trio.current_time() - began))
        if (obj := ctx.get()) is not None and "by" not in obj["spec"]:
            await ctx.patch(obj, {"spec": {"by": ctx.cluster}})

    began = trio.current_time()
    async with fleet.running(controller := Controller(WIDGETS, reconcile)):
        await quiet(1)
        assert controller.status().clusters["east"].waiting_for_cache == {}

    assert sorted(calls) == [("east", 0), ("east", 0), ("west", 0), ("west", 0)]


# ── a cluster that cannot be reached ─────────────────────────────────────────────────────────


async def test_a_cluster_that_cannot_be_reached_holds_up_no_other(fleet: Fleet) -> None:
    fleet.servers["east"].inject(Hang())
    calls = InClusters()
    controller = Controller(WIDGETS, calls)
    async with fleet.running(controller):
        await quiet(60)
        status = controller.status()
        assert {name: each.phase for name, each in status.clusters.items()} == {
            "east": ControllerPhase.SYNCING,
            "west": ControllerPhase.RUNNING,
        }
        assert (status.phase, status.informers[0][0]) == (ControllerPhase.SYNCING, f"east: {WIDGETS}")

    assert calls.seen == [("west", "default/a", True)]


async def test_a_cluster_that_cannot_be_reached_is_named_in_readiness(fleet: Fleet) -> None:
    fleet.servers["east"].inject(Hang())
    controller = Controller(WIDGETS, InClusters(), name="widgets")
    async with fleet.running(controller):
        await quiet(60)
        clusters = controller.status().clusters

        class Running:
            def statuses(self) -> list[Any]:
                return [*clusters.values()]

            def healthy(self) -> bool:
                return True

        checks = readiness(Running(), {})

    assert [(check.name, bool(check.problem)) for check in checks] == [("widgets/east", True), ("widgets/west", False)]


async def test_a_cluster_that_fails_later_keeps_its_keys_and_the_other_goes_on(fleet: Fleet) -> None:
    calls = InClusters()
    async with fleet.running(Controller(WIDGETS, calls)):
        await quiet(1)
        fleet.servers["east"].inject(Hang())
        fleet.servers["east"].end_watches()
        fleet.servers["west"].create(widget("b"))
        await quiet(60)

    assert calls.seen[2:] == [("west", "default/b", True)]


async def test_log_records_have_the_cluster(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dynkube.controllers")

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        ctx.log.info("hello")
        if ctx.cluster == "west":
            raise ValueError("no such theme")

    async with fleet.running(Controller(WIDGETS, reconcile, name="widgets")):
        await quiet(0.001)

    records = {(record.getMessage(), record.cluster) for record in caplog.records if hasattr(record, "cluster")}
    assert records == {
        ("widgets in east default/a: hello", "east"),
        ("widgets in west default/a: hello", "west"),
        ("controller widgets in west: reconciling default/a failed (error, failure 1 of this key)", "west"),
    }


async def test_metrics_have_the_cluster_and_count_nothing_twice(fleet: Fleet, registry: CollectorRegistry) -> None:
    controller = Controller(WIDGETS, InClusters(), name="widgets")
    election = LeaderElection("widgets", namespace="default")
    async with fleet.running(controller, election=election, lease_cluster="east"):
        await quiet(5)
        calls = [
            registry.get_sample_value(
                "controller_runtime_reconcile_total", {"controller": "widgets", "cluster": name, "result": "success"}
            )
            for name in fleet.servers
        ]
        labels = {"controller": "widgets", "cluster": "east"}
        assert registry.get_sample_value("controller_runtime_max_concurrent_reconciles", labels) == 1
        assert registry.get_sample_value("leader_election_master_status", {"name": "widgets"}) == 1

    assert calls == [1, 1]


# ── sources ──────────────────────────────────────────────────────────────────────────────────


async def test_a_source_says_in_which_cluster_a_key_is(fleet: Fleet) -> None:
    async def keys() -> AsyncIterator[SourceKey]:
        yield SourceKey(("default", "of a stream"), cluster="west")
        await trio.sleep_forever()

    calls, pushed = InClusters(), Source()
    async with fleet.running(Controller(WIDGETS, calls, sources=[Source(keys), pushed])):
        await quiet(1)
        pushed.add(("default", "added"), cluster="east")
        await quiet(1)

    assert ("west", "default/of a stream", False) in calls.seen
    assert calls.seen[-1] == ("east", "default/added", False)
    assert len(calls.seen) == 4


async def test_a_key_without_a_cluster_is_rejected(fleet: Fleet) -> None:
    source = Source()
    async with fleet.running(Controller(WIDGETS, InClusters(), sources=[source])):
        await quiet(1)
        with pytest.raises(InvalidInput, match=r"several clusters \(east, west\), and default/a does not say in which"):
            source.add(A)


async def test_the_only_cluster_need_not_be_named(fleet: Fleet) -> None:
    calls, source = InClusters(), Source()
    one = Fleet(fleet.servers, {"east": fleet.clients["east"]})
    async with one.running(controller := Controller(WIDGETS, calls, sources=[source])):
        await quiet(1)
        source.add(("default", "b"))
        await quiet(1)
        assert controller.status().cluster == "east"

    assert calls.seen[-1] == ("east", "default/b", False)


# ── election and sharding ────────────────────────────────────────────────────────────────────


async def test_the_lease_is_in_one_cluster_and_counts_for_all(fleet: Fleet) -> None:
    calls = InClusters()
    election = LeaderElection("widgets", namespace="default")
    async with fleet.running(Controller(WIDGETS, calls), election=election, lease_cluster="west"):
        await quiet(5)

    assert [len(fleet.servers[name].list("leases")) for name in ("east", "west")] == [0, 1]
    assert sorted(cluster for cluster, *_ in calls.seen) == ["east", "west"]


async def test_the_lease_records_what_was_written_in_each_cluster(fleet: Fleet) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key.name}})

    fleet.servers["west"].create(widget("b"))
    election = LeaderElection("widgets", namespace="default")
    controller = Controller(WIDGETS, reconcile, owns=["configmaps"])
    async with fleet.running(controller, election=election, lease_cluster="west"):
        await quiet(10)

    lease = fleet.servers["west"].get("leases", "widgets")
    assert json.loads(lease["metadata"]["annotations"][WRITTEN]) == {
        f"{name}/configmaps": max((each["metadata"]["resourceVersion"] for each in server.list("configmaps")), key=int)
        for name, server in fleet.servers.items()
    }


async def test_a_lifespan_is_entered_once_with_all_clients(fleet: Fleet) -> None:
    states = []

    @asynccontextmanager
    async def lifespan(clients: Mapping[str, dynkube.Client]) -> AsyncIterator[list[str]]:
        yield [*clients]

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        states.append(ctx.state)

    async with fleet.running(Controller(WIDGETS, reconcile), lifespan=lifespan):
        await quiet(1)

    assert states[0] == ["east", "west"]
    assert states[0] is states[1]


async def test_each_cluster_is_divided_by_the_same_hash(fleet: Fleet) -> None:
    calls = InClusters()
    async with fleet.running(Controller(WIDGETS, calls), sharding=HashShard(0, 1)):
        await quiet(5)

    assert sorted(cluster for cluster, *_ in calls.seen) == ["east", "west"]


ELECTION = LeaderElection("widgets", namespace="default")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"election": ELECTION}, r"election with several clusters \(east, west\): pass lease_cluster="),
        (
            {"election": ELECTION, "lease_cluster": "hub"},
            r"lease_cluster='hub' is not one of the clusters \(east, west",
        ),
        ({"lease_cluster": "east"}, "without election=: there is no Lease"),
        ({"sharding": ControllerRing("widgets")}, "a ControllerRing has one cluster"),
    ],
    ids=str,
)
async def test_an_ambiguous_lease_is_rejected(fleet: Fleet, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await RUN(fleet.clients, Controller(WIDGETS, InClusters()), **options)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        (lambda one, two: {}, "the mapping of clusters is empty"),
        (lambda one, two: {"": one}, "'' cannot be the name of a cluster"),
        (lambda one, two: {"east": one, "west": one}, "'east' and 'west' have the same client"),
        (lambda one, two: {"east": one, "west": "west"}, "client 'west' is a str"),
        (lambda one, two: [one, two], "client is a list"),
    ],
)
async def test_other_clusters_are_rejected(fleet: Fleet, clusters: Callable[..., object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await RUN(clusters(*fleet.clients.values()), Controller(WIDGETS, InClusters()))
