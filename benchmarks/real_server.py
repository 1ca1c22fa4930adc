"""Compares informers on a real kube-apiserver over TLS: those of dynkube, client-go and kube-rs, in turns.

    python -m benchmarks.real_server --assets ~/.cache/dynkube/control-plane/1.36.3/bin [--objects 20000] [--rounds 3]

Prints a table in Markdown, as ``compare`` does. The server sends lists and initial events in pieces of about 4 KB, each
a TLS record, so that a client reads many small pieces, unlike from the byte server. Reads and iterations of the event
loop are counted in a separate run. The CPU of the server and of etcd, which run beside the clients, is not counted,
but they take it from a client that could use a second core (client-go).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.comparison import Command, Comparison, Goal, Side, build_go, build_rust, print_rows, print_table_head
from benchmarks.measure import ROOT

_SIZE = 4096
_GOALS = (
    Goal("CPU", "cpu_s", 0.8, unit="s"),
    Goal("CPU", "cpu_s", 1 / 3, "kube-rs", unit="s"),
    Goal("CPU", "cpu_s", 1 / 8, "client-go", unit="s"),
    Goal("wall time", "wall_s", None, "kube-rs", unit="s"),
    Goal("wall time", "wall_s", None, "client-go", unit="s"),
    Goal("memory per object", "bytes_per_object", None, "kube-rs", unit="B"),
    Goal("memory per object", "bytes_per_object", None, "client-go", unit="B"),
    Goal("peak memory of the process", "peak_mb", None, "kube-rs", unit="MB"),
    Goal("peak memory of the process", "peak_mb", None, "client-go", unit="MB"),
)


def comparisons(kubeconfig: str, count: int, programs: tuple[str, str]) -> Iterator[Comparison]:
    """Yield the comparisons; ``programs`` are those of client-go and kube-rs."""
    clientgo, kubers = programs
    for mode, called in (("list", "one list"), ("stream", "streaming list")):
        yield Comparison(
            f"{called} of {count:,} objects of 4 KB, kube-apiserver over TLS",
            (
                Side("dynkube", _dynkube(kubeconfig, count, mode)),
                Side("kube-rs", (kubers, "--kubeconfig", kubeconfig, "--mode", mode, "--objects", str(count))),
                Side("client-go", (clientgo, "-kubeconfig", kubeconfig, "-mode", mode, "-objects", str(count))),
            ),
            _GOALS,
        )


def _dynkube(kubeconfig: str, count: int, mode: str) -> Command:
    program = (sys.executable, "-m", "benchmarks.sync_informer")
    return (*program, "--kubeconfig", kubeconfig, "--mode", mode, "--objects", str(count), "--size", str(_SIZE))


def main() -> None:
    """Start the server, fill it, and print the table."""
    parser = argparse.ArgumentParser(description="Compare informers on a real API server.")
    parser.add_argument("--assets", type=Path, required=True, help="the folder with kube-apiserver and etcd")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--programs", type=Path, help="keep the other clients in this folder (default: build them anew)"
    )
    options = parser.parse_args()
    with TemporaryDirectory() as directory:
        built = options.programs or Path(directory)
        programs = build_go("clientgo", built), build_rust("kubers", built)
        with servers.real(options.assets, options.objects, _SIZE, Path(directory)) as kubeconfig:
            print_table_head()
            for comparison in comparisons(kubeconfig, options.objects, programs):
                print_rows(comparison, options.rounds)
            for mode in ("list", "stream"):
                command = (*_dynkube(kubeconfig, options.objects, mode), "--count")
                counted = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
                print(f"| {mode}: reads, iterations of the loop | {counted['reads']:,}, {counted['turns']:,} | | | | |")


if __name__ == "__main__":
    main()
