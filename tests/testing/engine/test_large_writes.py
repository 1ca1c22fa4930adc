"""Large writes are computed in a worker thread, and take concurrent writes into account."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest
import trio

from dynkube.errors import AlreadyExists, Forbidden, NotFound
from dynkube_testing._calls.api import MERGE_PATCH, Call, JSONObject
from tests.contract.objects import structural, version
from tests.testing.engine.cluster import NOW, Cluster, crd, widget

pytestmark = pytest.mark.real_time

TEXT = "x" * 10_000
WIDGETS = "widgets.example.com"


class Interrupted(Cluster):
    """A cluster in which a change is made in the event loop each time that a worker thread reads the clock."""

    def __init__(self, *changes: Callable[[Cluster], object]) -> None:
        self.changes = list(changes)
        self._loop = threading.get_ident()
        self.looks = 0
        super().__init__(now=self._now, managed_fields=True)
        self.create("customresourcedefinitions", crd())

    def _now(self) -> datetime:
        self.looks += threading.get_ident() != self._loop
        if threading.get_ident() != self._loop and self.changes:
            trio.from_thread.run_sync(self.changes.pop(0), self)
        return NOW

    async def large(self, *args: Any, **parts: Any) -> JSONObject:
        """Make a call in the way in which the server handles large requests on TCP."""
        call: Call = self.request(*args, size=len(TEXT), **parts)
        return (await self.engine.handle_in_thread_if_large(call)).document.data


def config(name: str = "a", **data: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def patch(body: JSONObject, cluster: Cluster) -> None:
    cluster.patch(WIDGETS, "a", body)


async def test_another_object_can_be_written_while_a_large_write_is_computed() -> None:
    cluster = Interrupted(lambda there: there.create("configmaps", config("other")))

    created = await cluster.large("create", WIDGETS, body=widget("a", spec={"text": TEXT}))

    other = cluster.get("configmaps", "other")["metadata"]["resourceVersion"]
    assert int(created["metadata"]["resourceVersion"]) == int(other) + 1
    assert cluster.get(WIDGETS, "a") == created


async def test_a_write_is_computed_in_a_thread_whatever_its_size_if_there_are_rules() -> None:
    cluster = Interrupted()
    text = {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}
    ruled = version(schema=structural(text=text))
    cluster.create("customresourcedefinitions", crd("gadgets", "Gadget", versions=[ruled]))
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"text": "b"}}

    await cluster.engine.handle_in_thread_if_large(cluster.request("create", "gadgets.example.com", body=gadget))

    assert cluster.looks > 0
    assert cluster.get("gadgets.example.com", "a")["spec"] == {"text": "b"}


async def test_a_patch_is_computed_again_if_the_object_has_changed() -> None:
    cluster = Interrupted()
    cluster.create(WIDGETS, widget("a", spec={"text": TEXT}))
    cluster.changes = [partial(patch, {"spec": {"theirs": 1}})]

    patched = await cluster.large("patch", WIDGETS, "a", body={"spec": {"mine": 2}}, content_type=MERGE_PATCH)

    assert patched["spec"] == {"text": TEXT, "theirs": 1, "mine": 2}


def quota(name: str, pods: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": {"pods": pods}}}


async def test_a_large_write_counts_for_a_quota_that_was_created_meanwhile() -> None:
    cluster = Interrupted()
    cluster.create("resourcequotas", quota("large", "9"))
    metadata = {"name": "p", "annotations": {"text": TEXT}}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    # The clock is read for managedFields, for creationTimestamp, and then for the first quota.
    nothing = [lambda there: None] * 2
    cluster.changes = [*nothing, lambda there: there.create("resourcequotas", quota("none", "0"))]

    with pytest.raises(Forbidden, match="exceeded quota: none"):
        await cluster.large("create", "pods", body=pod)


async def test_a_create_fails_if_the_name_is_taken_meanwhile() -> None:
    cluster = Interrupted(lambda there: there.create(WIDGETS, widget("a", spec={"mine": False})))

    with pytest.raises(AlreadyExists):
        await cluster.large("create", WIDGETS, body=widget("a", spec={"text": TEXT}))

    assert cluster.get(WIDGETS, "a")["spec"] == {"mine": False}


async def test_a_create_fails_if_its_namespace_is_deleted_meanwhile() -> None:
    cluster = Interrupted(lambda there: there.delete("namespaces", "blue"))
    cluster.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue"}})

    with pytest.raises((NotFound, Forbidden)):
        await cluster.large("create", "configmaps", body=config(text=TEXT), namespace="blue")

    assert cluster.names("configmaps", namespace="blue") == []


async def test_after_three_conflicts_a_write_is_computed_in_the_event_loop() -> None:
    cluster = Interrupted()
    cluster.create(WIDGETS, widget("a", spec={"text": TEXT}))
    cluster.changes = [partial(patch, {"spec": {"theirs": number}}) for number in range(5)]

    patched = await cluster.large("patch", WIDGETS, "a", body={"spec": {"mine": 2}}, content_type=MERGE_PATCH)

    assert patched["spec"] == {"text": TEXT, "theirs": 2, "mine": 2}


async def test_a_write_of_a_built_in_kind_is_computed_again_after_any_write_of_that_kind() -> None:
    cluster = Interrupted(lambda there: there.create("configmaps", config("other")))

    created = await cluster.large("create", "configmaps", body=config(text=TEXT))

    assert cluster.get("configmaps", "a") == created
    assert cluster.names("configmaps") == ["a", "other"]


async def test_a_cancelled_write_stores_nothing() -> None:
    scope = trio.CancelScope()
    cluster = Interrupted(lambda there: scope.cancel())

    with scope:
        await cluster.large("create", WIDGETS, body=widget("a", spec={"text": TEXT}))
    await cluster.large(
        "create", WIDGETS, body=widget("b", spec={"text": TEXT})
    )  # waits for the thread of the cancelled write

    assert cluster.names(WIDGETS) == ["b"]


async def test_a_large_crd_is_served_when_the_call_returns() -> None:
    cluster = Interrupted()

    schema = {"type": "object", "description": TEXT}
    await cluster.large("create", "customresourcedefinitions", body=crd("gadgets", "Gadget", schema=schema))

    assert cluster.serves("gadgets.v1.example.com")


async def test_queued_writes_are_computed_once_each() -> None:
    cluster = Interrupted()
    await cluster.large("create", "configmaps", body=config("first", text=TEXT))
    for_one = cluster.looks

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(partial(cluster.large, "create", "configmaps", body=config(f"c{number}", text=TEXT)))

    assert cluster.looks == 6 * for_one
    assert len(cluster.names("configmaps")) == 6
