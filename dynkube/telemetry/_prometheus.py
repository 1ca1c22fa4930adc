"""Prometheus metrics, with client-go's and controller-runtime's names if these have such a metric.

So dashboards and alerts for client-go can be used. Requests, lists, watches and handler runs are counted in counters
and histograms when they happen. The state of informers and connections is collected at each scrape, so a closed
informer leaves no series behind. (Client-go's reflector metrics did, and were removed for this reason:
kubernetes/kubernetes#73587.) Informers that differ only in their ``transform`` share series: their numbers are summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dynkube.errors import ClosedError, ConfigError, InvalidInput
from dynkube.telemetry._controller_metrics import ControllerCollector, ReconcileMetrics
from dynkube.telemetry._metric_families import counter, gauge, single
from dynkube.telemetry._observed import ObservedClient, ObservedControllers, ObservedCounts, ObservedInformer
from dynkube.telemetry._observer import Observer
from dynkube.telemetry._records import (
    Collection,
    HandlerRun,
    ReconcileInfo,
    ReconcileOutcome,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

# The buckets of k8s.io/component-base/metrics/prometheus/{restclient,clientgo/fifo}.
_LATENCY: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_SIZE: Final = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
_PROCESSING: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

_PHASES: Final = ("UNKNOWN", "ABSENT", "SYNCING", "LIVE", "DEGRADED", "STOPPED")
_GVR: Final = ("name", "group", "version", "resource")
_INFORMER: Final = (*_GVR, "namespace", "label_selector", "field_selector")
_SHORT_WATCH: Final = 1.0
_VERSION_DIGITS: Final = 15  # number of last digits of a resourceVersion that are exported, as a float has 15 digits


class PrometheusMetrics(Observer):
    """Registers metrics of one or several clients.

    Pass it to each client: ``dynkube.connect(observers=[PrometheusMetrics()])``.

    Args:
        registry: the registry for the metrics; ``None`` for ``prometheus_client.REGISTRY``.
        name: value of the label ``name`` in metrics about informers, like client-go's ``InformerName``.

    Raises:
        ConfigError: the package ``prometheus-client`` is missing.
        InvalidInput: metrics of these names are registered already.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, name: str = "dynkube") -> None:
        try:
            import prometheus_client
        except ImportError as error:
            raise ConfigError(
                "PrometheusMetrics requires the package prometheus-client: pip install 'dynkube[prometheus]'"
            ) from error
        registry = prometheus_client.REGISTRY if registry is None else registry
        self._registry = registry
        self._name = name
        self._clients: dict[int, ObservedClient] = {}
        self._controllers: dict[int, ObservedControllers] = {}
        try:
            self._requests = _Requests(registry)
            self._work = _Work(registry)
            self._reconciles = ReconcileMetrics(registry)
            registry.register(_Scraped(self._clients, name))
            registry.register(ControllerCollector(self._controllers))
        except ValueError as error:
            raise InvalidInput(
                "the registry has metrics of these names already: pass the same PrometheusMetrics to all clients, "
                f"or use another registry ({error})"
            ) from error

    def exposition(self) -> tuple[str, bytes]:
        """Return the content type and the content of a ``/metrics`` page: all metrics in the registry.

        Takes some milliseconds for thousands of series; on any thread.
        """
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return CONTENT_TYPE_LATEST, generate_latest(self._registry)

    def client_opened(self, client: ObservedClient) -> None:
        """Include the client in scrapes."""
        self._clients[id(client)] = client

    def client_closed(self, client: ObservedClient) -> None:
        """Exclude the client from scrapes."""
        self._clients.pop(id(client), None)

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """Record one attempt of a request."""
        self._requests.observe(request, outcome)

    def list_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """Record one list."""
        labels = self._labels(collection)
        self._work.lists.labels(*labels).inc()
        self._work.list_seconds.labels(*labels).observe(outcome.seconds)
        self._work.list_items.labels(*labels).observe(outcome.items)

    def watch_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """Record one watch."""
        labels = self._labels(collection)
        self._work.watches.labels(*labels).inc()
        self._work.watch_seconds.labels(*labels).observe(outcome.seconds)
        self._work.watch_items.labels(*labels).observe(outcome.items)
        if outcome.seconds < _SHORT_WATCH and not outcome.items:
            self._work.short_watches.labels(*labels).inc()

    def handler_ran(self, collection: Collection, run: HandlerRun) -> None:
        """Record the duration of one handler run."""
        self._work.handlers.labels(*self._labels(collection)).observe(run.seconds)

    def controllers_started(self, controllers: ObservedControllers) -> None:
        """Include the controllers in scrapes."""
        self._controllers[id(controllers)] = controllers

    def controllers_stopped(self, controllers: ObservedControllers) -> None:
        """Exclude the controllers from scrapes."""
        self._controllers.pop(id(controllers), None)

    def reconcile_started(self, reconcile: ReconcileInfo) -> None:
        """Record for how long the key was queued."""
        self._reconciles.started(reconcile)

    def reconcile_finished(self, reconcile: ReconcileInfo, outcome: ReconcileOutcome) -> None:
        """Record one call of a reconcile function."""
        self._reconciles.finished(reconcile, outcome)

    def _labels(self, collection: Collection) -> tuple[str, str, str, str]:
        gvr = collection.gvr
        return self._name, gvr.group, gvr.version, gvr.resource


class _Requests:
    """client-go's ``rest_client_*`` metrics.

    As in client-go, the labels ``method`` and ``verb`` both have the HTTP method.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        host = ["verb", "host"]
        self._results = Counter(
            "rest_client_requests_total",
            "Number of HTTP requests, by status code, method and host.",
            ["code", "method", "host"],
            registry=registry,
        )
        self._retries = Counter(
            "rest_client_request_retries_total",
            "Number of request retries, by status code, verb and host.",
            ["code", "verb", "host"],
            registry=registry,
        )
        self._seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds, until the response is read; watches excluded.",
            host,
            buckets=_LATENCY,
            registry=registry,
        )
        self._sent = Histogram(
            "rest_client_request_size_bytes", "Request body size in bytes.", host, buckets=_SIZE, registry=registry
        )
        self._received = Histogram(
            "rest_client_response_size_bytes",
            "Response body size in bytes; watches excluded.",
            host,
            buckets=_SIZE,
            registry=registry,
        )
        self._throttled = Histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Client-side rate limiter latency in seconds (Limits.qps).",
            host,
            buckets=_LATENCY,
            registry=registry,
        )

    def observe(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """Record one attempt."""
        code = "<error>" if outcome.code is None else str(outcome.code)
        method, host = request.method, request.host
        self._results.labels(code, method, host).inc()
        if request.attempt > 1:
            self._retries.labels(code, method, host).inc()
        if request.throttled is not None:
            self._throttled.labels(method, host).observe(request.throttled)
        self._sent.labels(method, host).observe(request.body_bytes)
        if request.verb == "watch":
            return
        self._seconds.labels(method, host).observe(outcome.seconds)
        if outcome.code is not None:
            self._received.labels(method, host).observe(outcome.received)


class _Work:
    """client-go's ``informer_processing_latency_seconds`` and former ``reflector_*``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram, Summary

        self.handlers = Histogram(
            "informer_processing_latency_seconds",
            "Handler run time for one event in seconds.",
            _GVR,
            buckets=_PROCESSING,
            registry=registry,
        )
        self.lists = Counter(
            "reflector_lists_total", "Number of lists, including failed ones.", _GVR, registry=registry
        )
        self.list_seconds = Summary(
            "reflector_list_duration_seconds", "Duration of a list in seconds.", _GVR, registry=registry
        )
        self.list_items = Summary("reflector_items_per_list", "Number of objects in a list.", _GVR, registry=registry)
        self.watches = Counter("reflector_watches_total", "Number of watches that ended.", _GVR, registry=registry)
        self.short_watches = Counter(
            "reflector_short_watches_total",
            "Number of watches that ended within a second without events.",
            _GVR,
            registry=registry,
        )
        self.watch_seconds = Summary(
            "reflector_watch_duration_seconds", "Duration of a watch in seconds.", _GVR, registry=registry
        )
        self.watch_items = Summary("reflector_items_per_watch", "Number of events in a watch.", _GVR, registry=registry)


class _Scraped:
    """The metrics collected at each scrape, which may happen on any thread."""

    def __init__(self, clients: dict[int, ObservedClient], name: str) -> None:
        self._clients = clients
        self._name = name

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as of now."""
        informers: list[ObservedInformer] = []
        counts: list[ObservedCounts] = []
        for client in tuple(self._clients.values()):
            try:
                informers += client.informers()
                counts.append(client.statistics())
            except ClosedError:  # the client is being closed
                continue
        yield from _shared_names(self._name, informers)
        yield from _states(self._name, informers)
        yield from _numbers(self._name, informers)
        yield from _of_clients(counts)


def _gvr_labels(name: str, informer: ObservedInformer) -> tuple[str, ...]:
    return name, informer.gvr.group, informer.gvr.version, informer.gvr.resource


def _labels(name: str, informer: ObservedInformer) -> tuple[str, ...]:
    selectors = informer.label_selector, informer.field_selector
    return *_gvr_labels(name, informer), informer.namespace or informer.namespaces, *selectors


def _shared_names(name: str, informers: list[ObservedInformer]) -> Iterator[Metric]:
    """Yield metrics with client-go's names and labels (no namespace, no selectors)."""
    queued: Counter[tuple[str, ...]] = Counter()
    versions: dict[tuple[str, ...], float] = {}
    for informer in informers:
        labels = _gvr_labels(name, informer)
        queued[labels] += informer.backlog
        if informer.resource_version.isdigit():
            version = float(informer.resource_version[-_VERSION_DIGITS:])
            versions[labels] = min(version, versions.get(labels, version))
    yield gauge("informer_queued_items", "Number of objects queued for handlers.", _GVR, queued.items())
    text = "The 15 least significant digits of the last observed resourceVersion, of the informer furthest behind."
    yield gauge("informer_store_resource_version", text, _GVR, versions.items())


def _states(name: str, informers: list[ObservedInformer]) -> Iterator[Metric]:
    samples: Counter[tuple[str, ...]] = Counter()
    for informer in informers:
        for phase in _PHASES:
            samples[*_labels(name, informer), phase] |= int(informer.state.phase == phase)
    text = "1 for the current state of an informer, 0 for the others."
    yield gauge("dynkube_informer_state", text, (*_INFORMER, "state"), samples.items())


def _numbers(name: str, informers: list[ObservedInformer]) -> Iterator[Metric]:
    objects, backlog, users, restarts, failures, errors = (Counter[tuple[str, ...]]() for _ in range(6))
    lag: dict[tuple[str, ...], float] = {}
    for informer in informers:
        labels = _labels(name, informer)
        objects[labels] += informer.objects
        backlog[labels] += informer.backlog
        users[labels] += informer.users
        restarts[labels] += informer.restarts
        failures[labels] += informer.failures
        errors[labels] += informer.handler_errors
        if informer.lag is not None:
            lag[labels] = max(informer.lag, lag.get(labels, 0.0))
    yield gauge("dynkube_informer_objects", "Number of objects in the cache.", _INFORMER, objects.items())
    yield gauge("dynkube_informer_backlog", "Number of objects queued for handlers.", _INFORMER, backlog.items())
    yield gauge("dynkube_informer_users", "Number of informers that share the cache.", _INFORMER, users.items())
    yield gauge(
        "dynkube_informer_lag_seconds",
        "Seconds since the last event or response of the server.",
        _INFORMER,
        lag.items(),
    )
    yield counter("dynkube_informer_restarts", "Number of watches that were restarted.", _INFORMER, restarts.items())
    yield counter("dynkube_informer_failures", "Number of failed lists and watches.", _INFORMER, failures.items())
    yield counter(
        "dynkube_informer_handler_errors", "Number of events for which a handler raised.", _INFORMER, errors.items()
    )


def _of_clients(counts: list[ObservedCounts]) -> Iterator[Metric]:
    yield single("dynkube_client_open_watches", "Number of open watches.", sum(c.open_watches for c in counts))
    yield single(
        "dynkube_client_connections", "Number of connections, including idle ones.", sum(c.connections for c in counts)
    )
    calls: Counter[tuple[str, ...]] = Counter()
    for count in counts:
        for (code, status), number in count.plugin_calls.items():
            calls[str(code), status] += number
    text = "Number of exec plugin runs, by exit code and result."
    yield counter("rest_client_exec_plugin_call", text, ("code", "call_status"), calls.items())
