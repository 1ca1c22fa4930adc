"""Process small inputs that are expensive, each in its own process, and print a table of result, time and memory."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import trio

from benchmarks.bounds.cases import CASES
from benchmarks.bounds.trial import Outcome, Trial, limit_memory
from benchmarks.measure import ROOT

_EXAMPLES = """
examples:
    python -m benchmarks.bounds                       # all inputs
    python -m benchmarks.bounds --only yaml           # those whose name contains this
    python -m benchmarks.bounds --library FOLDER --library .   # another checkout of dynkube and this one
"""
_DEADLINE = 60.0  # seconds for one input
_WIDTH = 80  # characters of a result that are printed


def main() -> None:
    """Run the selected cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="run only inputs whose name contains this")
    parser.add_argument(
        "--library", type=Path, action="append", metavar="FOLDER", help="a checkout of dynkube: a column of the table"
    )
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        limit_memory()
        print(json.dumps(asdict(trio.run(Trial().run, CASES[given.child]))))
        return
    libraries: list[Path] = given.library or [ROOT]
    print("| input | bytes |" + "".join(f" {library.resolve().name} |" for library in libraries))
    print("|---|---|" + "---|" * len(libraries))
    for name in CASES:
        if given.only in name:
            outcomes = [_in_child(name, library) for library in libraries]
            size = next((f"{outcome.size:,}" for outcome in outcomes if isinstance(outcome, Outcome)), "")
            print(f"| {name} | {size} | {' | '.join(map(_cell, outcomes))} |", flush=True)


def _in_child(name: str, library: Path) -> Outcome | str:
    # -P, and the checkout first on the path: it has the package "dynkube", and this one the cases in "benchmarks".
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(library.resolve()), str(ROOT)])}
    command = [sys.executable, "-P", "-m", "benchmarks.bounds", "--child", name]
    # In its own session, so that its child processes are killed with it.
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=_DEADLINE)
    except subprocess.TimeoutExpired:
        return f"did not end within {_DEADLINE:g} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode < 0:
        return f"the process was ended by {signal.Signals(-process.returncode).name}"
    if process.returncode:
        return f"the process failed: {(errors.strip().splitlines() or ['?'])[-1]}"
    return Outcome(**json.loads(output.splitlines()[-1]))


def _cell(outcome: Outcome | str) -> str:
    if isinstance(outcome, str):
        return outcome
    result = re.sub(r"/tmp/\w+/", "FOLDER/", outcome.result).replace("|", "/")
    result = result if len(result) <= _WIDTH else f"{result[:_WIDTH]}..."
    return f"{result}<br>{outcome.seconds:.2f} s, {outcome.grown_mb:.0f} MB, loop held {outcome.blocked_ms:.0f} ms"


if __name__ == "__main__":
    main()
