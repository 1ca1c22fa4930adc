"""Fails if dynkube has become much slower or larger, by ratios of one run: ``make guard``, also in CI.

    python -m benchmarks.guard [--rounds 3]

Each side of a ratio runs on the same server in turns, so a slow machine, or other load on it, affects both alike. The
limits have room for noise: they catch a cost that doubles, not one that grows by a tenth. ``benchmarks.compare`` has
the budgets, and the other clients.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from benchmarks.comparison import Command, Comparison, Goal, Side, print_rows, print_table_head

_SYNC: Final[Command] = (sys.executable, "-m", "benchmarks.sync_informer", "--url", "{url}")
_FLOOR: Final[Command] = (
    sys.executable,
    "-m",
    "benchmarks.floor",
    "--url",
    "{url}",
    "--rounds",
    "1",
    "--step",
    "split",
)
_EVENTS: Final[Command] = (sys.executable, "-m", "benchmarks.watch_events", "--url", "{url}", "--objects", "5000")


def comparisons() -> Iterator[Comparison]:
    """Yield what is guarded; the ratios in the comments are those of 2026-11-24."""
    yield Comparison(
        "an informer, beside receiving and splitting the same list",
        (Side("dynkube", _SYNC), Side("floor", _FLOOR)),
        (
            Goal("CPU", "cpu_s", 2.5, "floor", unit="s"),  # 1.45
            Goal("memory per object / its JSON", "bytes_per_object", 1.2, "json_bytes", unit="B"),  # 0.88
        ),
        {"objects": 20_000},
    )
    yield Comparison(
        "an informer that is compact, beside one that is not",
        (Side("dynkube", (*_SYNC, "--compact")), Side("whole", _SYNC)),
        (
            Goal("CPU", "cpu_s", 1.8, "whole", unit="s"),  # 1.08
            Goal("memory per object", "bytes_per_object", 0.5, "whole", unit="B"),  # 0.32
        ),
        {"objects": 20_000},
    )
    yield Comparison(
        "watch events through an informer, beside a bare watch",
        (Side("dynkube", _EVENTS), Side("bare", (*_EVENTS, "--bare"))),
        (Goal("events a CPU second", "events_per_cpu_s", 0.3, "bare", at_least=True),),  # 0.46
        {"objects": 5_000, "events": 20_000},
    )


def main() -> int:
    """Measure, print a table, and return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="Fail if dynkube has become much slower or larger.")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print_table_head()
    held = [print_rows(comparison, options.rounds, all_sides=True) for comparison in comparisons()]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
