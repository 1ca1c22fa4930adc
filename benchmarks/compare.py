"""Runs all benchmarks beside those of other clients, and compares the results with budgets: ``make bench``.

    python -m benchmarks.compare [--rounds 3] [--clients-python PATH] [--only NAME ...]

Prints a table in Markdown: the median of each client, their ratio, the budget, and whether it is held. Each client runs
in its own process on the same byte server. The clients alternate, so that other load on the machine affects them alike.
Budgets are goals, written down here. A client that is not installed (Go, Rust, other Python clients) is skipped with a
message. Absolute seconds cannot be compared between machines; ratios can, roughly.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from benchmarks.comparison import Command, Comparison, Goal, Side, build_go, build_rust, print_rows, print_table_head

_SYNC: Final[Command] = (sys.executable, "-m", "benchmarks.sync_informer", "--url", "{url}")
_WATCH: Final[Command] = (sys.executable, "-m", "benchmarks.watch_events", "--url", "{url}", "--objects", "5000")
_PYTHON_CLIENTS: Final = ("lightkube", "kubernetes_asyncio", "cloudcoil", "kr8s")
_MANY: Final = {"objects": 20_000}
_EVENTS: Final = {"objects": 5_000, "events": 20_000}


def other_informers(clientgo: str, kubers: str) -> Iterator[Comparison]:
    """Yield the comparisons with clients that have informers. The limits are the budgets of the project."""
    go: Command = (clientgo, "-url", "{url}")
    rust: Command = (kubers, "--url", "{url}")
    yield Comparison(
        "sync, 20,000 objects of 4 KB, one list",
        (Side("dynkube", _SYNC), Side("client-go", go), Side("kube-rs", rust)),
        (
            Goal("CPU", "cpu_s", 1 / 5, "client-go", unit="s"),
            Goal("CPU", "cpu_s", 1 / 3, "kube-rs", unit="s"),
            Goal("memory per object / its JSON", "bytes_per_object", 1.4, "json_bytes", unit="B"),
            Goal("memory per object", "bytes_per_object", 1 / 6, "client-go", unit="B"),
            Goal("memory per object", "bytes_per_object", None, "kube-rs", unit="B"),
            Goal("peak memory of the process", "peak_mb", None, "client-go", unit="MB"),
        ),
        _MANY,
    )
    yield Comparison(
        "sync, 20,000 objects of 4 KB, streaming list",
        (
            Side("dynkube", (*_SYNC, "--mode", "stream")),
            Side("client-go", (*go, "-mode", "stream")),
            Side("kube-rs", (*rust, "--mode", "stream")),
        ),
        (
            Goal("CPU", "cpu_s", 1 / 5, "client-go", unit="s"),
            Goal("CPU", "cpu_s", 1 / 3, "kube-rs", unit="s"),
            Goal("memory per object", "bytes_per_object", 1 / 6, "client-go", unit="B"),
            Goal("memory per object", "bytes_per_object", None, "kube-rs", unit="B"),
        ),
        _MANY,
    )
    yield Comparison(
        "sync, managedFields kept",
        (Side("dynkube", (*_SYNC, "--keep-managed-fields")), Side("client-go", (*go, "-keep-managed-fields"))),
        (
            Goal("memory per object / its JSON", "bytes_per_object", 1.4, "json_bytes", unit="B"),
            Goal("memory per object", "bytes_per_object", 1 / 6, "client-go", unit="B"),
        ),
        _MANY,
    )
    yield Comparison(
        "sync, metadata only, 20,000 objects",
        (Side("dynkube", (*_SYNC, "--metadata-only")), Side("client-go", (*go, "-metadata"))),
        (
            Goal("CPU", "cpu_s", None, "client-go", unit="s"),
            Goal("memory per object", "bytes_per_object", None, "client-go", unit="B"),
        ),
        {**_MANY, "metadata": True},
    )
    yield Comparison(
        "watch, 20,000 events of 5 KB to a handler",
        (Side("dynkube", _WATCH), Side("client-go", (*go, "-mode", "events", "-objects", "5000"))),
        (Goal("events a CPU second", "events_per_cpu_s", 5, "client-go", at_least=True),),
        _EVENTS,
    )


def other_python_clients(python: str) -> Iterator[Comparison]:
    """Yield the comparisons with Python clients, which have no informers for so many objects."""
    command: Command = (python, "-m", "benchmarks.python_clients")
    others = [Side(name, (*command, name, "--url", "{url}")) for name in _PYTHON_CLIENTS]
    bare_list: Command = (sys.executable, "-m", "benchmarks.list_objects", "--url", "{url}")
    limits = {name: 1 / 5 if name == "lightkube" else None for name in _PYTHON_CLIENTS}
    yield Comparison(
        "one list of 20,000 objects of 4 KB, no informer",
        (Side("dynkube", bare_list), *others),
        (
            *(Goal("CPU", "cpu_s", limit, name, unit="s") for name, limit in limits.items()),
            *(Goal("memory per object", "bytes_per_object", None, name, unit="B") for name in _PYTHON_CLIENTS),
        ),
        _MANY,
    )
    watches = [Side(side.name, (*side.command, "--mode", "watch", "--objects", "5000")) for side in others]
    yield Comparison(
        "a watch of 20,000 events of 5 KB, no informer",
        (Side("dynkube", (*_WATCH, "--bare")), *watches),
        tuple(
            Goal("events a CPU second", "events_per_cpu_s", limit and 2, name, at_least=True)
            for name, limit in limits.items()
        ),
        _EVENTS,
    )


def own_budgets() -> Iterator[Comparison]:
    """Yield the comparisons with numbers of the project and with ``kubernetes``."""
    for by, limit in (("labels", 0.5), ("namespace", 0.5), ("jsonpath", 2.0)):
        flip: Command = (sys.executable, "-m", "benchmarks.filter_flip", "--by", by)
        yield Comparison(
            f"filter flip by {by}, 100,000 objects, 100,000 events",
            (Side("dynkube", flip),),
            (
                Goal("until all is delivered, wall", "delivered_s", limit, unit="s"),
                Goal("until all is delivered, CPU", "delivered_cpu_s", limit, unit="s"),
                Goal("longest hold of the loop, wall", "held_s", 0.020, unit="s"),
                Goal("longest hold of the loop, CPU", "held_cpu_s", 0.020, unit="s"),
            ),
            key={"change": "flip"},
        )
    yield Comparison(
        "1,000 informers on absent CRDs, an hour",
        (Side("dynkube", (sys.executable, "-m", "benchmarks.absent")),),
        (
            Goal("open watches", "open_watches", 1),
            Goal("memory per informer", "bytes_each", 10_240, unit="B"),
            Goal("requests in the hour besides the watch", "requests_besides_watch", 0),
        ),
        rounds=1,
    )
    imports: Command = (sys.executable, "-m", "benchmarks.imports", "--what")
    yield Comparison(
        "import",
        (Side("dynkube", (*imports, "dynkube")), Side("kubernetes", (*imports, "kubernetes"))),
        (Goal("CPU", "cpu_s", 1 / 4, "kubernetes", unit="s"), Goal("memory", "rss_mb", 1 / 4, "kubernetes", unit="MB")),
    )
    yield Comparison(
        "import and use",
        (Side("dynkube", (*imports, "dynkube-all")), Side("kubernetes", (*imports, "kubernetes-api"))),
        (Goal("CPU", "cpu_s", None, "kubernetes", unit="s"), Goal("memory", "rss_mb", None, "kubernetes", unit="MB")),
    )


def main() -> None:
    """Run the selected comparisons, and print one Markdown table."""
    parser = argparse.ArgumentParser(description="Measure dynkube and other clients alternately.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--clients-python",
        default=os.environ.get("CLIENTS_PYTHON", sys.executable),
        help=f"an interpreter that has {', '.join(_PYTHON_CLIENTS)}; default $CLIENTS_PYTHON, or this one",
    )
    parser.add_argument("--only", action="append", help="run only comparisons whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print_table_head()
        clients = build_go("clientgo", Path(directory)), build_rust("kubers", Path(directory))
        for comparison in chain(other_informers(*clients), other_python_clients(options.clients_python), own_budgets()):
            if not options.only or any(word in comparison.name for word in options.only):
                print_rows(comparison, options.rounds)


if __name__ == "__main__":
    main()
