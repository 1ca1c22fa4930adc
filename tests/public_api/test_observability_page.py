"""The examples in docs/observability.md, and its tables of metrics and log fields."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from prometheus_client import CollectorRegistry, generate_latest

import dynkube
from dynkube import DEGRADED, LIVE, Client, JSONPathFilter
from dynkube.controllers import Context, Controller, LeaderElection, ObjectKey
from dynkube.controllers import run as run_controllers
from dynkube.telemetry import Observer, PrometheusMetrics
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, namespace, pod, widget
from tests.public_api.documents import python_blocks, run

PAGE = "docs/observability.md"
TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


@pytest.fixture
def shop(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> APIServer:
    """A cluster with a pod; ``dynkube.connect()`` connects to it."""
    server.create(namespace("shop"))
    server.create(pod("web", "shop"))
    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda **options: connect(**{"transport": server.transport()} | options))
    return server


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """The logger to which the page adds a handler."""
    logger = logging.getLogger("dynkube")
    handlers, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


async def test_the_table_of_the_page_has_the_reason_of_a_failure(
    shop: APIServer, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.fail(resource="pods", status=403)
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(DEGRADED)
        await run(python_blocks(PAGE)[0], {"client": client})

    shown = capsys.readouterr().out
    assert shown.startswith("RESOURCE")
    assert "pods.v1 Forbidden" in shown


async def test_the_statistics_of_the_page_are_printed(
    shop: APIServer, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(python_blocks(PAGE)[1], {"client": client})

    shown = capsys.readouterr().out
    assert "MapperStatistics(" in shown
    assert "informer statistics · LIVE" in shown


async def test_the_formatter_of_the_page_writes_the_fields(
    shop: APIServer, client: Client, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(python_blocks(PAGE)[2], {})

    async with client.informer("pods.v1", namespace="shop") as pods:
        await pods.wait_state(LIVE)

    assert '"gvr": "pods.v1", "namespace": "shop", "phase": "LIVE", "reason": "Watching"' in capsys.readouterr().err


async def test_the_metrics_the_spans_and_the_observer_of_the_page_run(
    shop: APIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics, spans, observer = python_blocks(PAGE)[3:]

    await run(metrics, {})
    assert 'dynkube_informer_objects{field_selector=""' in capsys.readouterr().out
    await run(spans, {})
    scope = await run(observer, {"dynkube": dynkube})

    assert isinstance(scope["slow_requests"], Observer)
    assert "pods.v1 UNKNOWN -> SYNCING Listing" in capsys.readouterr().out


async def test_the_table_of_metrics_is_complete(shop: APIServer) -> None:
    registry = CollectorRegistry()
    connected = dynkube.connect(observers=[PrometheusMetrics(registry)])
    async with connected as client, client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)
        exposed = set(re.findall(r"^# TYPE (\S+)", generate_latest(registry).decode(), re.MULTILINE))

    section = TEXT.split("## Metrics for Prometheus")[1].split("### Differences from client-go")[0]
    rows = [row for row in section.splitlines() if row.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    assert documented == {name for name in exposed if not name.endswith("_created")}


async def test_the_table_of_fields_has_all_fields_of_log_records(
    shop: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="dynkube")
    shop.create(crd())
    shop.create(widget("a"))
    shop.create(widget("b", n=1))
    broken: Any = lambda obj: obj["no such field"]  # noqa: E731  # as in users' code
    fault = shop.fail(resource="customresourcedefinitions", status=403)
    shop.fail(path_prefix="/apis", verb="", status=503, times=3)
    async with client.informer(WIDGETS, filter=JSONPathFilter("{.spec}") | broken) as widgets:
        widgets.add_handler(on_add=broken)
        await trio.sleep(60)
        fault.remove()
        await trio.sleep(600)

    assert fields(caplog) <= documented_fields()
    assert fields(caplog) >= {"gvr", "namespace", "phase", "reason", "previous", "handler", "error", "count"}


async def test_the_table_of_fields_has_those_of_controllers(
    shop: APIServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        ctx.log.info("begins")
        raise RuntimeError(key)

    caplog.set_level(logging.DEBUG, logger="dynkube")
    with trio.move_on_after(60):
        await run_controllers(client, Controller("pods", reconcile), election=LeaderElection("shop", namespace="shop"))

    assert fields(caplog) <= documented_fields()
    assert fields(caplog) >= {"controller", "key", "attempt", "failures", "error", "lease", "identity"}


def fields(caplog: pytest.LogCaptureFixture) -> set[str]:
    """Return the additional fields of dynkube's log records."""
    return {name for record in caplog.records if record.name.startswith("dynkube") for name in vars(record)} - STANDARD


def documented_fields() -> set[str]:
    """Return the fields in the table of the page."""
    section = TEXT.split("This is all of them:")[1].split("```")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


def test_every_block_of_the_page_is_run() -> None:
    assert len(python_blocks(PAGE)) == 6
