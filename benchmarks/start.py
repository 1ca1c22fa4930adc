"""CPU of short programs: the command line, a client from a kubeconfig, and kubectl.

    python -m benchmarks.start [--rounds 9] [--what NAME ...]

Prints one line of JSON for each: the median of its CPU seconds, of all its processes, and the ratio to that of
``python -c pass``. The programs take turns, so that a busy machine slows all of them. Those with a server talk to an
embedded API server in this process, with TLS and a token. Without kubectl its lines are left out. The first round,
which compiles modules and fills the file cache, is not counted.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT, report
from dynkube_testing import serve_in_thread

_PYTHON = "python -c pass"
_CONNECT = "import dynkube.sync; dynkube.sync.connect().get('ns', 'default')"
_KUBECTL = shutil.which("kubectl", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")

PROGRAMS = {
    _PYTHON: [sys.executable, "-c", "pass"],
    "import dynkube": [sys.executable, "-c", "import dynkube"],
    "dynkube --help": [sys.executable, "-m", "dynkube", "--help"],
    "dynkube --version": [sys.executable, "-m", "dynkube", "--version"],
    "dynkube describe": [sys.executable, "-m", "dynkube", "describe", "ns", "default"],
    "sync.connect, get": [sys.executable, "-c", _CONNECT],
    **({"kubectl --help": [_KUBECTL, "--help"], "kubectl get": [_KUBECTL, "get", "ns", "default"]} if _KUBECTL else {}),
}


def main() -> None:
    """Run the programs in turn, and print a line for each."""
    parser = argparse.ArgumentParser(description="Measure the CPU of short programs.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--what", choices=tuple(PROGRAMS), action="append")
    options = parser.parse_args()
    names = dict.fromkeys([_PYTHON, *(options.what or PROGRAMS)])
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with serve_in_thread(token="secret", tls=True) as served, tempfile.TemporaryDirectory() as folder:
        kubeconfig = served.endpoint.write_kubeconfig(Path(folder, "kubeconfig"))
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": folder, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the first round, which does not count, writes the bytecode
        for _ in range(options.rounds + 1):
            for name in names:
                seconds[name].append(cpu_of(PROGRAMS[name], environment))
    base = statistics.median(seconds[_PYTHON][1:])
    for name, runs in seconds.items():
        median = statistics.median(runs[1:])
        report(what=name, cpu_s=median, ratio=round(median / base, 1))


def cpu_of(command: list[str], environment: dict[str, str]) -> float:
    """Run a program to its end; return the user and system CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
