"""Functions of controllers that block the event loop are reported by name, with the line of code."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import trio

import dynkube
from dynkube.controllers import BlockingContext, Context, Controller, ObjectKey, Watch, to_same_name
from dynkube.controllers._blocked_loop import BlockedLoop
from dynkube_testing import APIServer
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget

KEY = ObjectKey("default", "a")


class Reports(logging.Handler):
    """Collects the messages of the controllers' logger, in the thread that logs them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.arrived = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.arrived.set()

    @property
    def texts(self) -> list[str]:
        return [record.getMessage() for record in self.records]


@pytest.fixture
def reports() -> Iterator[Reports]:
    handler = Reports()
    logger = logging.getLogger("dynkube.controllers")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def block_until_reported(reports: Reports) -> None:
    assert reports.arrived.wait(30)


@pytest.mark.real_time
async def test_a_blocked_loop_is_reported_while_it_lasts_with_its_stack_and_when_it_ends(reports: Reports) -> None:
    blocked = BlockedLoop(time.monotonic, limit=0.01)
    with blocked.watching():
        with blocked.reconciling("sites", KEY):
            await trio.lowlevel.checkpoint()
            block_until_reported(reports)
            await trio.lowlevel.checkpoint()
        assert blocked.count("sites") == 1

    first, last = reports.texts
    assert first.startswith("controller sites: reconciling default/a has blocked the event loop for more than 0.01 s")
    assert last.startswith("controller sites: reconciling default/a blocked the event loop for ")
    assert "block_until_reported" in str(reports.records[0].stack_info)


@pytest.mark.real_time
async def test_a_task_started_by_the_reconcile_is_attributed_to_its_key(reports: Reports) -> None:
    blocked = BlockedLoop(time.monotonic, limit=0.01)

    async def child() -> None:
        await trio.lowlevel.checkpoint()
        block_until_reported(reports)

    with blocked.watching(), blocked.reconciling("sites", KEY):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)

    assert "reconciling default/a" in reports.texts[0]


@pytest.mark.real_time
async def test_other_tasks_of_the_program_and_of_other_runs_are_not_reported(reports: Reports) -> None:
    blocked, other = (BlockedLoop(time.monotonic, limit=0.01) for _ in range(2))
    never_set = threading.Event()

    with blocked.watching():
        await trio.lowlevel.checkpoint()
        assert not never_set.wait(0.05)
        with other.reconciling("sites", KEY):
            await trio.lowlevel.checkpoint()
            assert not never_set.wait(0.05)

    assert (reports.records, blocked.count("sites")) == ([], 0)


@pytest.mark.real_time
async def test_a_controller_counts_blocking_reconciles(
    server: APIServer, client: dynkube.Client, reports: Reports
) -> None:
    server.create(crd())
    server.create(widget("a"))
    done = trio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.lowlevel.checkpoint()
        block_until_reported(reports)
        done.set()

    controller = Controller(WIDGETS, reconcile)
    async with running(client, controller):
        await done.wait()
        assert controller.status().blocked_loop == 1


@pytest.mark.real_time
async def test_a_plain_function_may_block_its_thread(
    server: APIServer, client: dynkube.Client, reports: Reports
) -> None:
    server.create(crd())
    server.create(widget("a"))
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def reconcile(ctx: BlockingContext, key: ObjectKey) -> None:
        assert not reports.arrived.wait(1.6)
        token.run_sync_soon(done.set)

    controller = Controller(WIDGETS, reconcile)
    async with running(client, controller):
        await done.wait()

    assert controller.status().blocked_loop == 0


async def test_the_watching_thread_ends_with_the_run(client: dynkube.Client) -> None:
    async with running(client, Controller(WIDGETS, lambda ctx, key: None)):
        await quiet(1)
        assert [t.name for t in threading.enumerate() if "blocked" in t.name] == ["dynkube: blocked event loop"]

    assert [t.name for t in threading.enumerate() if "blocked" in t.name] == []


@pytest.mark.real_time
@pytest.mark.parametrize("function", ["mapper", "predicate"])
async def test_a_mapper_or_a_predicate_that_blocks_is_reported_by_name(
    server: APIServer, client: dynkube.Client, reports: Reports, function: str
) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "slow"}})
    done = trio.Event()

    def block(*objects: dynkube.Unstructured | None) -> list[str]:
        if any(obj is not None and obj.name == "slow" for obj in objects):
            done.set()
            block_until_reported(reports)
        return []

    blocking: dict[str, Any] = {"to": block} if function == "mapper" else {"to": to_same_name, "predicate": block}
    controller = Controller(WIDGETS, lambda ctx, key: None, watches=[Watch("configmaps", **blocking)])
    async with running(client, controller):
        await done.wait()
        assert controller.status().blocked_loop == 1

    first, last = reports.texts
    assert first.startswith(f"controller {controller.name}: the {function} for configmaps has blocked the event loop")
    assert last.startswith(f"controller {controller.name}: the {function} for configmaps blocked the event loop for ")
    assert "in block\n" in str(reports.records[0].stack_info)
