"""User functions that raise, never return, return something else or block, and invalid arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, Outcome, Requeue, Watch, run, to_index
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._settings import InjectedSettings
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

HOUR = 3600.0
CONTROLLER: Any = Controller  # for arguments that a type checker would reject
WATCH: Any = Watch
KEY: Any = ObjectKey


@pytest.fixture(autouse=True)
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


async def test_a_reconcile_that_never_returns_is_cancelled_at_its_timeout_and_retried(
    server: APIServer, client: dynkube.Client
) -> None:
    calls = Calls(seconds=HOUR)
    controller = Controller(WIDGETS, calls, timeout=5)
    async with running(client, controller, shutdown=0):
        await quiet(12)
        assert controller.status().outcomes == {Outcome.TIMEOUT: 2}
        assert "did not end within 5 s" in controller.status().failures[0].error

    assert calls.times == [0, 5.005, 10.015]


async def test_the_logged_traceback_of_a_reconcile_begins_in_the_reconcile(
    client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        ctx.list("services")

    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(1)

    frames = [line for line in caplog.text.splitlines() if line.startswith('  File "')]
    assert frames[0].endswith("in reconcile")


async def test_a_reconcile_that_returns_another_type_fails(server: APIServer, client: dynkube.Client) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> int:
        return 30

    controller = Controller(WIDGETS, reconcile)  # type: ignore[arg-type]
    async with running(client, controller):
        await quiet(1)
        assert "returned 30: return None or Requeue(after=...)" in controller.status().failures[0].error


async def test_a_failure_is_logged_with_its_key_at_growing_intervals(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(client, Controller(WIDGETS, Calls(*[ValueError("no")] * 100))):
        await quiet(60)

    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.__dict__["failures"] for record in logged] == [1, 2, 4, 8]
    assert {record.__dict__["key"] for record in logged} == {"default/a"}
    assert all(record.exc_info for record in logged)


async def test_a_mapper_that_raises_or_returns_no_keys_is_reported_and_others_continue(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def mapper(obj: Unstructured) -> list[tuple[str, str]]:
        if obj.name == "bad":
            raise KeyError("no")
        keys: dict[str, Any] = {"good": ("default", "mapped"), "slash": ("default", "a/b"), "not-a-key": "default"}
        return [keys[obj.name]]

    calls = Calls()
    controller = Controller(WIDGETS, calls, watches=[Watch("configmaps", to=mapper)])
    async with running(client, controller):
        await quiet(1)
        for name in ("bad", "not-a-key", "slash", "good"):
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        await quiet(1)
        assert controller.status().function_errors == 3
        assert "is not a key" in controller.status().last_function_error

    assert calls.keys == ["default/a", "default/mapped"]


async def test_the_keys_of_a_mapper_are_added_in_slices(server: APIServer) -> None:
    depths: set[int] = set()
    # On this clock every time slice is over at once.
    settings = InjectedSettings(cpu_clock=iter(range(10**9)).__next__, slice=0.5)
    keys = [("default", str(number)) for number in range(1000)]
    controller = Controller(WIDGETS, Calls(seconds=3600), watches=[Watch("configmaps", to=lambda obj: keys)])
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, running(client, controller):
        await quiet(1)
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        while max(depths, default=0) < len(keys):
            await trio.lowlevel.checkpoint()
            queue = controller.status().queue
            assert queue is not None
            depths.add(sum(queue.depth.values()))

    assert len(depths) > 100


async def test_a_change_is_reconciled_if_its_predicate_raises(server: APIServer, client: dynkube.Client) -> None:
    def predicate(old: Unstructured | None, new: Unstructured | None) -> bool:
        raise ValueError("no")

    calls = Calls()
    controller = Controller(WIDGETS, calls, predicate=predicate)
    async with running(client, controller):
        await quiet(1)
        assert controller.status().last_function_error == "predicate: ValueError: no"

    assert calls.keys == ["default/a"]


async def test_a_context_raises_after_its_reconcile_has_ended(server: APIServer, client: dynkube.Client) -> None:
    kept: list[Context] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        kept.append(ctx)

    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(1)
        with pytest.raises(ClosedError, match="reconcile of default/a that has ended"):
            kept[0].get()
        with pytest.raises(ClosedError, match="has ended"):
            await kept[0].apply(widget("a"))


async def test_a_duplicate_name_or_a_running_controller_is_rejected(server: APIServer, client: dynkube.Client) -> None:
    controller = Controller(WIDGETS, Calls())
    with pytest.raises(InvalidInput, match="2 controllers are named"):
        await run(client, controller, Controller(WIDGETS, Calls()))
    async with running(client, controller):
        await quiet(1)
        with pytest.raises(ClosedError, match="runs already"):
            await run(client, controller)
    with pytest.raises(InvalidInput, match="has no controllers"):
        await run(client)


async def test_a_closed_client_ends_the_run_with_an_error(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        pass
    with pytest.raises(ClosedError):
        await run(client, Controller(WIDGETS, Calls()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: CONTROLLER("a b", f), "a b"),
        (lambda f: CONTROLLER(WIDGETS, "reconcile"), "reconcile is a str"),
        (lambda f: CONTROLLER(WIDGETS, lambda key: None), "does not take two arguments"),
        (lambda f: CONTROLLER(WIDGETS, f, name="No Name"), "name='No Name'"),
        (lambda f: CONTROLLER(WIDGETS, f, owns="pods"), "owns is 'pods'"),
        (lambda f: CONTROLLER(WIDGETS, f, watches=["pods"]), r"pass a list of Watch"),
        (
            lambda f: CONTROLLER(WIDGETS, f, watches=[Watch("pods", to=to_index("theme"))]),
            "reads the index 'theme'.*indexes=",
        ),
        (lambda f: CONTROLLER(WIDGETS, f, namespace=[]), r"namespace=\[\]"),
        (lambda f: CONTROLLER(WIDGETS, f, concurrency=0), "concurrency=0"),
        (lambda f: CONTROLLER(WIDGETS, f, timeout=0), "timeout=0"),
        (lambda f: CONTROLLER(WIDGETS, f, resync=float("nan")), "resync=nan"),
        (lambda f: CONTROLLER(WIDGETS, f, rate_limiter=10), "rate_limiter is an int"),
        (lambda f: CONTROLLER(WIDGETS, f, finalizer="clean"), "finalizer is 'clean'"),
        (lambda f: CONTROLLER(WIDGETS, f, finalizer=("clean", f)), "pass a domain and a name"),
        (lambda f: WATCH("pods", to="owner"), "to is a str"),
        (lambda f: WATCH("pods", predicate=True), "predicate is a bool"),
        (lambda f: Requeue(after=0), "after=0"),
        (lambda f: Requeue(after=True), "after=True"),
        (lambda f: KEY.of(("a",)), "is not a key"),
    ],
)
async def test_the_error_for_an_invalid_argument_names_it(make: Callable[[Calls], object], message: str) -> None:
    await trio.lowlevel.checkpoint()
    with pytest.raises(InvalidInput, match=message):
        make(Calls())
