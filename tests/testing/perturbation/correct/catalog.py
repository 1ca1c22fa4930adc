"""All correct controllers: the scenarios that run them, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.testing.perturbation.correct import children, finalizers, sources
from tests.testing.perturbation.correct.kit import Scenario

CORRECT: Final[Mapping[str, Scenario]] = MappingProxyType(
    {
        "fleets": children.fleets,
        "blocking_fleets": children.blocking_fleets,
        "versions": children.versions,
        "tenants": children.tenants,
        "orders": children.orders,
        "led": children.led,
        "buckets": finalizers.buckets,
        "blocking_buckets": finalizers.blocking_buckets,
        "merged": sources.merged,
        "copies": sources.copies,
    }
)
