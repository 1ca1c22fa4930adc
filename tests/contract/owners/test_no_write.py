"""A request without changes writes nothing: resourceVersion and times stay the same, and there is no event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from tests.contract.backends import Backend
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, owners, pod, workload
from tests.contract.owners.kit import TEXT, Apply, Update, atomic, play, served, struct

Wait: TypeAlias = Callable[[], Awaitable[None]]


def revision(obj: JSONObject) -> str:
    text: str = obj["metadata"]["resourceVersion"]
    return text


@pytest.fixture
def a_second(cluster: Cluster, backend: Backend) -> Wait:
    """Waits until the time of ``managedFields``, which has whole seconds, would differ; only on a real server."""

    async def now() -> str:
        dry = await cluster.create("configmaps", config("clock"), params={"dryRun": "All"})
        return str(dry["metadata"]["creationTimestamp"])

    async def wait() -> None:
        if backend.real:
            before = await now()

            async def later() -> bool:
                return await now() > before

            await cluster.until(later)

    return wait


DEFAULTED = {"ref": atomic(struct(name=TEXT, namespace={**TEXT, "default": "here"})), "text": {**TEXT, "default": "x"}}
OBJECTS: dict[str, tuple[str, JSONObject]] = {
    "a config map": ("configmaps", config()),
    "a config map with empty maps": ("configmaps", {**config(labels={}, annotations={}), "data": {}}),
    "a deployment without defaulted fields": ("deployments", workload()),
    "a deployment with some defaults": (
        "deployments",
        workload(template={"metadata": {"labels": {"app": "d"}}, "spec": {**pod()["spec"], "securityContext": {}}}),
    ),
}


@pytest.mark.parametrize(("plural", "body"), OBJECTS.values(), ids=OBJECTS)
async def test_a_repeated_apply_writes_nothing(cluster: Cluster, a_second: Wait, plural: str, body: JSONObject) -> None:
    first = await cluster.apply(plural, body, "me")
    await a_second()

    again = await cluster.apply(plural, body, "me")

    assert again == first


@pytest.mark.since("1.31", "the time was updated, as for all objects with defaults")
async def test_a_repeated_apply_of_a_quantity_that_is_normalized_writes_nothing(
    cluster: Cluster, a_second: Wait
) -> None:
    containers = [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1000m"}}}]
    body = workload(template={"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}})
    first = await cluster.apply("deployments", body, "me")
    await a_second()

    again = await cluster.apply("deployments", body, "me")

    assert again == first


@pytest.mark.since("1.31", "the time was written again: https://github.com/kubernetes/kubernetes/issues/124605")
async def test_a_repeated_apply_of_an_atomic_map_with_defaults_writes_nothing(cluster: Cluster, a_second: Wait) -> None:
    await cluster.create_crd(cluster.crd(versions=[served(DEFAULTED)]))
    steps = [Apply("one", {"ref": {"name": "a"}})]
    first = await play(cluster, steps)
    await a_second()

    assert await play(cluster, steps) == first


@pytest.mark.since("1.22", "all applies of another manager were writes")
async def test_only_the_first_apply_of_another_manager_is_a_write(cluster: Cluster, a_second: Wait) -> None:
    created = await cluster.apply("configmaps", config(), "me")
    first = await cluster.apply("configmaps", config(), "other")
    await a_second()

    again = await cluster.apply("configmaps", config(), "other")

    assert revision(created) != revision(first) == revision(again)
    assert owners(again) == {"me": {"f:data": {"f:k": {}}}, "other": {"f:data": {"f:k": {}}}}


@pytest.mark.parametrize("manager", ["me", "other"])
async def test_an_update_or_patch_without_changes_writes_nothing(
    cluster: Cluster, a_second: Wait, manager: str
) -> None:
    created = await cluster.create("deployments", workload(), params={"fieldManager": "me"})
    await a_second()

    updated = await cluster.update("deployments", created, params={"fieldManager": manager})
    patched = await cluster.patch("deployments", "d", {"spec": created["spec"]}, params={"fieldManager": manager})

    assert revision(created) == revision(updated) == revision(patched)


async def test_an_update_with_values_that_are_normalized_writes_nothing(cluster: Cluster, a_second: Wait) -> None:
    containers = [{"name": "a", "image": "i", "resources": {"limits": {"memory": "2048Mi"}}}]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
    body = workload(
        "s",
        serviceName="s",
        template={"metadata": {"labels": {"app": "s"}}, "spec": {"containers": containers}},
        volumeClaimTemplates=[{"metadata": {"name": "c"}, "spec": claim}],
    )
    body["kind"] = "StatefulSet"
    created = await cluster.create("statefulsets", body, params={"fieldManager": "me"})
    await a_second()

    updated = await cluster.update("statefulsets", body, params={"fieldManager": "me"})

    assert revision(created) == revision(updated)


@pytest.mark.since("1.22", "applied empty structs were not owned")
async def test_giving_up_a_field_that_becomes_its_default_is_a_write(cluster: Cluster) -> None:
    """The manager owned the emptyDir that it had applied, and gives it up."""
    body = workload()
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    first = await cluster.apply("deployments", body, "me")
    body["spec"]["template"]["spec"]["volumes"] = [{"name": "v"}]

    again = await cluster.apply("deployments", body, "me")

    assert again["spec"] == first["spec"]
    assert revision(again) != revision(first)


@pytest.mark.since("1.27", "the time of the apply was updated")
async def test_a_creation_timestamp_in_an_apply_is_ignored(cluster: Cluster) -> None:
    first = await cluster.apply("configmaps", config(), "me")

    again = await cluster.apply("configmaps", config(creationTimestamp="2020-01-01T00:00:00Z"), "me")

    assert again == first


async def test_a_dry_run_of_an_apply_changes_nothing(cluster: Cluster) -> None:
    first = await cluster.apply("configmaps", config(), "me")

    dry = await cluster.apply("configmaps", {**config(), "data": {"k": "w"}}, "me", params={"dryRun": "All"})

    assert (dry["data"], revision(dry)) == ({"k": "w"}, revision(first))
    assert await cluster.get("configmaps", "a") == first


async def test_a_conflict_changes_nothing(widgets: Cluster) -> None:
    first = await play(widgets, [Apply("one", {"text": "a"})])

    assert await play(widgets, [Apply("two", {"text": "b", "number": 1}, conflicts={"text": "one"})]) == first


async def test_a_value_that_an_update_does_not_change_keeps_its_owner(widgets: Cluster) -> None:
    first = await play(widgets, [Apply("one", {"text": "a"})])

    assert await play(widgets, [Update("ctl", {"text": "a"})]) == first


async def test_the_time_of_an_owner_is_that_of_its_last_write(
    cluster: Cluster, backend: Backend, a_second: Wait
) -> None:
    if not backend.real:
        pytest.skip("the embedded server runs in virtual time")
    first = await cluster.apply("configmaps", config(), "me")
    await a_second()
    other = await cluster.patch("configmaps", "a", {"data": {"l": "w"}}, params={"fieldManager": "other"})
    await a_second()

    again = await cluster.apply("configmaps", {**config(), "data": {"k": "x"}}, "me")

    times = [
        {entry["manager"]: entry["time"] for entry in obj["metadata"]["managedFields"]} for obj in (first, other, again)
    ]
    assert times[0]["me"] == times[1]["me"] < times[1]["other"] == times[2]["other"] < times[2]["me"]
