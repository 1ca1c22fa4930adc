"""Metrics, spans and hooks of controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry

import dynkube
from dynkube.controllers import Context, Controller, LeaderElection, ObjectKey, Requeue, Terminal, run
from dynkube.errors import Conflict, Status
from dynkube.telemetry import Observer, OpenTelemetryTracing, PrometheusMetrics, ReconcileInfo, ReconcileOutcome
from dynkube_testing import APIServer
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

CONTROLLER = {"controller": "widgets"}
QUEUE = {"name": "widgets", "controller": "widgets"}


class ReconcileRecorder(Observer):
    """Records the reconciles."""

    def __init__(self) -> None:
        self.started: list[ReconcileInfo] = []
        self.finished: list[tuple[ReconcileInfo, ReconcileOutcome]] = []

    def reconcile_started(self, reconcile: ReconcileInfo) -> None:
        self.started.append(reconcile)

    def reconcile_finished(self, reconcile: ReconcileInfo, outcome: ReconcileOutcome) -> None:
        self.finished.append((reconcile, outcome))


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def recorder() -> ReconcileRecorder:
    return ReconcileRecorder()


@pytest.fixture
async def client(
    server: APIServer, registry: CollectorRegistry, exporter: InMemorySpanExporter, recorder: ReconcileRecorder
) -> AsyncIterator[dynkube.Client]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    server.create(crd())
    server.create(widget("a"))
    observers = [PrometheusMetrics(registry), OpenTelemetryTracing(provider), recorder]
    async with dynkube.connect(transport=server.transport(), observers=observers) as client:
        yield client


@pytest.mark.parametrize(
    ("result", "label", "errors"),
    [
        (None, "success", 0),
        (Requeue(after=1000), "requeue_after", 0),
        (Conflict(Status(409, "Conflict", "changed")), "conflict", 0),
        (KeyError("no"), "error", 1),
        (Terminal("no such theme"), "terminal", 1),
    ],
)
async def test_results_are_counted_under_controller_runtimes_names(
    result: Requeue | BaseException | None, label: str, errors: int, client: dynkube.Client, registry: CollectorRegistry
) -> None:
    async with running(client, Controller(WIDGETS, Calls(result), name="widgets")):
        await quiet(1)

    def value(name: str) -> float:
        return registry.get_sample_value(f"controller_runtime_{name}_total", CONTROLLER) or 0

    counted = registry.get_sample_value("controller_runtime_reconcile_total", {**CONTROLLER, "result": label})
    assert counted == 1
    assert (value("reconcile_errors"), value("terminal_reconcile_errors")) == (errors, int(label == "terminal"))


async def test_a_timeout_is_counted_as_error_and_as_timeout(
    client: dynkube.Client, registry: CollectorRegistry
) -> None:
    async with running(client, Controller(WIDGETS, Calls(seconds=60), name="widgets", timeout=5)):
        await quiet(5)

    names = ["controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_timeouts_total"]
    assert [registry.get_sample_value(name, CONTROLLER) for name in names] == [1, 1]
    assert registry.get_sample_value("controller_runtime_reconcile_time_seconds_sum", CONTROLLER) == 5


async def test_times_in_the_queue_and_in_work_are_histograms_and_gauges(
    server: APIServer, client: dynkube.Client, registry: CollectorRegistry
) -> None:
    server.create(widget("b"))
    async with running(client, Controller(WIDGETS, Calls(seconds=60), name="widgets")):
        await quiet(100)

        assert registry.get_sample_value("workqueue_queue_duration_seconds_sum", QUEUE) == pytest.approx(60)
        assert registry.get_sample_value("workqueue_work_duration_seconds_sum", QUEUE) == pytest.approx(60)
        assert registry.get_sample_value("workqueue_unfinished_work_seconds", QUEUE) == pytest.approx(40)
        assert registry.get_sample_value("workqueue_longest_running_processor_seconds", QUEUE) == pytest.approx(40)
        assert registry.get_sample_value("controller_runtime_active_workers", CONTROLLER) == 1
        assert registry.get_sample_value("controller_runtime_max_concurrent_reconciles", CONTROLLER) == 1


async def test_the_depth_of_the_queue_has_a_series_for_each_priority(
    server: APIServer, client: dynkube.Client, registry: CollectorRegistry
) -> None:
    async with running(client, Controller(WIDGETS, Calls(seconds=60), name="widgets")):
        await quiet(1)
        server.create(widget("b"))
        server.create(widget("c"))
        await quiet(1)
        depths = {p: registry.get_sample_value("workqueue_depth", {**QUEUE, "priority": p}) for p in ("0", "-100")}
        adds = registry.get_sample_value("workqueue_adds_total", QUEUE)

    assert (depths, adds) == ({"0": 2, "-100": None}, 3)


async def test_leadership_is_a_gauge_by_the_name_of_the_lease(
    client: dynkube.Client, registry: CollectorRegistry
) -> None:
    election = LeaderElection("sites", namespace="default")

    async def lead() -> None:
        await run(client, Controller(WIDGETS, Calls(), name="widgets"), election=election)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lead)
        await quiet(1)
        leads = registry.get_sample_value("leader_election_master_status", {"name": "sites"})
        nursery.cancel_scope.cancel()

    assert leads == 1
    assert registry.get_sample_value("leader_election_master_status", {"name": "sites"}) is None


async def test_ended_controllers_leave_no_gauges(client: dynkube.Client, registry: CollectorRegistry) -> None:
    async with running(client, Controller(WIDGETS, Calls(), name="widgets")):
        await quiet(1)

    assert registry.get_sample_value("workqueue_adds_total", QUEUE) is None
    assert registry.get_sample_value("controller_runtime_active_workers", CONTROLLER) is None


@pytest.mark.real_time
async def test_a_scrape_in_another_thread_includes_the_controllers(
    client: dynkube.Client, registry: CollectorRegistry
) -> None:
    called = trio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        called.set()
        await trio.sleep_forever()

    async with running(client, Controller(WIDGETS, reconcile, name="widgets"), shutdown=0):
        await called.wait()
        active = await trio.to_thread.run_sync(
            registry.get_sample_value, "controller_runtime_active_workers", CONTROLLER
        )

    assert active == 1


@pytest.mark.real_time
async def test_a_scrape_in_another_thread_includes_the_leadership_while_the_lease_is_renewed(
    client: dynkube.Client, registry: CollectorRegistry
) -> None:
    election = LeaderElection("sites", namespace="default", retry_period=0.001)
    called = trio.Event()

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await trio.lowlevel.checkpoint()
        called.set()

    async def lead() -> None:
        await run(client, Controller(WIDGETS, reconcile, name="widgets"), election=election)

    def scrape() -> set[float | None]:
        return {registry.get_sample_value("leader_election_master_status", {"name": "sites"}) for _ in range(50)}

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lead)
        await called.wait()
        assert await trio.to_thread.run_sync(scrape) == {1}
        nursery.cancel_scope.cancel()


# ── spans ────────────────────────────────────────────────────────────────────────────────────


def spans(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name.startswith(name)]


async def test_a_reconcile_is_a_separate_trace_with_its_requests(
    client: dynkube.Client, exporter: InMemorySpanExporter
) -> None:
    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key.name}})

    async with running(client, Controller(WIDGETS, reconcile, name="widgets")):
        await quiet(1)

    (whole,) = spans(exporter, "reconcile widgets")
    (request,) = spans(exporter, "PATCH")
    assert (whole.parent, request.parent) == (None, whole.context)
    assert whole.attributes is not None
    assert whole.attributes["k8s.request.name"] == "a"
    assert (whole.attributes["dynkube.result"], whole.attributes["dynkube.attempt"]) == ("success", 1)
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_the_span_of_a_failed_reconcile_has_the_error(
    client: dynkube.Client, exporter: InMemorySpanExporter
) -> None:
    async with running(client, Controller(WIDGETS, Calls(KeyError("no")), name="widgets")):
        await quiet(0.001)

    span = spans(exporter, "reconcile widgets")[0]
    assert (span.status.status_code, [event.name for event in span.events]) == (StatusCode.ERROR, ["exception"])


# ── hooks ────────────────────────────────────────────────────────────────────────────────────


async def test_hooks_get_the_key_the_attempt_and_the_error(client: dynkube.Client, recorder: ReconcileRecorder) -> None:
    failure = KeyError("no")
    async with running(client, Controller(WIDGETS, Calls(failure, seconds=2), name="widgets")):
        await quiet(10)

    (first, failed), (second, succeeded) = recorder.finished
    assert recorder.started == [first, second]
    assert (first.controller, first.resource, first.namespace, first.name) == ("widgets", WIDGETS, "default", "a")
    assert [first.attempt, second.attempt] == [1, 2]
    assert (failed.result, failed.error, failed.seconds) == ("error", failure, 2)
    assert (succeeded.result, succeeded.error) == ("success", None)


@pytest.mark.parametrize("timeout", [None, 100.0])
async def test_a_cancelled_reconcile_is_finished_too(
    client: dynkube.Client, recorder: ReconcileRecorder, timeout: float | None
) -> None:
    async with running(client, Controller(WIDGETS, Calls(seconds=600), name="widgets", timeout=timeout), shutdown=5):
        await quiet(1)

    ((_, outcome),) = recorder.finished
    assert (outcome.result, outcome.error, outcome.seconds) == ("cancelled", None, 6)


async def test_spans_and_hooks_have_the_cluster_if_it_has_a_name(
    client: dynkube.Client, exporter: InMemorySpanExporter, recorder: ReconcileRecorder
) -> None:
    for clusters in (client, {"east": client}):
        with trio.move_on_after(1):
            await run(clusters, Controller(WIDGETS, Calls(), name="widgets"))

    assert [dict(span.attributes or {}).get("dynkube.cluster") for span in spans(exporter, "reconcile")] == [
        None,
        "east",
    ]
    assert [info.cluster for info in recorder.started] == ["", "east"]
