"""The blocking API as used in the cells of a notebook."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
import dynkube.sync
from tests.contract.blocking.conftest import InThread
from tests.contract.cluster import Cluster

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]


def settings(name: str = "settings", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_objects_are_written_and_read(in_thread: InThread[object]) -> None:
    def cells(k: dynkube.sync.Client) -> object:
        maps = k.resource("cm")
        created = maps.create(settings(colour="blue"))
        patched = maps.patch("settings", {"data": {"size": "large"}})
        listed = maps.list(namespace=k.namespace, field_selector="metadata.name=settings")
        maps.delete("settings")
        return created["data"], patched["data"], list(listed) == [patched]

    assert await in_thread(cells) == ({"colour": "blue"}, {"colour": "blue", "size": "large"}, True)


async def test_an_informer_runs_between_the_calls(in_thread: InThread[object]) -> None:
    def cells(k: dynkube.sync.Client) -> object:
        maps = k.informer("configmaps", namespace=k.namespace, filter=lambda obj: obj.name.startswith("my-"))
        maps.wait_synced(timeout=60)
        with maps.events() as events:
            for name in ("theirs", "my-first"):
                maps.wait_for(k.resource("configmaps").create(settings(name)), timeout=60)
            seen = events.next(60)
        return [obj.name for obj in maps], type(seen)

    assert await in_thread(cells) == (["my-first"], dynkube.Added)


async def test_an_informer_becomes_live_when_its_crd_is_installed(
    cluster: Cluster, in_thread: InThread[object]
) -> None:
    crd = cluster.crd()
    gvr = dynkube.GVR(cluster.group, "v1", "widgets")

    def cells(k: dynkube.sync.Client) -> object:
        widgets = k.informer(gvr)
        widgets.wait_synced(timeout=60)
        absent = widgets.state.phase
        crds = k.resource("customresourcedefinitions")
        crds.create(crd)
        live = widgets.wait_state(dynkube.LIVE, timeout=60).phase
        crds.delete(crd["metadata"]["name"])
        return absent, live, widgets.wait_state(dynkube.ABSENT, timeout=60).phase

    assert await in_thread(cells) == (dynkube.ABSENT, dynkube.LIVE, dynkube.ABSENT)


async def test_availability_has_the_conditions_of_the_crd(cluster: Cluster, in_thread: InThread[object]) -> None:
    crd = cluster.crd()

    def cells(k: dynkube.sync.Client) -> object:
        widgets = k[f"widgets.{cluster.group}"]
        before = widgets.availability()
        k.resources.customresourcedefinitions.create(crd)
        with k.informer(dynkube.GVR(cluster.group, "v1", "widgets")) as informer:
            informer.wait_state(dynkube.LIVE, timeout=60)
            after = widgets.availability()
        pods = k.resources.pods.availability()
        return bool(before), before.conditions, after.versions, after.conditions, pods.definition

    established = {"NamesAccepted": "True", "Established": "True"}
    assert await in_thread(cells) == (False, {}, ("v1",), established, None)


async def test_a_conflicting_field_is_taken_over_by_its_path(in_thread: InThread[object]) -> None:
    def cells(k: dynkube.sync.Client) -> object:
        maps = k.resource("configmaps")
        maps.apply(settings(colour="blue"), field_manager="theirs")
        with pytest.raises(dynkube.errors.ApplyConflict) as caught:
            maps.apply(settings(colour="red"), field_manager="mine")
        (conflict,) = caught.value.conflicts
        taken = maps.apply(settings(colour="red"), field_manager="mine", force=[conflict.path])
        return conflict.manager, conflict.live, taken["data"]

    assert await in_thread(cells) == ("theirs", "blue", {"colour": "red"})


async def test_a_watch_yields_events(in_thread: InThread[object]) -> None:
    def cells(k: dynkube.sync.Client) -> object:
        maps = k.resource("configmaps")
        with maps.watch(namespace=k.namespace, field_selector="metadata.name=settings") as events:
            maps.create(settings())
            maps.delete("settings")
            return [type(events.next(60)), type(events.next(60))]

    assert await in_thread(cells) == [dynkube.Added, dynkube.Deleted]
