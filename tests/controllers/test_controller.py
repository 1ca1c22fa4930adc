"""A controller: which changes it reconciles, when, and the effect of the result."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.controllers import (
    Context,
    Controller,
    ControllerPhase,
    ObjectKey,
    Outcome,
    Requeue,
    Terminal,
    Watch,
    run,
    to_index,
    to_label,
)
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import APIServer, Hang
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())


def config(name: str, **metadata: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


async def test_initial_objects_and_each_change_are_reconciled(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    server.create(widget("old"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(1)
        server.create(widget("new"))
        await quiet(1)
        server.update(widget("old", size=2))
        await quiet(1)
        server.delete(WIDGETS, "new")
        await quiet(1)

    assert calls.keys == ["default/old", "default/new", "default/old", "default/new"]
    assert [obj is not None for obj in calls.objects] == [True, True, True, False]


async def test_changes_while_a_key_is_reconciled_cause_one_call_afterwards(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=10)
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls, concurrency=4)):
        await quiet(1)
        for size in range(5):
            server.update(widget("a", size=size))
            await quiet(1)
        await quiet(60)

    assert calls.times == [0, 10]
    assert calls.objects[1] is not None
    assert calls.objects[1]["spec"] == {"size": 4}


async def test_keys_are_reconciled_concurrently_up_to_the_concurrency(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=10)
    for name in "abcde":
        server.create(widget(name))
    async with running(client, Controller(WIDGETS, calls, concurrency=2)):
        await quiet(60)

    assert calls.times == [0, 0, 10, 10, 20]


async def test_a_failing_key_is_retried_with_a_growing_delay_until_it_succeeds(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(*[ValueError("no")] * 4)
    server.create(widget("a"))
    controller = Controller(WIDGETS, calls)
    async with running(client, controller):
        await quiet(0.02)
        assert [each.error for each in controller.status().failures] == ["ValueError: no"]
        await quiet(60)
        assert controller.status().failures == ()

    assert calls.times == [0, 0.005, 0.015, 0.035, 0.075]
    assert calls.attempts == [1, 2, 3, 4, 5]


async def test_only_a_success_resets_the_delay(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(ValueError(), ValueError(), Requeue(after=1), ValueError(), None)
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(60)

    assert calls.times == [0, 0.005, 0.015, 1.015, 1.02]


async def test_a_requeue_is_reconciled_later_and_a_change_earlier(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(Requeue(after=30), Requeue(after=30), None)
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(35)
        server.update(widget("a", size=2))
        await quiet(300)

    assert calls.times == [0, 30, 35]


async def test_a_terminal_error_is_not_retried_until_the_object_changes(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(Terminal("no such theme"), None)
    server.create(widget("a"))
    controller = Controller(WIDGETS, calls)
    async with running(client, controller):
        await quiet(3600)
        assert [(each.outcome, each.failures) for each in controller.status().failures] == [(Outcome.TERMINAL, 1)]
        server.update(widget("a", size=2))
        await quiet(1)

    assert calls.times == [0, 3600]


async def test_a_conflict_is_retried_and_logged_only_at_debug_level(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(widget("a"))

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        if ctx.attempt == 1:
            await ctx.update(widget("a") | {"metadata": {"name": "a", "resourceVersion": "1"}})

    controller = Controller(WIDGETS, reconcile)
    async with running(client, controller):
        await quiet(1)
        outcomes = controller.status().outcomes

    assert outcomes == {Outcome.CONFLICT: 1, Outcome.SUCCESS: 1}
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


async def test_a_change_of_an_owned_object_reconciles_its_owner(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    owner = server.create(widget("a"))
    server.create(widget("b"))
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "a", "uid": owner["metadata"]["uid"]}
    async with running(client, Controller(WIDGETS, calls, owns=["configmaps"])):
        await quiet(1)
        server.create(config("of-a", ownerReferences=[{**reference, "controller": True}]))
        server.create(config("not-its-controller", ownerReferences=[reference]))
        server.create(config("of-another", ownerReferences=[{**reference, "controller": True, "uid": "gone"}]))
        await quiet(1)
        server.delete("configmaps", "of-a")
        await quiet(1)

    assert calls.keys[2:] == ["default/a", "default/a"]
    assert calls.times[2:] == [1, 2]


@pytest.mark.scenario("K26")
async def test_an_owner_is_found_by_any_version_in_the_owner_reference(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    uid = server.create(widget("a"))["metadata"]["uid"]
    owner = {"name": "a", "uid": uid, "controller": True}
    references = {
        "none": [],
        "another-kind": [{**owner, "apiVersion": "v1", "kind": "Pod", "uid": "of-a-pod"}],
        "another-version": [{**owner, "apiVersion": "example.com/v1alpha1", "kind": "Widget"}],
    }
    async with running(client, Controller(WIDGETS, calls, owns=["configmaps"])):
        for second, (name, given) in enumerate(references.items()):
            await quiet(second)
            server.create(config(name, ownerReferences=given))
        await quiet(1)

    assert (calls.keys, calls.times) == (["default/a"] * 2, [0, 3])


@pytest.mark.scenario("K28")
async def test_objects_created_before_and_after_the_start_are_reconciled(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(widget("before"))
    controller = Controller(WIDGETS, calls)
    async with running(client, controller):
        await quiet()
        assert (controller.status().phase, calls.keys) == (ControllerPhase.RUNNING, ["default/before"])
        server.create(widget("later"))
        await quiet()

    assert calls.keys == ["default/before", "default/later"]


async def test_a_watch_maps_objects_by_a_label_an_index_or_a_function(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    watches = [
        Watch("configmaps", to=to_label("widget")),
        Watch("secrets", to=to_index("theme")),
        Watch("namespaces", to=lambda obj: [("default", obj.name)]),
    ]
    server.create(widget("a", theme="dark"))
    controller = Controller(WIDGETS, calls, watches=watches, indexes={"theme": "{.spec.theme}"})
    async with running(client, controller):
        await quiet(1)
        calls.keys.clear()
        server.create(config("one", labels={"widget": "labelled"}))
        server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "dark"}})
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mapped"}})
        await quiet(1)

    assert sorted(calls.keys) == ["default/a", "default/labelled", "default/mapped"]


async def test_a_watch_may_receive_only_metadata(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    watch = Watch("configmaps", to=to_label("widget"), metadata_only=True)
    async with running(client, Controller(WIDGETS, calls, watches=[watch])):
        server.create(config("one", labels={"widget": "a"}))
        await quiet(1)
        caches = {str(status.gvr): status.metadata_only for status in client.informers()}

    assert calls.keys == ["default/a"]
    assert caches == {WIDGETS: False, "configmaps.v1": True}


async def test_a_watch_rejects_a_metadata_only_that_is_no_bool() -> None:
    with pytest.raises(InvalidInput, match="metadata_only must be True or False, not 'no'"):
        Watch("configmaps", metadata_only="no")  # type: ignore[arg-type]  # on purpose


async def test_an_update_reconciles_the_keys_of_the_object_before_and_after(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(config("one", labels={"widget": "a"}))
    async with running(client, Controller(WIDGETS, calls, watches=[Watch("configmaps", to=to_label("widget"))])):
        await quiet(1)
        server.update(config("one", labels={"widget": "b"}))
        await quiet(1)

    assert calls.keys[0] == "default/a"
    assert sorted(calls.keys[1:]) == ["default/a", "default/b"]


async def test_all_objects_are_reconciled_again_at_the_resync_interval(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    server.create(widget("a"))
    server.create(widget("b"))
    async with running(client, Controller(WIDGETS, calls, resync=600)):
        await quiet(1500)

    assert sorted(calls.keys) == ["default/a"] * 3 + ["default/b"] * 3
    assert 600 <= calls.times[2] <= 660


async def test_changes_overtake_the_initial_objects(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(seconds=1)
    for number in range(20):
        server.create(widget(f"initial-{number}"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(4.5)
        server.create(widget("new"))
        await quiet(60)

    assert calls.keys.index("default/new") == 5
    assert len(calls.keys) == 21


async def test_a_controller_watches_several_namespaces(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    for namespace in ("one", "two", "three"):
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        server.create(widget("a", namespace=namespace))
    async with running(client, Controller(WIDGETS, calls, namespace=["one", "two"])):
        await quiet(1)

    assert sorted(calls.keys) == ["one/a", "two/a"]
    assert all(calls.objects)


async def test_controllers_that_run_together_share_the_watch(server: APIServer, client: dynkube.Client) -> None:
    one, two = Calls(), Calls()
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, one, name="one"), Controller(WIDGETS, two, name="two")):
        await quiet(1)
        watches = [watch for watch in server.open_watches if watch.resource.resource == "widgets"]

    assert one.keys == two.keys == ["default/a"]
    assert len(watches) == 1


async def test_a_running_reconcile_may_end_within_the_shutdown_timeout(
    server: APIServer, client: dynkube.Client
) -> None:
    ended: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.sleep(5)
        ended.append(trio.current_time())

    server.create(widget("a"))
    server.create(widget("b"))
    start = trio.current_time()
    async with running(client, Controller(WIDGETS, reconcile), shutdown=10):
        await quiet(1)

    assert [at - start for at in ended] == [5]


async def test_an_event_of_the_last_reconcile_is_written_during_the_shutdown(
    server: APIServer, client: dynkube.Client
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.sleep(5)
        ctx.event("Finished")

    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, reconcile), shutdown=10):
        await quiet(1)

    assert [event["reason"] for event in server.list("events.events.k8s.io")] == ["Finished"]


async def test_a_run_that_is_cancelled_before_its_informers_are_synced_ends_at_once(
    server: APIServer, client: dynkube.Client
) -> None:
    server.inject(Hang(), resource=WIDGETS)
    controller = Controller(WIDGETS, Calls())
    start = trio.current_time()
    async with running(client, controller):
        await quiet(5)
        assert controller.status().phase is ControllerPhase.SYNCING

    assert trio.current_time() - start == 5


async def test_a_reconcile_that_does_not_end_in_time_is_cancelled(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(seconds=1000)
    server.create(widget("a"))
    start = trio.current_time()
    async with running(client, Controller(WIDGETS, calls), shutdown=10):
        await quiet(1)

    assert trio.current_time() - start == 11
    assert not calls.running


async def test_a_read_during_the_shutdown_of_the_client_raises_instead_of_returning_nothing(
    server: APIServer,
) -> None:
    reads: list[str] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        try:
            reads.append(repr(ctx.get()))
        except ClosedError as exc:
            reads.append(str(exc))

    server.create(widget("a"))
    with trio.move_on_after(1):
        async with (
            dynkube.connect(transport=server.transport()) as client,
            running(client, Controller(WIDGETS, reconcile)),
        ):
            await trio.sleep_forever()

    assert reads == ["the informers of this controller are closed, as its client is"]


async def test_a_run_that_is_cancelled_with_its_client_before_its_informers_are_synced_raises_nothing(
    server: APIServer,
) -> None:
    server.inject(Hang())

    with trio.move_on_after(1) as scope:
        async with dynkube.connect(transport=server.transport()) as client:
            await run(client, Controller(WIDGETS, Calls()))

    assert scope.cancelled_caught


async def test_a_distant_resync_does_not_delay_the_end(server: APIServer, client: dynkube.Client) -> None:
    start = trio.current_time()
    async with running(client, Controller(WIDGETS, Calls(), resync=3600)):
        await quiet(1)

    assert trio.current_time() - start == 1
