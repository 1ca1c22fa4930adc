"""Kills and stops leaders, and checks in the audit log that no process writes without holding the lease.

    python -m benchmarks.leader_kills --folder FOLDER [--sites 5000] [--kills 10] [--stops 4] [--lease-duration 15]

Prints a line for each round, each violation, and the times until the next leader writes. Exits with 1 if a write was
late, an object was created twice, the result differs from the specification, or a process did not exit as expected.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import trio

from benchmarks.leader_kills import audit
from benchmarks.leader_kills.run import USERS, Options, Outcome, kill_leaders
from dynkube_testing import ControlPlane

_SHOWN = 10


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leader_kills", description="Kill leaders.")
    parser.add_argument("--folder", type=Path, required=True, help="the folder of kube-apiserver and etcd")
    parser.add_argument("--sites", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--stops", type=int, default=4, help="SIGSTOP for longer than the lease, then SIGCONT")
    parser.add_argument("--lease-duration", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser


async def run(folder: Path, options: Options) -> Outcome:
    """Start the servers with an audit log, and run all rounds."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        policy = Path(name) / "policy.yaml"
        policy.write_text(audit.POLICY, encoding="utf-8")
        flags: dict[str, str | int] = {
            "audit-policy-file": str(policy),
            "audit-log-path": str(Path(name) / "audit.log"),
            "audit-log-maxsize": 10_000,  # MB: one file
        }
        async with ControlPlane(folder, api_server_flags=flags) as plane:

            def report(text: str) -> None:
                print(f"{time.perf_counter() - began:7.1f} s  {text}", flush=True)

            return await kill_leaders(plane, Path(name) / "audit.log", options, report)


async def run_until_terminated(folder: Path, options: Options) -> Outcome | None:
    """Call :func:`run`; after SIGTERM, stop the operators and the servers, and return ``None``."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:

            async def terminate() -> None:
                await anext(signals)
                nursery.cancel_scope.cancel()

            nursery.start_soon(terminate)
            outcome = await run(folder, options)
            nursery.cancel_scope.cancel()
            return outcome
    return None


def conclude(outcome: Outcome) -> int:
    """Print the results, and return the exit code."""
    writes = [write for write in outcome.writes if write.user.startswith(USERS)]
    terms = audit.terms(writes)
    late, created = list(audit.late(writes, terms)), audit.created(writes)
    twice = [path for path, times in created.items() if times > 1]
    for what, found in (("late", late), ("created twice", twice), ("differs", outcome.differences)):
        for each in found[:_SHOWN]:
            print(f"WRONG: {what}: {each}")
    for how in ("kill", "stop"):
        if seconds := sorted(_takeovers(outcome, writes, how)):
            print(f"{how}: {len(seconds)}; until the first write of the next leader: {_range(seconds)}")
    if seconds := sorted(outcome.exits_after):
        print(f"from SIGCONT until the process has ended: {_range(seconds)}")
    print(
        f"writes of the operator: {len(writes)}; leaders: {len(terms)}; late writes: {len(late)}; "
        f"created: {len(created)}, twice: {len(twice)}; not as specified: {len(outcome.differences)}; "
        f"ended without LeadershipLost after SIGCONT: {outcome.others}",
        flush=True,
    )
    return int(bool(late or twice or outcome.differences or outcome.others))


def _takeovers(outcome: Outcome, writes: Sequence[audit.Write], how: str) -> Iterator[float]:
    """Yield the seconds from the end of each leader until the first write of another one."""
    for ended in outcome.ended:
        following = (
            write.responded
            for write in writes
            if write.received > ended.time and write.user != ended.leader and not write.of_the_lease
        )
        if ended.how == how and (first := next(following, None)) is not None:
            yield (first - ended.time).total_seconds()


def _range(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f} s (median), {seconds[0]:.1f} to {seconds[-1]:.1f} s"


def main() -> int:
    """Parse the command line, and run once."""
    given = parser().parse_args()
    options = Options(
        sites=given.sites, kills=given.kills, stops=given.stops, lease_duration=given.lease_duration, seed=given.seed
    )
    outcome = trio.run(run_until_terminated, given.folder, options)
    return 128 + signal.SIGTERM if outcome is None else conclude(outcome)


if __name__ == "__main__":
    sys.exit(main())
