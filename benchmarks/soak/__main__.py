"""Runs a soak test on the embedded API server or on a real one.

    python -m benchmarks.soak embedded [--virtual-seconds 3600] [--writes 2000] [--seed 1]
    python -m benchmarks.soak cluster --folder FOLDER [--seconds 600] [--seed 1]
    python -m benchmarks.soak controllers [--virtual-seconds 3600] [--seed 1]
    python -m benchmarks.soak controllers-cluster --folder FOLDER [--seconds 600] [--seed 1]

Prints measurements at each check, a table of them in Markdown, and errors. The exit code is 1 if informers differed
from the server, handlers got invalid events, or memory, tasks, threads, files or watches grew.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
import time
from functools import partial
from pathlib import Path
from random import Random

import trio
import trio.testing

from benchmarks.soak import controllers
from benchmarks.soak.embedded import embedded
from benchmarks.soak.figures import not_flat, table
from benchmarks.soak.real import real
from benchmarks.soak.run import Options, Outcome, Soak


def report(text: str) -> None:
    print(text, flush=True)


async def run_embedded(options: Options) -> Outcome:
    async with embedded(Random(options.seed)) as (cluster, client):
        return await Soak(cluster, client, options, report).run()


async def run_real(options: Options, folder: Path | None) -> Outcome:
    async with real(folder, Random(options.seed)) as (cluster, client):
        return await Soak(cluster, client, options, report).run()


def conclude(outcome: Outcome, seconds: float) -> int:
    """Print the results, and return the exit code."""
    report("")
    for row in table(outcome.samples):
        report(row)
    report(f"\nwrites: {dict(outcome.written)}; errors: {dict(outcome.errors) or 'none'}")
    report(f"faults: {dict(outcome.injected.most_common()) or 'none'}")
    report(
        f"CRDs recreated: {outcome.cycles}; filters changed: {outcome.filters}; "
        f"informers added and removed: {outcome.short_lived}; "
        f"checks: {outcome.checks}; wall: {seconds:.0f} s"
    )
    grown = not_flat(outcome.samples)
    for what in (*outcome.divergences[:40], *outcome.violations.first[:40], *grown):
        report(f"WRONG: {what}")
    report(f"divergences: {len(outcome.divergences)}; violations: {outcome.violations.count}; not flat: {len(grown)}")
    return int(bool(outcome.divergences or outcome.violations.count or grown))


def options_of(given: argparse.Namespace) -> Options:
    virtual = given.mode == "embedded"
    return Options(
        seconds=given.virtual_seconds if virtual else given.seconds,
        check_every=given.check_every,
        timeout=900.0 if virtual else 240.0,
        rate=given.writes,
        writers=1 if virtual else given.writers,
        resources=given.resources,
        changing=given.changing,
        fault_every=given.fault_every,
        seed=given.seed,
    )


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Soak informers.")
    modes = parser.add_subparsers(dest="mode", required=True)
    virtual = modes.add_parser("embedded", help="the embedded API server, in virtual time")
    virtual.add_argument("--virtual-seconds", type=float, default=3600.0)
    virtual.add_argument("--writes", type=float, default=2000.0, help="writes per second")
    virtual.add_argument("--check-every", type=float, default=300.0, help="virtual seconds")
    cluster = modes.add_parser("cluster", help="a new control plane behind a proxy, in real time")
    cluster.add_argument("--folder", type=Path, help="the folder of kube-apiserver and etcd; default: envtest's")
    cluster.add_argument("--seconds", type=float, default=600.0)
    cluster.add_argument("--writes", type=float, default=math.inf, help="per second; default: as many as possible")
    cluster.add_argument("--writers", type=int, default=8, help="concurrent writes")
    cluster.add_argument("--check-every", type=float, default=60.0, help="seconds")
    fleet = modes.add_parser("controllers", help="twenty controllers on the embedded API server, in virtual time")
    fleet.add_argument("--virtual-seconds", type=float, default=3600.0)
    fleet.add_argument("--check-every", type=float, default=600.0, help="virtual seconds")
    killed = modes.add_parser("controllers-cluster", help="twenty controllers on a new control plane, in real time")
    killed.add_argument("--folder", type=Path, help="the folder of kube-apiserver and etcd; default: envtest's")
    killed.add_argument("--seconds", type=float, default=600.0)
    killed.add_argument("--check-every", type=float, default=120.0, help="seconds")
    for mode in (fleet, killed):
        mode.add_argument("--seed", type=int, default=1)
    for mode in (virtual, cluster):
        mode.add_argument("--resources", type=int, default=200)
        mode.add_argument("--changing", type=int, default=20, help="resources whose CRD is deleted and recreated")
        mode.add_argument("--fault-every", type=float, default=3.0, help="seconds on average; 0 for none")
        mode.add_argument("--seed", type=int, default=1)
    return parser


def soak_controllers(given: argparse.Namespace) -> int:
    """Run the controllers once, and return the exit code."""
    if given.mode == "controllers":
        seconds = given.virtual_seconds
        soak = partial(controllers.run_embedded, seconds, given.check_every, given.seed, report)
        return controllers.conclude(trio.run(soak, clock=trio.testing.MockClock(autojump_threshold=0)))
    soak = partial(controllers.run_real, given.folder, given.seconds, given.check_every, given.seed, report)
    return controllers.conclude(trio.run(soak))


def main() -> int:
    """Parse the command line, and run once."""
    given = parser().parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    if given.mode in ("controllers", "controllers-cluster"):
        return soak_controllers(given)
    options = options_of(given)
    report(f"{given.mode}: {options}")
    began = time.perf_counter()
    if given.mode == "embedded":
        clock = trio.testing.MockClock(autojump_threshold=0)
        outcome = trio.run(partial(run_embedded, options), clock=clock)
    else:
        outcome = trio.run(partial(run_real, options, given.folder))
    return conclude(outcome, time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
