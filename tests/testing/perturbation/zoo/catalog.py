"""All bugs of the zoo, by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from tests.testing.perturbation.zoo.kit import Bug

_NAMES: Final = (
    "dropped_conflict",
    "duplicate_links",
    "forgotten_decommission",
    "ignored_timeout",
    "interrupted_expansion",
    "late_finalizer",
    "missed_deletion",
    "orphaned_pods",
    "orphaned_secrets",
    "overwritten_update",
    "removed_definition",
    "stale_deletion",
    "two_leaders",
)

BUGS: Final[Mapping[str, Bug[Any]]] = MappingProxyType(
    {name: import_module(f"tests.testing.perturbation.zoo.{name}").BUG for name in _NAMES}
)
