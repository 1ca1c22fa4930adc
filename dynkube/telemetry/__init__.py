"""Telemetry: the observer interface, Prometheus metrics and OpenTelemetry spans.

:class:`Observer` documents the hooks, and when each is called.
"""

from dynkube.telemetry._observer import Observer
from dynkube.telemetry._observers import Observers
from dynkube.telemetry._opentelemetry import OpenTelemetryTracing
from dynkube.telemetry._prometheus import PrometheusMetrics
from dynkube.telemetry._records import (
    Collection,
    HandlerRun,
    ReconcileInfo,
    ReconcileOutcome,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
    StateChange,
)

__all__ = [
    "Collection",
    "HandlerRun",
    "Observer",
    "Observers",
    "OpenTelemetryTracing",
    "PrometheusMetrics",
    "ReconcileInfo",
    "ReconcileOutcome",
    "ReflectorOutcome",
    "RequestInfo",
    "RequestOutcome",
    "StateChange",
]
