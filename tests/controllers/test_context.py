"""Reads and writes of a reconcile through its context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, Requeue, Result, StatusCondition, Watch
from dynkube.controllers._applied import AppliedBefore
from dynkube.errors import Conflict, InvalidInput
from dynkube_testing import APIServer, Refuse
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget

Body = Callable[[Context, Unstructured], Awaitable[Result]]


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(with_status(crd()))
    server.create(widget("a"))


def with_status(crd_body: dict[str, Any]) -> dict[str, Any]:
    crd_body["spec"]["versions"][0]["subresources"] = {"status": {}}
    return crd_body


def config(name: str = "child", value: str = "1", **metadata: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"value": value}}


def reconciling(body: Body, **options: Any) -> Controller:
    """Return a controller that calls ``body`` for existing objects."""

    async def reconcile(ctx: Context, key: ObjectKey) -> Result:
        obj = ctx.get()
        return None if obj is None else await body(ctx, obj)

    return Controller(WIDGETS, reconcile, **{"name": "test", "owns": ["configmaps"], **options})


def requests(server: APIServer, resource: str = "configmaps") -> list[str]:
    """Return the requests for a resource, without those of informers."""
    sent = [each for each in server.audit if each.resource is not None and each.resource.resource == resource]
    return [each.verb for each in sent if each.verb not in ("list", "watch")]


async def test_the_error_about_an_unknown_index_names_only_those_of_the_user(client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        ctx.by_index("theme", "dark")

    controller = reconciling(body, indexes={"colour": "{.spec.colour}"})
    async with running(client, controller):
        await quiet(1)

        assert "no index 'theme' (known: colour); pass indexes={...}" in controller.status().failures[0].error


async def test_an_applied_object_gets_namespace_owner_and_field_manager(
    server: APIServer, client: dynkube.Client
) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.apply(config())

    async with running(client, reconciling(body)):
        await quiet(1)

    child = server.get("configmaps", "child", "default")
    owner = server.get(WIDGETS, "a")
    (reference,) = child["metadata"]["ownerReferences"]
    assert reference["uid"] == owner["metadata"]["uid"]
    assert reference["controller"] is True
    assert [entry["manager"] for entry in child["metadata"]["managedFields"]] == ["test"]


async def test_an_apply_without_changes_sends_nothing(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> Requeue:
        await ctx.apply(config())
        return Requeue(after=10)

    async with running(client, reconciling(body)):
        await quiet(95)

    assert requests(server) == ["patch"]


async def test_an_apply_is_sent_again_if_the_object_or_the_fields_have_changed(
    server: APIServer, client: dynkube.Client
) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.apply(config(value=obj["spec"].get("value", "1")))

    async with running(client, reconciling(body)):
        await quiet(1)
        child = server.get("configmaps", "child", "default")
        server.update({**child, "data": {"value": "changed by another"}})
        await quiet(1)
        assert server.get("configmaps", "child", "default")["data"] == {"value": "1"}
        server.update(widget("a", value="2"))
        await quiet(1)

    assert server.get("configmaps", "child", "default")["data"] == {"value": "2"}
    assert requests(server) == ["patch"] * 3


@pytest.mark.parametrize("whole_as_well", [False, True])
async def test_an_apply_beside_a_cache_of_metadata_returns_the_whole_object(
    server: APIServer, client: dynkube.Client, whole_as_well: bool
) -> None:
    stored: list[Unstructured] = []

    async def body(ctx: Context, obj: Unstructured) -> Requeue:
        stored.append(await ctx.apply(config()))
        return Requeue(after=10)

    watches = [Watch("configmaps", metadata_only=True)]
    owns = ["configmaps"] if whole_as_well else []
    async with running(client, reconciling(body, owns=owns, watches=watches)):
        await quiet(25)

    assert {obj["data"]["value"] for obj in stored} == {"1"}
    assert set(requests(server)) == ({"patch"} if whole_as_well else {"patch", "get"})


async def test_a_deleted_child_is_applied_again(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.apply(config())

    async with running(client, reconciling(body)):
        await quiet(1)
        server.delete("configmaps", "child", "default")
        await quiet(1)

    assert requests(server) == ["patch", "patch"]


async def test_apply_owned_deletes_all_other_owned_objects(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.apply_owned([config(name) for name in obj["spec"]["children"]])

    server.update(widget("a", children=["x", "y"]))
    server.create(config("not-owned"))
    async with running(client, reconciling(body)):
        await quiet(1)
        server.update(widget("a", children=["y", "z"]))
        await quiet(1)

    assert [each["metadata"]["name"] for each in server.list("configmaps")] == ["not-owned", "y", "z"]


async def test_a_condition_is_sent_once_and_its_time_moves_with_its_status_only(
    server: APIServer, client: dynkube.Client
) -> None:
    async def body(ctx: Context, obj: Unstructured) -> Requeue:
        await ctx.set_status(obj, {"replicas": 3}, conditions=[StatusCondition("Ready", True, "AllUp")])
        return Requeue(after=10)

    async with running(client, reconciling(body)):
        await quiet(60)

    status = server.get(WIDGETS, "a")["status"]
    assert status["replicas"] == 3
    assert status["conditions"][0]["lastTransitionTime"] == "2026-11-01T00:00:00Z"
    assert status["conditions"][0]["observedGeneration"] == 1
    assert requests(server, "widgets") == ["patch"]


async def test_objects_within_the_status_are_merged_and_sent_once(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> Requeue:
        await ctx.set_status(obj, {"pods": {"ready": 3, "failed": None}, "names": ["x"], "old": None})
        return Requeue(after=10)

    stored = server.get(WIDGETS, "a")
    status = {"pods": {"all": 5, "failed": 1}, "names": ["x", "y"], "old": 1}
    server.update({**stored, "status": status}, subresource="status")
    async with running(client, reconciling(body)):
        await quiet(60)

    assert server.get(WIDGETS, "a")["status"] == {"pods": {"all": 5, "ready": 3}, "names": ["x"]}
    assert requests(server, "widgets") == ["patch"]


async def test_conditions_settle_without_a_status_subresource(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.set_conditions(obj, StatusCondition("Ready", None, "Starting"))

    server.update(crd())
    async with running(client, reconciling(body)):
        await quiet(1)

    assert "observedGeneration" not in server.get(WIDGETS, "a")["status"]["conditions"][0]
    assert requests(server, "widgets") == ["patch"]


async def test_a_status_update_fails_if_the_object_has_changed(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        if ctx.attempt == 1:
            server.update(widget("a", size=2))
        await ctx.set_status(obj, {"size": obj["spec"].get("size", 1)})

    async with running(client, reconciling(body)):
        await quiet(1)

    assert server.get(WIDGETS, "a")["status"] == {"size": 2}


@pytest.mark.parametrize("unchanged", [True, False])
async def test_a_delete_may_require_that_the_object_has_not_changed(
    server: APIServer, client: dynkube.Client, unchanged: bool
) -> None:
    errors: list[Exception] = []

    async def body(ctx: Context, obj: Unstructured) -> None:
        child = ctx.get("child", resource="configmaps")
        if child is not None and not errors:
            server.update({**config(), "data": {"needed": "again"}})
            try:
                await ctx.delete(child, unchanged=unchanged)
            except Conflict as exc:
                errors.append(exc)

    server.create(config())
    async with running(client, reconciling(body)):
        await quiet(1)

    assert (len(server.list("configmaps")), len(errors)) == ((1, 1) if unchanged else (0, 0))


async def test_a_delete_of_an_object_that_was_created_again_leaves_it(
    server: APIServer, client: dynkube.Client
) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        child = ctx.get("child", resource="configmaps")
        if child is not None and not obj["spec"].get("done"):
            server.delete("configmaps", "child", "default")
            server.create(config())
            server.update(widget("a", done=True))
            await ctx.delete(child)

    server.create(config())
    async with running(client, reconciling(body)):
        await quiet(60)

    assert len(server.list("configmaps")) == 1


async def test_a_finalizer_is_added_before_the_first_reconcile_whatever_the_predicate_says(
    server: APIServer, client: dynkube.Client
) -> None:
    finalizers: list[object] = []

    async def body(ctx: Context, obj: Unstructured) -> None:
        finalizers.append(obj["metadata"].get("finalizers"))

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        raise AssertionError

    finalizer = ("example.com/clean", clean_up)
    async with running(client, reconciling(body, finalizer=finalizer, predicate=lambda old, new: old is None)):
        await quiet(1)

    assert finalizers == [["example.com/clean"]]


async def test_an_object_that_is_deleted_without_the_finalizer_is_left_alone(
    server: APIServer, client: dynkube.Client
) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        raise AssertionError

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        raise AssertionError

    server.create(widget("b") | {"metadata": {"name": "b", "finalizers": ["example.com/another"]}})
    server.delete(WIDGETS, "b")
    server.delete(WIDGETS, "a")
    controller = reconciling(body, finalizer=("example.com/clean", clean_up))
    async with running(client, controller):
        await quiet(1)
        assert controller.status().failures == ()

    assert requests(server, "widgets") == []


async def test_a_clean_up_is_called_until_it_is_done(server: APIServer, client: dynkube.Client) -> None:
    steps: list[str] = []

    async def body(ctx: Context, obj: Unstructured) -> None:
        steps.append("reconcile")

    async def clean_up(ctx: Context, key: ObjectKey) -> Result:
        steps.append("clean up")
        return Requeue(after=5) if steps.count("clean up") < 3 else None

    async with running(client, reconciling(body, finalizer=("example.com/clean", clean_up))):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(60)

    assert steps == ["reconcile", "clean up", "clean up", "clean up"]
    assert server.list(WIDGETS) == []


async def test_an_object_in_another_namespace_or_of_the_cluster_cannot_be_owned(
    server: APIServer, client: dynkube.Client
) -> None:
    errors: list[str] = []

    async def body(ctx: Context, obj: Unstructured) -> None:
        for child in (
            config(namespace="kube-system"),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
        ):
            with pytest.raises(InvalidInput) as caught:
                await ctx.apply(child)
            errors.append(str(caught.value))
            await ctx.apply(child, owned=False)

    async with running(client, reconciling(body)):
        await quiet(1)

    assert "owns only objects there" in errors[0]
    assert "is cluster-scoped" in errors[1]
    assert server.get("namespaces", "x")


async def test_a_resource_that_is_not_watched_cannot_be_read(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        ctx.list("secrets")

    controller = reconciling(body)
    async with running(client, controller):
        await quiet(1)
        (failure,) = controller.status().failures

    assert "does not watch secrets" in failure.error
    assert "add it to owns= or watches=" in failure.error


async def test_an_error_response_to_a_write_is_an_error_of_the_key(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        await ctx.apply(config())

    controller = reconciling(body)
    server.inject(Refuse(403), verb="patch", resource="configmaps", duration=30)
    async with running(client, controller):
        await quiet(20)
        assert controller.status().failures[0].error.startswith("Forbidden")
        await quiet(60)
        assert controller.status().failures == ()


async def test_objects_are_read_by_any_name_of_their_resource(server: APIServer, client: dynkube.Client) -> None:
    found: list[object] = []

    async def body(ctx: Context, obj: Unstructured) -> None:
        names = ("configmaps", "configmaps.v1.", dynkube.GVR("", "v1", "configmaps"))
        found.extend(len(ctx.list(each)) for each in names[::2])
        found.append(ctx.get(("default", "child"), resource="configmaps") is not None)
        found.append([each.name for each in ctx.list("configmaps", label_selector="a=b")])

    server.create(config(labels={"a": "b"}))
    async with running(client, reconciling(body)):
        await quiet(1)

    assert found == [1, 1, True, ["child"]]


async def test_a_deleted_object_is_not_confused_with_an_owned_one_of_the_same_name(
    server: APIServer, client: dynkube.Client
) -> None:
    found: list[str | None] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        obj = ctx.get()
        found.append(None if obj is None else obj.kind)

    server.create(config("a"))
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(1)

    assert found == ["Widget", None]


async def test_writes_without_the_context_are_recorded_by_wrote(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> Requeue:
        if not ctx.list("configmaps"):
            stored = await ctx.client.resource("configmaps").create(config() | {"metadata": {"generateName": "x-"}})
            await ctx.wrote(stored)
        return Requeue(after=0.001)

    async with running(client, reconciling(body)):
        await quiet(1)

    assert len(server.list("configmaps")) == 1


async def test_an_event_is_written_about_the_reconciled_object(server: APIServer, client: dynkube.Client) -> None:
    async def body(ctx: Context, obj: Unstructured) -> None:
        ctx.event("Scaled", "to 3 replicas")

    async with running(client, reconciling(body)):
        await quiet(1)

    (event,) = server.list("events.events.k8s.io")
    assert (event["reason"], event["note"], event["regarding"]["name"]) == ("Scaled", "to 3 replicas", "a")
    assert event["reportingController"] == "test"


async def test_only_the_last_thousand_applied_objects_are_remembered() -> None:
    await trio.lowlevel.checkpoint()
    applied, objects = AppliedBefore(), [Unstructured(config(f"child-{number}")) for number in range(1001)]
    for obj in objects:
        applied.remember("configmaps", obj, obj)

    assert [applied.unchanged("configmaps", obj, obj) for obj in (objects[0], objects[1], objects[-1])] == [
        False,
        True,
        True,
    ]
