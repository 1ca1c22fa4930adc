"""Families of metrics that are read at a scrape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


def gauge(name: str, text: str, labels: Iterable[str], samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    """Return a gauge with these samples: values of the labels, and the value."""
    from prometheus_client.metrics_core import GaugeMetricFamily

    family = GaugeMetricFamily(name, text, labels=tuple(labels))
    for values, value in samples:
        family.add_metric(values, value)
    return family


def counter(name: str, text: str, labels: Iterable[str], samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    """Return a counter with these samples; its name ends with ``_total`` in the output."""
    from prometheus_client.metrics_core import CounterMetricFamily

    family = CounterMetricFamily(name, text, labels=tuple(labels))
    for values, value in samples:
        family.add_metric(values, value)
    return family


def single(name: str, text: str, value: float) -> Metric:
    """Return a gauge without labels."""
    return gauge(name, text, (), [((), value)])
