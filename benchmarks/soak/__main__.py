"""The command line.

python -m benchmarks.soak embedded [--virtual-seconds 3600] [--writes 2000] [--seed 1]
python -m benchmarks.soak cluster --folder FOLDER [--seconds 600] [--seed 1]
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

from benchmarks.soak.embedded import embedded
from benchmarks.soak.figures import not_flat, table
from benchmarks.soak.real import real
from benchmarks.soak.run import Options, Outcome, Soak


def tell(text: str) -> None:
    print(text, flush=True)


async def run_embedded(options: Options) -> Outcome:
    async with embedded(Random(options.seed)) as (cluster, client):
        return await Soak(cluster, client, options, tell).run()


async def run_real(options: Options, folder: Path | None) -> Outcome:
    async with real(folder, Random(options.seed)) as (cluster, client):
        return await Soak(cluster, client, options, tell).run()


def conclude(outcome: Outcome, seconds: float) -> int:
    """Print what was found; the exit code."""
    tell("")
    for row in table(outcome.samples):
        tell(row)
    tell(f"\nwrites: {dict(outcome.written)}; refused: {dict(outcome.refused) or 'none'}")
    tell(f"faults: {dict(outcome.struck.most_common()) or 'none'}")
    tell(
        f"definitions recreated: {outcome.cycles}; filters changed: {outcome.filters}; visitors: {outcome.visits}; "
        f"checks: {outcome.checks}; wall: {seconds:.0f} s"
    )
    wrong = not_flat(outcome.samples)
    for what in (*outcome.divergences[:40], *outcome.violations.first[:40], *wrong):
        tell(f"WRONG: {what}")
    tell(f"divergences: {len(outcome.divergences)}; violations: {outcome.violations.count}; not flat: {len(wrong)}")
    return int(bool(outcome.divergences or outcome.violations.count or wrong))


def options_of(given: argparse.Namespace) -> Options:
    virtual = given.mode == "embedded"
    return Options(
        seconds=given.virtual_seconds if virtual else given.seconds,
        check_every=given.check_every,
        patience=900.0 if virtual else 240.0,
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
    virtual.add_argument("--writes", type=float, default=2000.0, help="a second")
    virtual.add_argument("--check-every", type=float, default=300.0, help="virtual seconds")
    cluster = modes.add_parser("cluster", help="a control plane of its own behind the proxy, in real time")
    cluster.add_argument("--folder", type=Path, help="where kube-apiserver and etcd are, if not where envtest has them")
    cluster.add_argument("--seconds", type=float, default=600.0)
    cluster.add_argument("--writes", type=float, default=math.inf, help="a second; as many as it takes unless given")
    cluster.add_argument("--writers", type=int, default=8, help="so many at a time")
    cluster.add_argument("--check-every", type=float, default=60.0, help="seconds")
    for mode in (virtual, cluster):
        mode.add_argument("--resources", type=int, default=200)
        mode.add_argument("--changing", type=int, default=20, help="of which so many come and go")
        mode.add_argument("--fault-every", type=float, default=3.0, help="seconds on average; 0 for none")
        mode.add_argument("--seed", type=int, default=1)
    return parser


def main() -> int:
    """Parse the command line, run once."""
    given = parser().parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    options = options_of(given)
    tell(f"{given.mode}: {options}")
    begun = time.perf_counter()
    if given.mode == "embedded":
        clock = trio.testing.MockClock(autojump_threshold=0)
        outcome = trio.run(partial(run_embedded, options), clock=clock)
    else:
        outcome = trio.run(partial(run_real, options, given.folder))
    return conclude(outcome, time.perf_counter() - begun)


if __name__ == "__main__":
    sys.exit(main())
