"""Runs the tests on mutants: copies of the code with one small change each, for which some test should fail.

Mutants are made by cosmic-ray's operators, and by removing single statements. They are drawn with a seed, so that a run
can be repeated: first places in the code, with equal probability, then one of the changes that are possible there. Each
mutant is made in a copy of the checkout, and tests run in a separate process until one fails. These are the tests that
run the changed statement, according to coverage measured at the start (which takes as long as all these tests, and is
kept for the same code); the fastest of the package's own folder run first. For statements that run when their module is
imported, or only in subprocesses of tests, all tests of the package are run in stages:

1. the folder of ``tests`` that mirrors the package, beginning with the files that are named after the module;
2. the folders that use the package most.

Mutants for which no test fails are printed as a diff. Either a test is missing, or the mutant is equivalent: no input
distinguishes it from the original. Equivalent ones are listed in ``tools/mutants/equivalent.toml`` with the reason, and
not counted. The time from the first failure to the end of the run is measured too; tests/suite limits it to ten
seconds.

    python -m tools.mutants                           300 mutants of all packages, with today's date as the seed
    python -m tools.mutants --seed 7 --count 20 rest  20 mutants of one package
    python -m tools.mutants --jobs 2                  two at a time, each in its own copy
    python -m tools.mutants --report FILE             print the report of an earlier run

An interrupted run continues where it stopped if it is started with the same seed and count, on the same code.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from tools.mutants.covering import Covering, measure, statement_lines
from tools.mutants.drawing import Mutant, draw

ROOT: Final = Path(__file__).parents[2]
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")
GOAL: Final = 0.95
"""The share of the mutants that tests have to kill; equivalent ones are not counted."""

ENDING: Final = 10.0
"""Seconds in which a run has to end after its first failure."""

_SLACK: Final = 30.0
"""Seconds in addition to three times the duration without a mutant, after which tests are stopped."""

_FAILED: Final = re.compile(r"(?P<test>\S+::.+) (FAILED|ERROR) +\[ *\d+%\]|=+ ERRORS =+")
"""The output of pytest if a test fails or a file cannot be imported."""

_STAGES: Final = {
    "informers": (
        ("tests/informers", "--ignore=tests/informers/model"),
        (
            "tests/contract/informers",
            "tests/display",
            "tests/telemetry",
            "tests/sync/test_informers.py",
            "tests/public_api",
        ),
        ("tests/controllers",),
    ),
    "client": (
        ("tests/client",),
        ("tests/contract/applying", "tests/contract/verbs", "tests/contract/tables", "tests/contract/watches"),
        ("tests/contract/owners", "tests/contract/subresources", "tests/public_api", "tests/display"),
    ),
    "rest": (
        ("tests/rest",),
        ("tests/client", "tests/discovery", "tests/telemetry", "tests/public_api", "tests/config"),
    ),
    "config": (("tests/config",), ("tests/rest", "tests/public_api", "tests/cli/test_command_line.py")),
    "sync": (("tests/sync",), ("tests/contract/blocking", "tests/public_api", "tests/notebook")),
}
PACKAGES: Final = tuple(_STAGES)
_Run: TypeAlias = tuple[tuple[str, ...], float, list[str] | None]
"""Arguments of pytest, a time limit in seconds, and the tests to run (``None``: all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of the tests for a mutant."""

    mutant: dict[str, Any]
    before: list[str]
    after: list[str]
    result: str
    """``killed``, ``survived``, or ``timeout`` (stopped by the limit of the stage)."""
    test: str
    """The first test that failed."""
    stage: int
    seconds: float
    ending: float
    """Seconds between its failure and the end of the process."""


class Workshop:
    """A copy of the checkout, in which mutants are made and tested."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._limits: dict[tuple[str, ...], float] = {}
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  # whichever is there
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout.decode()
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    @property
    def folder(self) -> Path:
        """The copy of the checkout."""
        return self._folder

    def judge(self, mutant: Mutant, covering: Covering) -> Outcome:
        """Run the tests on a mutant, until one fails."""
        source, mutated = mutant.code(self._folder)
        before, after = mutant.changed(self._folder)
        began = time.monotonic()
        result, test, ending, stage = "survived", "", 0.0, 0
        lines = statement_lines(source, mutant.line)
        tests = covering.tests(mutant.path, lines)
        runs = self._covered(mutant, tests, covering) if tests else self._stages(mutant)
        for arguments, limit, chosen in runs:
            stage += 1
            try:
                (self._folder / mutant.path).write_text(mutated, encoding="utf-8")
                result, test, ending = self._pytest(arguments, limit, chosen)
            finally:
                (self._folder / mutant.path).write_text(source, encoding="utf-8")
            if result != "survived":
                break
        return Outcome(
            mutant=asdict(mutant),
            before=before,
            after=after,
            result=result,
            test=test,
            stage=stage,
            seconds=round(time.monotonic() - began, 1),
            ending=round(ending, 1),
        )

    def _covered(self, mutant: Mutant, tests: list[str], covering: Covering) -> Iterator[_Run]:
        """Yield the tests that run the changed statement."""
        for batch in covering.batches(tests, f"tests/{Path(mutant.path).parts[1]}/"):
            files = dict.fromkeys(test.partition("::")[0] for test in batch)
            yield tuple(files), 3 * sum(map(covering.seconds.__getitem__, batch)) + _SLACK, batch

    def _stages(self, mutant: Mutant) -> Iterator[_Run]:
        """Yield all tests of a package."""
        for arguments in self._folders(mutant):
            yield arguments, self._limit(arguments), None

    def _folders(self, mutant: Mutant) -> Iterator[tuple[str, ...]]:
        first, *others = _STAGES[Path(mutant.path).parts[1]]
        name = Path(mutant.path).stem.strip("_")
        namesakes = sorted((self._folder / "tests" / Path(mutant.path).parts[1]).glob(f"test_*{name}*.py"))
        if namesakes and name:
            yield tuple(str(path.relative_to(self._folder)) for path in namesakes)
        yield first
        yield from others

    def _limit(self, arguments: tuple[str, ...]) -> float:
        """Return the time limit of a stage, measured without a mutant when it is needed first."""
        if arguments not in self._limits:
            began = time.monotonic()
            result, test, _ = self._pytest(arguments, limit=3600)
            if result != "survived":
                raise SystemExit(
                    f"without any mutant, {test or 'the run'} fails in {' '.join(arguments)}: repair that first"
                )
            self._limits[arguments] = 3 * (time.monotonic() - began) + _SLACK
        return self._limits[arguments]

    def _pytest(
        self, arguments: tuple[str, ...], limit: float, chosen: list[str] | None = None
    ) -> tuple[str, str, float]:
        """Run tests until the first fails; return the result, the test, and the seconds from the failure to the end."""
        command = [sys.executable, "-m", "pytest", "-x", "-v", "-n0", "-p", "no:cacheprovider"]
        command += ["-p", "tools.mutants.plugin", *arguments]
        environment = {
            **os.environ,
            "CI": "true",  # the same random examples each time
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": str(self._folder),  # also for processes that tests start elsewhere
        }
        if chosen is not None:
            environment["MUTANTS_TESTS"] = str(self._folder / ".mutants-tests.json")
            Path(environment["MUTANTS_TESTS"]).write_text(json.dumps(chosen), encoding="utf-8")
        process = subprocess.Popen(  # noqa: S603  # pytest
            command, cwd=self._folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(limit, _kill, [process])
        timer.start()
        test, failed = "", 0.0
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if not failed and (found := _FAILED.match(line)):
                    test, failed = found["test"] or "collection", time.monotonic()
            code = process.wait()
            ending = time.monotonic() - failed if failed else 0.0
            timed_out = timer.finished.is_set()
        finally:
            timer.cancel()
            _kill(process)
        if timed_out and not failed:
            return "timeout", "", 0.0
        return "survived" if code == 0 else "killed", test, ending


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _load(file: Path) -> list[Outcome]:
    if not file.exists():
        return []
    return [Outcome(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def equivalent(outcome: Outcome) -> str:
    """Return the reason why a mutant is equivalent; empty if it is not listed."""
    known = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")) if EQUIVALENT.exists() else {}
    before, after = ("\n".join(line.strip() for line in lines) for lines in (outcome.before, outcome.after))
    for entry in known.get("mutant", ()):
        if (entry["path"], entry["before"], entry["after"]) == (outcome.mutant["path"], before, after):
            return str(entry["reason"])
    return ""


def report(outcomes: list[Outcome]) -> bool:
    """Print the survivors and the counts; return whether the goal is reached."""
    survivors = [outcome for outcome in outcomes if outcome.result == "survived"]
    missing = [outcome for outcome in survivors if not equivalent(outcome)]
    late = [outcome for outcome in outcomes if outcome.ending > ENDING]
    for outcome in missing:
        print(f"\n{outcome.mutant['path']}:{outcome.mutant['line']} survives ({outcome.mutant['operator']})")
        print("\n".join([*(f"-{line}" for line in outcome.before), *(f"+{line}" for line in outcome.after)]))
    for outcome in late:
        print(f"\n{outcome.test} ended {outcome.ending:g} s after its failure, by {outcome.mutant['path']}")
    counts = Counter(outcome.result for outcome in outcomes)
    counted = len(outcomes) - len(survivors) + len(missing)
    killed = (counted - len(missing)) / counted if counted else 1.0
    print(
        f"\n{len(outcomes)} mutants: {counts['killed']} killed, {counts['timeout']} by a time limit, {len(missing)} "
        f"survived, {len(survivors) - len(missing)} equivalent: {killed:.1%} of those that are not"
    )
    return killed >= GOAL and not late


def main(arguments: list[str]) -> int:
    """Draw mutants, judge each, and report."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("packages", nargs="*", help=f"of {', '.join(PACKAGES)}; all without")
    parser.add_argument("--seed", type=int, default=int(f"{datetime.now(UTC):%Y%m%d}"), help="seed of the random draw")
    parser.add_argument("--count", type=int, default=300, help="how many")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--output", type=Path, help="where outcomes are written, a line each")
    parser.add_argument("--report", type=Path, metavar="FILE", help="only print the report of such a file")
    given = parser.parse_args(arguments)
    if given.report:
        return not report(_load(given.report))
    if unknown := set(given.packages) - set(PACKAGES):
        parser.error(f"unknown package {unknown.pop()!r}: choose from {', '.join(PACKAGES)}")
    packages = given.packages or PACKAGES
    name = f"mutants-{given.seed}-{given.count}-{'-'.join(given.packages) or 'all'}.jsonl"
    output = given.output or ROOT / "build" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    outcomes = _load(output)
    print(f"seed {given.seed}: {given.count} mutants of {', '.join(packages)}, {len(outcomes)} judged before: {output}")
    drawn = draw(ROOT, packages, given.seed, given.count)
    judged = [outcome.mutant for outcome in outcomes]
    waiting = [mutant for mutant in drawn if asdict(mutant) not in judged]
    if len(waiting) + len(outcomes) != len(drawn):
        raise SystemExit(f"the code has changed since {output} was begun: move that file away")
    with output.open("a", encoding="utf-8") as file:
        for outcome in _judged(waiting, given.jobs, packages) if waiting else ():
            outcomes.append(outcome)
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
            place = f"{outcome.mutant['path']}:{outcome.mutant['line']}"
            print(f"{len(outcomes)} {place} {outcome.result} {outcome.seconds:g} s {outcome.test}", flush=True)
    return not report(outcomes)


def _judged(mutants: list[Mutant], jobs: int, packages: Iterable[str]) -> Iterator[Outcome]:
    """Judge mutants, ``jobs`` at a time, each job in its own copy of the checkout; yield outcomes as they come."""
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="dynkube-mutants-")) for _ in range(jobs)]
        workshops = [Workshop(Path(folder)) for folder in folders]
        free: SimpleQueue[Workshop] = SimpleQueue()
        for workshop in workshops:
            free.put(workshop)
        stages = (stage for package in packages for stage in _STAGES[package])
        tests = list(dict.fromkeys(argument for stage in stages for argument in stage))
        covering = measure(workshops[0].folder, ROOT / "build", tests, jobs)

        def judge(mutant: Mutant) -> Outcome:
            workshop = free.get()
            try:
                return workshop.judge(mutant, covering)
            finally:
                free.put(workshop)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        for judging in as_completed([pool.submit(judge, mutant) for mutant in mutants]):
            yield judging.result()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
