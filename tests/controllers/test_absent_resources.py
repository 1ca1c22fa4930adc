"""A controller for a resource that is absent, or removed: it is not restarted, and does not affect others."""

from __future__ import annotations

import logging

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ControllerPhase, ObjectKey, Requeue
from dynkube_testing import APIServer, Refuse
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

HOUR = 3600.0


async def test_a_controller_starts_when_its_crd_is_installed(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    calls = Calls()
    async with running(client, Controller("widgets.example.com", calls)):
        await quiet(HOUR)
        server.create(crd())
        server.create(widget("a"))
        await quiet(1)

    assert calls.keys == ["default/a"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_objects_that_are_deleted_with_their_crd_are_reconciled_until_that_succeeds(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(None, *[ValueError()] * 3)
    server.create(crd(served=["v1"]))
    server.create(widget("a"))
    controller = Controller("widgets.example.com", calls)
    async with running(client, controller):
        await quiet(30)
        server.delete("crds", "widgets.example.com")
        await quiet(HOUR)
        assert calls.keys == ["default/a"] * 5
        assert [obj is None for obj in calls.objects] == [False, True, True, True, True]
        assert controller.status().failures == ()
        server.create(crd(served=["v2"]))
        server.create(widget("b") | {"apiVersion": "example.com/v2"})
        await quiet(1)

    assert calls.keys[5:] == ["default/b"]


async def test_objects_of_a_version_that_is_not_served_wait_as_they_may_still_exist(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd(served=["v2", "v1"]))
    for name in ("stays", "goes"):
        server.create(widget(name))
    controller = Controller(WIDGETS, calls)
    async with running(client, controller):
        await quiet(1)
        server.update(crd(served=["v2"]))
        await quiet(HOUR)
        assert sorted(calls.keys) == ["default/goes", "default/stays"]
        assert sorted(key.name for key in controller.status().waiting_for_cache) == ["goes", "stays"]
        server.delete("widgets.v2.example.com", "goes")
        server.update(crd(served=["v2", "v1"]))
        await quiet(10)
        assert controller.status().waiting_for_cache == {}

    assert calls.keys.count("default/goes") == 2
    assert [key for key, obj in zip(calls.keys, calls.objects, strict=True) if obj is None] == ["default/goes"]


async def test_a_key_that_fails_while_its_resource_is_removed_is_reconciled_when_it_returns(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(ValueError(), seconds=10)
    server.create(crd(served=["v2", "v1"]))
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(5)
        server.update(crd(served=["v2"]))
        await quiet(HOUR)
        assert calls.times == [0]
        server.update(crd(served=["v2", "v1"]))
        await quiet(HOUR)

    assert [obj is None for obj in calls.objects] == [False, False]


async def test_a_crd_may_come_go_and_come_with_another_version_beside_another_controller(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    widgets, configs = Calls(), Calls()
    async with running(client, Controller("widgets.example.com", widgets), Controller("configmaps", configs)):
        for version, name in (("v1", "a"), ("v2", "b")):
            await quiet(HOUR)
            server.create(crd(served=[version]))
            server.create(widget(name) | {"apiVersion": f"example.com/{version}"})
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
            await quiet(HOUR)
            assert (widgets.keys[-1], configs.keys[-1]) == (f"default/{name}", f"default/{name}")
            server.delete("crds", "widgets.example.com")

    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(caplog.records) <= 20, "states of informers and controllers, and nothing periodic"
    assert len(server.requests) <= 150, "three or four watches, each reopened every five to ten minutes for four hours"


async def test_a_resource_that_is_not_served_delays_no_other_controller(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd())
    server.create(widget("a"))
    absent = Controller("gadgets.example.com", Calls())
    async with running(client, absent, Controller(WIDGETS, calls)):
        await quiet(1)
        assert absent.status().phase is ControllerPhase.RUNNING

    assert calls.keys == ["default/a"]


async def test_an_owned_resource_that_is_not_served_is_reported_and_retried(
    server: APIServer, client: dynkube.Client
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await ctx.apply({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": key.name}})

    server.create(crd())
    server.create(widget("a"))
    controller = Controller(WIDGETS, reconcile, owns=["gadgets.example.com"])
    async with running(client, controller):
        await quiet(5)
        assert "Gadget" in controller.status().failures[0].error
        server.create(crd("gadgets"))
        await quiet(60)
        assert controller.status().failures == ()

    assert [each["metadata"]["name"] for each in server.list("gadgets")] == ["a"]


async def test_a_short_name_that_cannot_be_resolved_yet_is_retried(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    controller = Controller("widgets", calls)
    async with running(client, controller):
        await quiet(60)
        assert controller.status().phase is ControllerPhase.SYNCING
        assert "widgets" in controller.status().problem
        server.create(crd())
        server.create(widget("a"))
        await quiet(120)

    assert calls.keys == ["default/a"]


async def test_a_watch_without_permission_delays_only_its_own_controller(
    server: APIServer, client: dynkube.Client
) -> None:
    pending, other = Calls(), Calls()
    server.create(crd())
    server.create(widget("a"))
    fault = server.inject(Refuse(403), resource="secrets")
    blocked = Controller(WIDGETS, pending, name="blocked", owns=["secrets"])
    async with running(client, blocked, Controller(WIDGETS, other, name="other")):
        await quiet(60)
        assert (pending.keys, other.keys) == ([], ["default/a"])
        assert [state.reason for name, state in blocked.status().informers if name == "secrets"] == ["Forbidden"]
        fault.remove()
        await quiet(300)

    assert pending.keys == ["default/a"]


async def test_a_requeue_waits_until_it_is_known_whether_its_object_exists(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(*[Requeue(after=10)] * 2)
    server.create(crd(served=["v2", "v1"]))
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(15)
        server.update(crd(served=["v2"]))
        await quiet(HOUR)
        server.delete("crds", "widgets.example.com")
        await quiet(HOUR)

    assert calls.times == [0, 10, 15 + HOUR]
    assert [obj is None for obj in calls.objects] == [False, False, True]


async def test_no_key_is_reconciled_as_deleted_before_the_handler_knows_that_its_resource_is_gone(
    server: APIServer, client: dynkube.Client
) -> None:
    found: list[Unstructured | None] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue:
        found.append(ctx.get())
        await trio.lowlevel.checkpoint()
        return Requeue(after=10)

    server.create(crd(served=["v2", "v1"]))
    for number in range(500):
        server.create(widget(f"w{number}"))
    async with running(client, Controller(WIDGETS, reconcile, concurrency=10)):
        await trio.sleep(10)
        server.update(crd(served=["v2"]))  # while the keys are reconciled again
        await quiet(HOUR)

    assert 500 < len(found) < 1000
    assert None not in found


async def test_a_reconcile_that_runs_while_its_resource_goes_does_not_see_its_object_as_deleted(
    server: APIServer, client: dynkube.Client
) -> None:
    found: list[Unstructured | None] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.sleep(10)
        found.extend([ctx.get(), ctx.get(key.name)])

    server.create(crd(served=["v2", "v1"]))
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(5)
        server.update(crd(served=["v2"]))
        await quiet(HOUR)
        server.update(crd(served=["v2", "v1"]))
        await quiet(5)
        server.delete("crds", "widgets.example.com")
        await quiet(HOUR)

    assert [None if obj is None else obj.name for obj in found] == ["a", "a", None, None, None, None]


async def test_objects_of_a_crd_that_replaced_a_deleted_one_unseen_wait_as_well(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(crd(served=["v2", "v1"]))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(1)
        server.delete("crds", "widgets.example.com")
        await quiet(1)
        lost = server.inject(Refuse(403), resource="customresourcedefinitions")
        server.end_watches("customresourcedefinitions")
        await quiet(60)
        server.create(crd(served=["v2", "v1"]))
        server.create(widget("a"))
        await quiet(HOUR)
        server.update(crd(served=["v2"]))
        await quiet(HOUR)
        assert [obj is None for obj in calls.objects] == [False]
        server.delete("crds", "widgets.example.com")
        lost.remove()
        await quiet(HOUR)

    assert [obj is None for obj in calls.objects] == [False, True]
