"""CPU and memory of importing dynkube and the kubernetes package.

    python -m benchmarks.imports [--rounds 5] [--what NAME ...]

Prints one line of JSON for each: medians of CPU seconds, growth of resident memory, and the number of modules loaded.
Each import runs in a new interpreter; the imports alternate. dynkube loads its names on first use, so a program pays
more than ``import dynkube`` costs: ``dynkube-all`` is ``from dynkube import *``. The kubernetes package is lazy, too;
``kubernetes-api`` uses one of its classes. ``unwanted`` lists loaded modules that must not be loaded: IPython, the
embedded server, the kubernetes package.

The very first import, which compiles the modules, is not measured.
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
seconds = cpu() - began
unwanted = [name for name in ("IPython", "dynkube_testing", "h11", "kubernetes") if name in sys.modules]
print(json.dumps([seconds, memory() - mb, len(set(sys.modules) - before), unwanted]))
"""


def main() -> None:
    """Run the statements alternately, and print a line for each."""
    parser = argparse.ArgumentParser(description="Measure the cost of imports.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--what", choices=tuple(STATEMENTS), action="append")
    options = parser.parse_args()
    results: dict[str, list[list[float]]] = {name: [] for name in options.what or STATEMENTS}
    unwanted: dict[str, list[str]] = {}
    for _ in range(options.rounds + 1):
        for name, runs in results.items():
            code = _PROBE.format(statement=STATEMENTS[name])
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
            *numbers, unwanted[name] = json.loads(done.stdout)
            runs.append(numbers)
    for name, runs in results.items():
        seconds, mb, modules = (
            statistics.median(column) for column in zip(*runs[1:], strict=True)
        )  # the first run warms up the file cache
        report(what=name, cpu_s=seconds, rss_mb=mb, modules=modules, unwanted=unwanted[name])


if __name__ == "__main__":
    main()
