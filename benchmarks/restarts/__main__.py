"""Kills real API servers under informers, and checks the informers' events, states and content.

    python -m benchmarks.restarts --folder FOLDER [--kills 50] [--informers 50] [--no-crd-rights] [--restores 1]
    python -m benchmarks.restarts --folder FOLDER --sets 24 --newcomers 12 --pause-etcd 3 15

Prints a line for each kill, each error, and the totals; the exit code is 1 if there was an error.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

import trio

from benchmarks.restarts import backup
from benchmarks.restarts.environment import Options
from benchmarks.restarts.recorder import Kind
from benchmarks.restarts.run import Outcome, kill_and_start
from dynkube_testing import ControlPlane

_SHOWN = 10  # findings of each kind


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restarts", description="Kill servers under informers.")
    parser.add_argument("--folder", type=Path, help="the folder of kube-apiserver and etcd; default: envtest's")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--informers", type=int, default=50)
    parser.add_argument(
        "--crd-rights",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether their user may list and watch CRDs",
    )
    parser.add_argument(
        "--etcd-every", type=int, default=5, help="kills between those that include etcd; 0: etcd is not killed"
    )
    parser.add_argument("--sets", type=int, default=12, help="the number of informers of sets of namespaces")
    parser.add_argument(
        "--newcomers", type=int, default=8, help="informers that are opened whenever the API server begins to respond"
    )
    parser.add_argument(
        "--pause-etcd",
        type=float,
        nargs="*",
        default=[],
        metavar="SECONDS",
        help="for which etcd is paused at that moment, in turn",
    )
    parser.add_argument("--restores", type=int, default=1, help="the number of restored backups; needs etcdutl")
    parser.add_argument("--rest", type=float, default=11.0, help="seconds between most outages")
    parser.add_argument("--discovery-poll", type=float, default=30.0, help="the informers' setting, in seconds")
    parser.add_argument("--patience", type=float, default=240.0, help="seconds in which informers have to recover")
    parser.add_argument("--seed", type=int, default=1)
    return parser


async def run(folder: Path | None, options: Options) -> Outcome:
    began = time.perf_counter()
    async with ControlPlane(folder) as plane:
        if options.restores and backup.etcdutl_of(plane) is None:
            sys.exit(f"no etcdutl beside {plane.etcd.command[0]}: `make control-plane` builds it; or pass --restores 0")

        def report(text: str) -> None:
            print(f"{time.perf_counter() - began:7.1f} s  {text}", flush=True)

        return await kill_and_start(plane, "restarts", options, report)


def conclude(outcome: Outcome) -> int:
    """Print the findings and the totals, and return the exit code."""
    findings = outcome.findings
    for kind in Kind:
        for finding in [finding for finding in findings.found if finding.kind is kind][:_SHOWN]:
            print(f"\nWRONG: {finding}", *outcome.responses.around(finding), sep="\n    ")
    print(f"\nstates: {dict(findings.states)}\n{outcome.summary}", flush=True)
    return int(bool(findings.found))


def main() -> int:
    """Parse the command line, and run once."""
    given = parser().parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    options = Options(
        kills=given.kills,
        informers=given.informers,
        crd_rights=given.crd_rights,
        etcd_every=given.etcd_every,
        rest=given.rest,
        sets=given.sets,
        newcomers=given.newcomers,
        pause_etcd=tuple(given.pause_etcd),
        restores=given.restores,
        discovery_poll=given.discovery_poll,
        patience=given.patience,
        seed=given.seed,
    )
    return conclude(trio.run(run, given.folder, options))


if __name__ == "__main__":
    sys.exit(main())
