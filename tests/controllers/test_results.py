"""What follows from the end of a reconcile: its priority when it is called again, and which ends are timeouts."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.controllers import Context, Controller, ExponentialBackoff, ObjectKey, Outcome, Requeue
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("initial"))


@pytest.mark.parametrize("result", [Requeue(after=5), ValueError("no")], ids=repr)
async def test_a_key_that_is_requeued_or_retried_keeps_its_priority(
    server: APIServer, client: dynkube.Client, result: Requeue | Exception
) -> None:
    calls = Calls(result, seconds=2)
    async with running(client, Controller(WIDGETS, calls, rate_limiter=lambda: ExponentialBackoff(5, 5))):
        await quiet(6)
        server.create(widget("busy"))  # until 8 s; the initial object is ready again at 7 s, with low priority
        await quiet(1.5)
        server.create(widget("new"))
        await quiet(60)

    assert calls.keys == ["default/initial", "default/busy", "default/new", "default/initial"]
    assert calls.times == [0, 6, 8, 10]


async def test_a_reconcile_that_ends_within_its_timeout_is_a_success(client: dynkube.Client) -> None:
    controller = Controller(WIDGETS, Calls(seconds=4.9), timeout=5)
    async with running(client, controller):
        await quiet(60)
        assert controller.status().outcomes == {Outcome.SUCCESS: 1}


async def test_a_shorter_timeout_within_the_reconcile_is_an_error_and_no_timeout(client: dynkube.Client) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        with trio.fail_after(1):
            await trio.sleep_forever()

    controller = Controller(WIDGETS, reconcile, timeout=10)
    async with running(client, controller):
        await quiet(1.001)
        assert controller.status().outcomes == {Outcome.ERROR: 1}
        assert controller.status().failures[0].error.startswith("TooSlowError")
