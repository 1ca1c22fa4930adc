"""What follows from the end of a reconcile: its priority when it is called again, and which ends are timeouts."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import pytest
import trio

import dynkube
from dynkube.controllers import (
    Context,
    Controller,
    ExponentialBackoff,
    ObjectKey,
    Outcome,
    RateLimiter,
    Requeue,
    StatusServer,
    Terminal,
    Watch,
)
from dynkube.controllers._results import ReconcileTimeout, outcome_of
from dynkube.errors import AlreadyExists, Conflict, InvalidInput, Status
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


async def test_a_key_is_requeued_with_another_priority(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(Requeue(after=5, priority=10), seconds=2)
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(6)
        server.create(widget("busy"))  # until 8 s; the initial object is ready again at 7 s
        await quiet(0.5)
        server.create(widget("new"))
        await quiet(60)

    assert calls.keys == ["default/initial", "default/busy", "default/initial", "default/new"]


async def test_keys_of_a_watch_with_a_higher_priority_are_reconciled_first(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=2)
    watches = [Watch("configmaps", to=lambda obj: [("default", "urgent")], priority=10)]
    async with running(client, Controller(WIDGETS, calls, watches=watches)):
        await quiet(6)
        for name in ("busy", "new"):
            server.create(widget(name))
            await quiet()
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
        await quiet(60)

    assert calls.keys == ["default/initial", "default/busy", "default/urgent", "default/new"]


@pytest.mark.parametrize("priority", ["high", 1.5, True])
@pytest.mark.parametrize("place", [lambda each: Requeue(1, priority=each), lambda each: Watch("pods", priority=each)])
async def test_a_priority_that_is_no_integer_is_an_error(place: Callable[[object], object], priority: object) -> None:
    with pytest.raises(InvalidInput, match=f"priority={priority!r}: pass an integer"):
        place(priority)


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


def group(*failures: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("several", failures)


CONFLICT = Conflict(Status(409, "Conflict", "changed"))


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (group(Terminal("no")), Outcome.TERMINAL),
        (group(group(CONFLICT), Terminal("no")), Outcome.CONFLICT),
        (group(CONFLICT, ReconcileTimeout("late")), Outcome.TIMEOUT),
        (group(CONFLICT, ValueError("no")), Outcome.ERROR),
    ],
    ids=["terminal", "conflict", "timeout", "error"],
)
async def test_a_group_of_failures_counts_as_the_one_that_is_retried_most(failure: Exception, outcome: Outcome) -> None:
    assert outcome_of(failure, None) == (outcome, failure)


async def test_a_conflict_that_lasts_is_logged(client: dynkube.Client, caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        raise AlreadyExists(Status(409, "AlreadyExists", "it exists"))

    controller = Controller(WIDGETS, reconcile)
    with caplog.at_level(logging.INFO):
        async with running(client, controller):
            await quiet(3600)
            assert controller.status().failures[0].failures > 16

    logged = [record for record in caplog.records if "default/initial" in record.getMessage()]
    assert [(record.levelname, record.failures) for record in logged] == [("WARNING", 8), ("WARNING", 16)]  # type: ignore[attr-defined]


@pytest.mark.real_time
async def test_a_plain_wrapper_of_an_async_function_is_refused(client: dynkube.Client) -> None:
    failed = trio.Event()
    token = trio.lowlevel.current_trio_token()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        raise AssertionError

    def decorated(function: Callable[..., Awaitable[None]]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: object) -> object:
            token.run_sync_soon(failed.set)
            return function(*args)

        return wrapper

    controller = Controller(WIDGETS, decorated(reconcile))
    async with running(client, controller):
        await failed.wait()
        while not controller.status().failures:
            await trio.lowlevel.checkpoint()
        assert "returned a coroutine, which is not run" in controller.status().failures[0].error


async def test_async_predicates_and_readiness_checks_are_refused() -> None:
    async def check(*args: object) -> bool:
        raise AssertionError

    with pytest.raises(InvalidInput, match="predicate is an async function"):
        Watch("pods", predicate=check)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="an async function"):
        StatusServer(port=8080, checks={"database": check})


async def test_a_status_that_differs_only_in_json_is_written(server: APIServer, client: dynkube.Client) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        obj = ctx.get()
        assert obj is not None
        await ctx.set_status(obj, {"ready": True, "steps": [0, 1]})

    server.update(server.get(WIDGETS, "initial") | {"status": {"ready": 1, "steps": [0, 1]}}, subresource="status")
    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(1)

    assert server.get(WIDGETS, "initial")["status"]["ready"] is True


@pytest.mark.parametrize("delay", [ValueError("broken"), float("nan"), -1, "soon"], ids=repr)
async def test_a_rate_limiter_that_fails_is_an_error_of_the_key(client: dynkube.Client, delay: object) -> None:
    class Broken:
        def delay(self, key: Hashable, now: float) -> float:
            if isinstance(delay, Exception):
                raise delay
            return delay  # type: ignore[return-value]

        def forget(self, key: Hashable) -> None:
            raise ValueError("broken")

        def failures(self, key: Hashable) -> int:
            raise ValueError("broken")

    def limiter() -> RateLimiter[Hashable]:
        return Broken()

    calls = Calls(ValueError("no"), ValueError("no"))
    controller = Controller(WIDGETS, calls, rate_limiter=limiter)
    async with running(client, controller):
        await quiet(60)
        assert controller.status().function_errors == 3
        assert controller.status().last_function_error.startswith("rate limiter: ")

    assert calls.attempts == [1, 2, 3]
