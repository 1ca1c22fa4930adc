"""The scenarios, by the part of the library that they use."""

from __future__ import annotations

from tests.sweep.lab import Scenario, scenarios_of
from tests.sweep.scenarios import (
    controllers,
    informers,
    inspection,
    logs,
    manifests,
    pods,
    reads,
    waits,
    workloads,
    writes,
)


def every() -> list[Scenario]:
    """Return all scenarios, in the order of the table."""
    modules = (reads, writes, waits, informers, controllers, manifests, workloads, inspection, pods, logs)
    return [each for module in modules for each in scenarios_of(module)]
