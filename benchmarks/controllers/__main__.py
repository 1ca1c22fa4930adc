"""Compares controllers of ``dynkube.controllers`` and of controller-runtime, which alternate on the same servers.

    python -m benchmarks.controllers [--assets ~/.cache/dynkube/control-plane/1.36.3/bin] [--quick] [--rounds 3]

Prints a table in Markdown. Rows on a real API server need ``--assets``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import servers
from benchmarks.comparison import Comparison, Goal, Side, build_go, print_rows, print_table_head

GO = "controller-runtime"
_SIZE = 4096
_NOTHING_TO_DO = (
    Goal("CPU until all were reconciled", "cpu_s", None, GO, unit="s"),
    Goal("wall time until all were reconciled", "wall_s", None, GO, unit="s"),
    Goal("memory per object", "bytes_per_object", None, GO, unit="B"),
    Goal("peak memory of the process", "peak_mb", None, GO, unit="MB"),
    Goal("CPU of one reconcile", "reconcile_us", None, GO, unit="us"),
)
_EMPTY = (
    Goal("CPU of one reconcile", "reconcile_us", 20, unit="us"),
    Goal("CPU of one reconcile", "reconcile_us", None, GO, unit="us"),
)
_ONE_WRITE = (
    Goal("objects a CPU second", "keys_per_cpu_s", None, GO, at_least=True),
    Goal("objects a second", "keys_per_s", None, GO, at_least=True),
    Goal("time to converge", "reconciling_wall_s", None, GO, unit="s"),
)
_QUEUE = (
    Goal("CPU of add", "add_us", 1, unit="us"),
    Goal("CPU of add", "add_us", None, GO, unit="us"),
    Goal("CPU of add, the key waits already", "add_again_us", None, GO, unit="us"),
    Goal("CPU of get and done", "get_done_us", None, GO, unit="us"),
)


def sides(program: str, task: str, count: int, kubeconfig: str = "") -> tuple[Side, Side]:
    """Return the commands of both sides."""
    ours = (sys.executable, "-m", "benchmarks.controllers.side", "--task", task, "--objects", str(count))
    theirs = (program, "-task", task, "-objects", str(count))
    if not kubeconfig:
        return Side("dynkube", ours), Side(GO, theirs)
    return Side("dynkube", (*ours, "--kubeconfig", kubeconfig)), Side(GO, (*theirs, "-kubeconfig", kubeconfig))


def comparisons(program: str, options: argparse.Namespace, folder: Path) -> Iterator[Comparison]:
    """Yield all comparisons; each server runs until its comparisons have been made."""
    many, writes = (2_000, 500) if options.quick else (20_000, 3_000)
    yield Comparison(f"work queue, {many:,} keys", sides(program, "queue", many), _QUEUE)
    with servers.bytes_of(many, _SIZE, folder) as kubeconfig:
        what = f"{many:,} objects of 4 KB, byte server"
        yield Comparison(f"empty reconcile, {what}", sides(program, "empty", many, kubeconfig), _EMPTY)
        yield Comparison(f"nothing to do, {what}", sides(program, "read", many, kubeconfig), _NOTHING_TO_DO)
    with servers.embedded(writes, _SIZE, folder) as kubeconfig:
        what = f"{writes:,} objects of 4 KB, embedded server"
        yield Comparison(f"one write each, {what}", sides(program, "write", writes, kubeconfig), _ONE_WRITE)
    if options.assets is None:
        return
    with servers.real(options.assets, writes, _SIZE, folder) as kubeconfig:
        what = f"{writes:,} objects of 4 KB, kube-apiserver"
        yield Comparison(f"one write each, {what}", sides(program, "write", writes, kubeconfig), _ONE_WRITE)
    with servers.real(options.assets, many, _SIZE, folder) as kubeconfig:
        what = f"{many:,} objects of 4 KB, kube-apiserver"
        yield Comparison(f"nothing to do, {what}", sides(program, "read", many, kubeconfig), _NOTHING_TO_DO)


def main() -> None:
    """Run the selected comparisons, and print one table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.controllers", description="Measure controllers and controller-runtime alternately."
    )
    parser.add_argument("--assets", type=Path, help="the folder of kube-apiserver and etcd")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fewer objects, one round")
    parser.add_argument("--only", action="append", help="run only comparisons whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build_go("controllerruntime", folder)
        print_table_head()
        for comparison in comparisons(program, options, folder):
            if not options.only or any(word in comparison.name for word in options.only):
                print_rows(comparison, 1 if options.quick else options.rounds)


if __name__ == "__main__":
    main()
