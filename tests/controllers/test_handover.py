"""A new leader sees what the one before has written, also if its watches lag behind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from random import Random

import pytest
import trio

import dynkube
from dynkube.controllers import (
    Context,
    Controller,
    ControllerRing,
    LeaderElection,
    LeadershipLost,
    ObjectKey,
    Watch,
    run,
    to_owner,
)
from dynkube.controllers._handover import WRITTEN, WrittenVersions, read_versions
from dynkube_testing import APIServer, Hang, Lag
from tests.controllers.kit import quiet
from tests.informers.kit import WIDGETS, crd, widget

ELECTION = LeaderElection("widgets", namespace="default")
CHILD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "child-"}}


class Process:
    """A process whose controller creates one child with a generated name for each widget."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.controller = Controller(WIDGETS, self.reconcile, owns=["configmaps"])
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.first_call = -1.0

    async def reconcile(self, ctx: Context, key: ObjectKey) -> None:
        if self.first_call < 0:
            self.first_call = trio.current_time()
        if ctx.get() is not None and not ctx.owned():
            await ctx.create(CHILD)

    async def run(self, server: APIServer, sharding: ControllerRing | None = None) -> None:
        election = ELECTION if sharding is None else None
        ours = partial(run, random=Random(self.name), now=lambda: datetime.now(UTC), election=election)
        with self.scope:
            async with dynkube.connect(transport=server.transport(self.name)) as client:
                with suppress(LeadershipLost):
                    await ours(client, self.controller, sharding=sharding)
        self.ended.set()

    async def stop(self) -> None:
        self.scope.cancel()
        await self.ended.wait()


@asynccontextmanager
async def leader_and_lagging_standby(server: APIServer, lag: float = 25.0) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes, of which the first one leads, and the watches of the second one lag behind."""
    server.create(crd())
    one, two = Process("one"), Process("two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(5)
        server.inject(Lag(lag), verb="watch", resource="configmaps")
        nursery.start_soon(two.run, server)
        await quiet(100)
        yield one, two
        nursery.cancel_scope.cancel()


def record(server: APIServer) -> dict[str, str]:
    found: dict[str, str] = json.loads(server.get("leases", "widgets")["metadata"]["annotations"][WRITTEN])
    return found


def set_record(server: APIServer, text: str) -> None:
    lease = server.get("leases", "widgets")
    lease["metadata"]["annotations"] = {WRITTEN: text}
    server.update(lease)


async def test_a_new_leader_makes_no_call_before_its_caches_show_what_the_leader_before_has_recorded(
    server: APIServer,
) -> None:
    async with leader_and_lagging_standby(server) as (one, two):
        server.create(widget("a"))
        await quiet(1)
        await one.stop()
        assert len(server.list("configmaps")) == 1
        await quiet(100)

        assert two.first_call > 0
        assert len(server.list("configmaps")) == 1


async def test_a_leader_that_could_not_release_its_lease_is_followed_without_a_second_child(server: APIServer) -> None:
    async with leader_and_lagging_standby(server, lag=40.0) as (one, two):
        server.create(widget("a"))
        await quiet(3)
        fault = server.inject(Hang(), resource="leases")
        await one.ended.wait()
        fault.remove()
        await quiet(100)

        assert two.first_call > 0
        assert len(server.list("configmaps")) == 1


async def test_the_lease_has_the_last_version_written_of_each_collection(server: APIServer) -> None:
    async with leader_and_lagging_standby(server) as (one, _):
        server.create(widget("a"))
        await quiet(1)
        await one.stop()

        child = server.list("configmaps")[0]
        assert record(server) == {"configmaps": child["metadata"]["resourceVersion"]}


async def test_a_standby_that_is_current_does_not_wait(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    one, two = Process("one"), Process("two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(5)
        nursery.start_soon(two.run, server)
        await quiet(5)
        await one.stop()
        ended = trio.current_time()
        await quiet(10)
        nursery.cancel_scope.cancel()

    assert 0 < two.first_call - ended <= 2.2 * 2.0


async def test_a_version_that_is_never_reached_is_waited_for_30_seconds_once(
    server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    server.create(widget("a"))
    one = Process("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(5)
        await one.stop()
        set_record(server, '{"configmaps": "18446744073709551615"}')
        two, began = Process("two"), trio.current_time()
        nursery.start_soon(two.run, server)
        await quiet(40)
        await two.stop()

    assert 30 <= two.first_call - began < 35
    assert "the cache of configmaps has not reached resourceVersion 18446744073709551615" in caplog.text
    assert record(server) == {}


@pytest.mark.parametrize("text", ["", "x", "[]", "[" * 9000, '{"configmaps": 5}', '{"configmaps": "new"}', "{" * 20000])
async def test_a_record_in_another_format_is_ignored(server: APIServer, text: str) -> None:
    server.create(crd())
    server.create(widget("a"))
    one, two = Process("one"), Process("two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(5)
        await one.stop()
        set_record(server, text)
        began = trio.current_time()
        nursery.start_soon(two.run, server)
        await quiet(5)
        await two.stop()

    assert 0 <= two.first_call - began < 5


async def test_a_leader_that_has_no_record_is_followed_at_once(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    spec = {"holderIdentity": "", "leaseDurationSeconds": 1}
    metadata = {"name": "widgets", "annotations": {"other": "x"}}
    server.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    one = Process("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(2)
        await one.stop()

    assert one.first_call == 0
    assert server.get("leases", "widgets")["metadata"]["annotations"]["other"] == "x"


async def test_a_resource_that_is_not_served_any_more_is_not_waited_for(server: APIServer) -> None:
    server.create(crd())
    one, two = Process("one"), Process("two")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server)
        await quiet(5)
        await one.stop()
        set_record(server, '{"widgets.example.com": "99999999"}')
        server.delete("customresourcedefinitions", crd()["metadata"]["name"])
        nursery.start_soon(two.run, server)
        await quiet(5)
        assert two.controller.status().phase == "Running"
        nursery.cancel_scope.cancel()


async def test_a_process_that_is_stopped_while_it_waits_ends_at_once(server: APIServer) -> None:
    async with leader_and_lagging_standby(server) as (one, two):
        server.create(widget("a"))
        await quiet(1)
        await one.stop()
        await quiet(6)
        stopped = trio.current_time()
        await two.stop()

        assert trio.current_time() == stopped
        assert two.first_call < 0
        assert record(server)["configmaps"]  # for the next one


def test_a_record_is_of_100_collections_and_16_kilobytes_at_most() -> None:
    written = WrittenVersions()
    written.take_over({})
    for number in range(1000):
        written.wrote(f"{'x' * 200}{number}", str(number))
    text = written.annotations()[WRITTEN]

    assert len(text) <= 16_384
    assert list(read_versions(text)) == [f"{'x' * 200}{number}" for number in range(1000)][-len(read_versions(text)) :]
    assert read_versions(json.dumps({str(number): "1" for number in range(1000)})).keys() == set(map(str, range(100)))


def test_an_older_or_opaque_version_does_not_replace_a_newer_one() -> None:
    written = WrittenVersions()
    written.take_over({WRITTEN: '{"pods": "20"}'})
    for version in ("9", "opaque", "", "1" * 21):
        written.wrote("pods", version)
    before = written.version("pods")
    written.wrote("pods", "100")

    assert (before, written.version("pods")) == ("20", "100")


async def test_a_process_that_leads_again_goes_on_with_its_own_record(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    for term in range(2):
        process = Process(f"term {term}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(process.run, server)
            await quiet(5)
            await process.stop()
        assert process.first_call >= 0
        assert record(server) == {"configmaps": server.list("configmaps")[0]["metadata"]["resourceVersion"]}


async def test_a_shard_of_a_ring_records_what_it_has_written_of_its_part(server: APIServer) -> None:
    ring = ControllerRing("rings", shard="widgets", namespace="default")
    server.create(crd())
    server.create(widget("a") | {"metadata": {"name": "a", "labels": {ring.shard_label: "widgets"}}})
    one = Process("one")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, server, ring)
        await quiet(5)
        await one.stop()

    assert record(server) == {"configmaps": server.list("configmaps")[0]["metadata"]["resourceVersion"]}


async def test_what_is_written_outside_of_a_selector_is_not_waited_for(server: APIServer) -> None:
    written: list[str] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        for name, labels in (("mine", {"app": "x"}), ("other", {"app": "y"})):
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
            written.append((await ctx.apply(config)).resource_version)

    server.create(crd())
    server.create(widget("a"))
    watch = Watch("configmaps", to=to_owner(), label_selector="app=x")
    async with dynkube.connect(transport=server.transport()) as client, trio.open_nursery() as nursery:
        nursery.start_soon(partial(run, client, Controller(WIDGETS, reconcile, watches=[watch]), election=ELECTION))
        await quiet(5)
        assert record(server) == {"configmaps?labelSelector=app=x": written[0]}
        nursery.cancel_scope.cancel()
