"""Comparisons of programs that alternate on one server: sides, goals for their numbers, and rows of a table."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import ROOT, byte_server

Result = Mapping[str, float]
Command = tuple[str, ...]
_EXCEEDED = "**no**"
_NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Side:
    """A program to measure; ``{url}`` in its command stands for the URL of the byte server."""

    name: str
    command: Command


@dataclass(frozen=True, slots=True)
class Goal:
    """A budget for a number, or for its ratio to that of another side; without a limit it is only shown."""

    what: str
    number: str
    limit: float | None
    against: str = ""  # another side, or another number of dynkube; "" for the number itself
    at_least: bool = False
    unit: str = ""

    def cells(self, medians: Mapping[str, Result]) -> list[str]:
        """Return the row of the table, given the medians of each side."""
        own = medians["dynkube"]
        value = own[self.number]
        bound = "none" if self.limit is None else f"{'>=' if self.at_least else '<='} {self._ratio(self.limit)}"
        if not self.against:
            return [self.what, _number(value, self.unit), "", "", bound, self._held(value)]
        other = own.get(self.against) or medians.get(self.against, {}).get(self.number)
        if other is None:
            return [self.what, _number(value, self.unit), f"{self.against} not available", "", bound, _NOT_MEASURED]
        compared = f"{_number(other, self.unit)} ({self.against})"
        ratio = value / other
        return [self.what, _number(value, self.unit), compared, self._ratio(ratio), bound, self._held(ratio)]

    def _held(self, value: float) -> str:
        if self.limit is None:
            return ""
        return "yes" if (value >= self.limit if self.at_least else value <= self.limit) else _EXCEEDED

    def _ratio(self, value: float) -> str:
        if self.against and not self.at_least and value < 1:  # a fraction of the other side's number
            times = 1 / value
            return f"1/{times:.2g}" if times < 100 else f"1/{times:,.0f}"
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sides that alternate on one byte server (or without one), and the goals for their results."""

    name: str
    sides: Sequence[Side]
    goals: Sequence[Goal]
    server: Mapping[str, int | bool] | None = None
    rounds: int | None = None
    key: Mapping[str, str] = field(default_factory=dict)  # selects one of several printed lines


def run(comparison: Comparison, rounds: int) -> dict[str, Result]:
    """Run the sides alternately, and return the median of each number of each side."""
    runs: dict[str, list[Result]] = {side.name: [] for side in comparison.sides}
    if comparison.server is None:
        _run_alternately(comparison, "", rounds, runs)
    else:
        with byte_server(**comparison.server) as url:
            _run_alternately(comparison, url, rounds, runs)
    return {
        name: {number: statistics.median(result[number] for result in results) for number in results[0]}
        for name, results in runs.items()
        if results
    }


def _run_alternately(comparison: Comparison, url: str, rounds: int, runs: dict[str, list[Result]]) -> None:
    for _ in range(comparison.rounds or rounds):
        for side in comparison.sides:
            if shutil.which(side.command[0]) is None:
                continue
            command = [word.replace("{url}", url) for word in side.command]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = (done.stderr.strip() or "no error message").splitlines()[-1]
                if side.name == "dynkube":
                    sys.exit(f"{comparison.name}: {' '.join(command)} failed: {reason}")
                print(f"{side.name} skipped: {reason}", file=sys.stderr)
                continue
            runs[side.name].append(_selected_line(done.stdout, comparison.key))


def _selected_line(output: str, key: Mapping[str, str]) -> Result:
    lines = [json.loads(line) for line in output.splitlines()]
    line = next(line for line in lines if all(line[name] == value for name, value in key.items()))
    return {name: value for name, value in line.items() if isinstance(value, int | float)}


def _number(value: float, unit: str) -> str:
    digits = 0 if value >= 100 or value == int(value) else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f} {unit}".rstrip()


def build_go(name: str, directory: Path) -> str:
    """Build the Go program in a folder beside this file, and return its path; without Go, the path does not exist."""
    target = directory / name
    if shutil.which("go") is None:
        print(f"{name} skipped: Go is not installed", file=sys.stderr)
    else:
        print(f"building {name} (takes minutes the first time)", file=sys.stderr)
        built = subprocess.run(["go", "build", "-o", target, "."], cwd=ROOT / "benchmarks" / name, check=False)
        if built.returncode:
            print(f"{name} skipped: the build failed, see above", file=sys.stderr)
    return str(target)


def build_rust(name: str, directory: Path) -> str:
    """Build the Rust program in a folder beside this file, and return its path, which does not exist without Rust."""
    target = directory / "release" / name
    if shutil.which("cargo") is None:
        print(f"{name} skipped: Rust is not installed", file=sys.stderr)
    else:
        print(f"building {name} (takes minutes the first time)", file=sys.stderr)
        command = ["cargo", "build", "--quiet", "--locked", "--release", "--target-dir", str(directory)]
        if subprocess.run(command, cwd=ROOT / "benchmarks" / name, check=False).returncode:
            print(f"{name} skipped: the build failed, see above", file=sys.stderr)
    return str(target)


def print_table_head() -> None:
    """Print the head of the table."""
    print("| what | dynkube | other | ratio or value | budget | held |\n|---|---|---|---|---|---|")


def print_rows(comparison: Comparison, rounds: int, *, all_sides: bool = False) -> bool:
    """Run a comparison, and print its rows of the table.

    Returns:
        Whether all its budgets are held; with ``all_sides`` those that could not be measured are not.
    """
    medians = run(comparison, rounds)
    commands = "; ".join(shlex_join(side.command) for side in comparison.sides if side.name in medians)
    print(f"| **{comparison.name}** (`{commands}`) | | | | | |")
    rows = [goal.cells(medians) for goal in comparison.goals]
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    return not {row[-1] for row in rows} & {_EXCEEDED, *([_NOT_MEASURED] if all_sides else [])}


def shlex_join(command: Command) -> str:
    """Return a command as typed in the project's folder."""
    return " ".join(
        "python" if word == sys.executable else Path(word).name if "/" in word else word for word in command
    )
