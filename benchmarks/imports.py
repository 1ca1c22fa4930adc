"""What importing costs: dynkube, and the kubernetes package beside it.

    python -m benchmarks.imports [--rounds 5] [--what NAME ...]

Each in a fresh interpreter, in turns; medians of CPU seconds, resident memory gained, modules loaded. dynkube loads
its names on first use, so ``import dynkube`` alone is not what a program pays: ``dynkube-all`` is, which is
``from dynkube import *``. The kubernetes package is as lazy; ``kubernetes-api`` uses one of its classes.
``unwanted`` lists what must not come along: IPython, the embedded server, the kubernetes package.

What it does not say: the first import ever, which compiles; the files are cached here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

from benchmarks.measure import ROOT, report

STATEMENTS = {
    "dynkube": "import dynkube",
    "dynkube-all": "from dynkube import *",
    "kubernetes": "import kubernetes",
    "kubernetes-api": "import kubernetes; kubernetes.client.CoreV1Api",
}
_PROBE = """
import json, sys
from benchmarks.measure import cpu, memory
before = set(sys.modules); mb = memory(); began = cpu()
{statement}
spent = cpu() - began
unwanted = [name for name in ("IPython", "dynkube.testing", "h11", "kubernetes") if name in sys.modules]
print(json.dumps([spent, memory() - mb, len(set(sys.modules) - before), unwanted]))
"""


def main() -> None:
    """Run all statements in turns, print a line for each."""
    parser = argparse.ArgumentParser(description="Compare what imports cost.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--what", choices=tuple(STATEMENTS), action="append")
    options = parser.parse_args()
    results: dict[str, list[list[float]]] = {name: [] for name in options.what or STATEMENTS}
    unwanted: dict[str, list[str]] = {}
    for _ in range(options.rounds + 1):
        for name, seen in results.items():
            code = _PROBE.format(statement=STATEMENTS[name])
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
            *numbers, unwanted[name] = json.loads(done.stdout)
            seen.append(numbers)
    for name, runs in results.items():
        seconds, mb, modules = (
            statistics.median(column) for column in zip(*runs[1:], strict=True)
        )  # the first warms up
        report(what=name, cpu_s=seconds, rss_mb=mb, modules=modules, unwanted=unwanted[name])


if __name__ == "__main__":
    main()
