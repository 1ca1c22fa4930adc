"""``Controller(debounce=)``: a changed key waits for further changes, and nothing else waits."""

from __future__ import annotations

import pytest

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Requeue, Source, WorkQueue
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


async def change(server: APIServer, times: int, every: float) -> None:
    for size in range(times):
        server.update(widget("a", size=size))
        await quiet(every)


async def test_several_changes_are_one_call_that_sees_the_last(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, debounce=5)):
        await quiet(1)
        await change(server, 4, every=1)
        await quiet(60)

    assert calls.times == [0, 6]  # the initial object is not delayed
    assert calls.objects[1] is not None
    assert calls.objects[1]["spec"] == {"size": 3}


async def test_a_key_that_changes_without_end_is_reconciled_each_time_the_wait_has_passed(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls()
    async with running(client, Controller(WIDGETS, calls, debounce=5)):
        await quiet(1)
        await change(server, 20, every=1)
        await quiet(60)

    assert calls.times == [0, 6, 11, 16, 21]


async def test_the_wait_of_a_change_during_a_call_counts_from_the_change(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=4)
    async with running(client, Controller(WIDGETS, calls, debounce=5)):
        await quiet(1)
        await change(server, 3, every=1)
        await quiet(60)

    assert calls.times == [0, 6]


async def test_a_change_during_a_long_call_is_reconciled_at_once_afterwards(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=20)
    async with running(client, Controller(WIDGETS, calls, debounce=5)):
        await quiet(1)
        await change(server, 1, every=1)
        await quiet(60)

    assert calls.times == [0, 20]


async def test_retries_and_requeues_do_not_wait_for_it(client: dynkube.Client) -> None:
    calls = Calls(ValueError("fails"), Requeue(after=1))
    async with running(client, Controller(WIDGETS, calls, debounce=60)):
        await quiet(30)

    assert calls.times == [0, 0.005, 1.005]


async def test_a_call_that_is_due_earlier_covers_the_changes_so_far(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(Requeue(after=3))
    async with running(client, Controller(WIDGETS, calls, debounce=5)):
        await quiet(1)
        await change(server, 1, every=1)
        await quiet(60)

    assert calls.times == [0, 3]


async def test_the_deletion_of_an_object_with_a_finalizer_is_a_change(
    server: APIServer, client: dynkube.Client
) -> None:
    cleaned = Calls()
    controller = Controller(WIDGETS, Calls(), finalizer=("example.com/clean", cleaned), debounce=5)
    async with running(client, controller):
        await quiet(10)
        server.delete(WIDGETS, "a")
        await quiet(60)

    assert cleaned.times == [15]
    assert not server.list(WIDGETS)


async def test_the_first_reconcile_of_an_object_does_not_wait_after_its_finalizer_was_added(
    client: dynkube.Client,
) -> None:
    calls = Calls()
    controller = Controller(WIDGETS, calls, finalizer=("example.com/clean", Calls()), debounce=60)
    async with running(client, controller):
        await quiet(10)

    assert calls.times == [0]


async def test_own_writes_wait_as_other_changes_do(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await calls(ctx, key)
        obj = ctx.get()
        assert obj is not None
        if "by" not in obj["spec"]:
            await ctx.patch(obj, {"spec": {"by": "me"}})

    async with running(client, Controller(WIDGETS, reconcile, debounce=5)):
        await quiet(60)

    assert calls.times == [0, 5]


async def test_the_keys_of_sources_wait(client: dynkube.Client) -> None:
    calls, source = Calls(), Source()
    async with running(client, Controller(WIDGETS, calls, debounce=5, sources=[source])):
        await quiet(1)
        source.add(("default", "b"))
        source.add(("default", "c"), after=30)
        await quiet(60)

    assert calls.times == [0, 6, 31]


@pytest.mark.parametrize("wrong", [-1, float("inf"), "5", True])
async def test_a_wrong_wait_is_rejected(wrong: float) -> None:
    with pytest.raises(InvalidInput, match="debounce="):
        Controller(WIDGETS, Calls(), debounce=wrong)


async def test_a_queue_rejects_a_wrong_wait() -> None:
    with pytest.raises(InvalidInput, match="debounce=-1: pass 0 or more seconds"):
        WorkQueue[str](debounce=-1)
