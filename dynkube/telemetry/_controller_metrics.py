"""Prometheus metrics of controllers, with controller-runtime's names and buckets.

Calls are counted when they end. Queues, workers and leadership are read at each scrape, so controllers that have ended
leave no gauges behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from dynkube.telemetry._metric_families import counter, gauge
from dynkube.telemetry._observed import ObservedController, ObservedControllers
from dynkube.telemetry._records import ReconcileInfo, ReconcileOutcome

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

# The buckets of controller-runtime's pkg/internal/controller/metrics, and those of client-go's work queues.
_CALL: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE: Final = tuple(10.0**exponent for exponent in range(-8, 4))

_ERRORS: Final = frozenset({"error", "timeout", "terminal"})
_CLUSTER: Final = "cluster"  # left out of the output where it is empty, as it is unless there are several clusters
_CONTROLLER: Final = ("controller", _CLUSTER)
_QUEUE_LABELS: Final = ("name", "controller", _CLUSTER)


class ReconcileMetrics:
    """The counters and histograms of calls."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        self._calls = Counter(
            "controller_runtime_reconcile_total",
            "Number of reconciles, by controller and result.",
            ["controller", _CLUSTER, "result"],
            registry=None,
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconcile in seconds.",
            _CONTROLLER,
            buckets=_CALL,
            registry=None,
        )
        self._queued = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds for which a key was ready before it was taken.",
            _QUEUE_LABELS,
            buckets=_QUEUE,
            registry=None,
        )
        self._worked = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds for which a key was processed.",
            _QUEUE_LABELS,
            buckets=_QUEUE,
            registry=None,
        )
        self._errors = {
            name: Counter(f"controller_runtime_{name}_total", text, _CONTROLLER, registry=None)
            for name, text in (
                ("reconcile_errors", "Number of reconciles that failed; without conflicts."),
                ("terminal_reconcile_errors", "Number of reconciles that failed and are not retried."),
                ("reconcile_timeouts", "Number of reconciles that did not end within their deadline."),
            )
        }

        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        for each in (self._calls, self._seconds, self._queued, self._worked, *self._errors.values()):
            yield from map(_without_empty_cluster, each.collect())

    def started(self, reconcile: ReconcileInfo) -> None:
        """Record the start of a call."""
        name, cluster = reconcile.controller, reconcile.cluster
        self._queued.labels(name, name, cluster).observe(reconcile.queued)

    def finished(self, reconcile: ReconcileInfo, outcome: ReconcileOutcome) -> None:
        """Record one call."""
        name, cluster, result = reconcile.controller, reconcile.cluster, outcome.result
        self._calls.labels(name, cluster, result).inc()
        self._seconds.labels(name, cluster).observe(outcome.seconds)
        self._worked.labels(name, name, cluster).observe(outcome.seconds)
        if result in _ERRORS:
            self._errors["reconcile_errors"].labels(name, cluster).inc()
        if result == "terminal":
            self._errors["terminal_reconcile_errors"].labels(name, cluster).inc()
        if result == "timeout":
            self._errors["reconcile_timeouts"].labels(name, cluster).inc()


class ControllerCollector:
    """The metrics read at each scrape, which may happen on any thread.

    Args:
        runs: the running controllers; changed while it is in use.
    """

    def __init__(self, runs: Mapping[int, ObservedControllers]) -> None:
        self._runs = runs

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        statuses: list[ObservedController] = []
        leads: Counter[tuple[str, ...]] = Counter()
        for run in tuple(self._runs.values()):
            statuses += run.statuses()
            if (leadership := run.leadership()) is not None:
                leads[leadership[0],] |= int(leadership[1])
        text = "1 if this process is the leader, 0 if it is a candidate, by the name of the Lease."
        yield gauge("leader_election_master_status", text, ("name",), leads.items())
        yield from map(_without_empty_cluster, (*_workers(statuses), *_queues(statuses)))


def _without_empty_cluster(metric: Metric) -> Metric:
    """Leave out the label of the cluster where it is empty, which means the same to Prometheus."""
    metric.samples = [
        sample._replace(labels={name: value for name, value in sample.labels.items() if value or name != _CLUSTER})
        for sample in metric.samples
    ]
    return metric


def _workers(statuses: list[ObservedController]) -> Iterator[Metric]:
    limit, active, waiting = (Counter[tuple[str, ...]]() for _ in range(3))
    for status in statuses:
        labels = (status.name, status.cluster)
        limit[labels] += status.concurrency
        active[labels] += len(status.running)
        waiting[labels] += len(status.waiting_for_cache)
    text = "Number of keys that may be reconciled at a time."
    yield gauge("controller_runtime_max_concurrent_reconciles", text, _CONTROLLER, limit.items())
    text = "Number of keys that are being reconciled."
    yield gauge("controller_runtime_active_workers", text, _CONTROLLER, active.items())
    text = "Number of keys that wait until a cache shows what they have written, or whether their object exists."
    yield gauge("dynkube_controller_waiting_for_cache", text, _CONTROLLER, waiting.items())


def _queues(statuses: list[ObservedController]) -> Iterator[Metric]:
    depth, adds, retries = (Counter[tuple[str, ...]]() for _ in range(3))
    unfinished: dict[tuple[str, ...], float] = {}
    longest: dict[tuple[str, ...], float] = {}
    for status in statuses:
        queue = status.queue
        if queue is None:
            continue
        labels = (status.name, status.name, status.cluster)
        depth[*labels, "0"] += 0  # a series also while the queue is empty
        for priority, count in queue.depth.items():
            depth[*labels, str(priority)] += count
        adds[labels] += queue.adds
        retries[labels] += queue.retries
        unfinished[labels] = unfinished.get(labels, 0.0) + queue.unfinished_work_seconds
        longest[labels] = max(longest.get(labels, 0.0), queue.longest_running_seconds)
    text = "Number of keys that could be taken now."
    yield gauge("workqueue_depth", text, (*_QUEUE_LABELS, "priority"), depth.items())
    yield counter("workqueue_adds", "Number of keys that were added.", _QUEUE_LABELS, adds.items())
    yield counter(
        "workqueue_retries", "Number of keys that were added after a failure.", _QUEUE_LABELS, retries.items()
    )
    text = "Seconds for which the keys that are being processed have been processed so far."
    yield gauge("workqueue_unfinished_work_seconds", text, _QUEUE_LABELS, unfinished.items())
    text = "Seconds for which the key that is being processed longest has been processed so far."
    yield gauge("workqueue_longest_running_processor_seconds", text, _QUEUE_LABELS, longest.items())
