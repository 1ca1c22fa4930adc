"""``establish_delay``: CRDs become established after a delay."""

from __future__ import annotations

import math

import trio

from tests.contract.objects import CRDS, conditions
from tests.testing.engine.cluster import Cluster, crd

NAME = "widgets.example.com"


async def test_a_crd_is_established_after_the_delay() -> None:
    cluster = Cluster(establish_delay=5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        stream = cluster.watch(CRDS, timeoutSeconds="20")
        cluster.create(CRDS, crd())
        assert conditions(cluster.get(CRDS, NAME))["Established"] == ("False", "Installing")
        assert not cluster.kind("widgets").listed

        begin, established = trio.current_time(), 0.0
        async for batch in stream:
            if '"InitialNamesAccepted"' in batch[-1].line.decode():
                established = trio.current_time() - begin
        assert established == 5
        assert cluster.kind("widgets").listed
        nursery.cancel_scope.cancel()


async def test_deleting_a_crd_that_is_not_established_yet_cancels_its_delay() -> None:
    cluster = Cluster(establish_delay=5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.engine.run)
        cluster.create(CRDS, crd())
        await trio.sleep(3)
        cluster.delete(CRDS, NAME)
        cluster.create(CRDS, crd(scope="Cluster"))
        await trio.sleep(4.9)
        assert conditions(cluster.get(CRDS, NAME))["Established"][0] == "False"
        await trio.sleep(1)
        assert conditions(cluster.get(CRDS, NAME))["Established"][0] == "True"
        nursery.cancel_scope.cancel()


def test_with_an_infinite_delay_a_crd_is_never_established() -> None:
    cluster = Cluster(establish_delay=math.inf)
    cluster.create(CRDS, crd())

    assert conditions(cluster.get(CRDS, NAME))["Established"] == ("False", "Installing")


def test_scope_and_kind_may_change_before_a_crd_is_established() -> None:
    cluster = Cluster(establish_delay=5)
    cluster.create(CRDS, crd())

    names = {"kind": "Gadget", "listKind": None, "singular": None}
    changed = cluster.patch(CRDS, NAME, {"spec": {"scope": "Cluster", "names": names}})

    assert changed["spec"]["names"]["listKind"] == "GadgetList"
    assert changed["metadata"]["generation"] == 2
