"""Coverage by test: which tests run which lines, so that only these run on a mutant."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from coverage import CoverageData

_MEASURE: Final = """
[run]
source = dynkube
relative_files = true
"""
_FIRST: Final = 5.0
"""Seconds of tests in the first batch: most mutants fail one of the fastest tests."""

_MOST: Final = 60.0
"""The limit in seconds for tests outside of the package's folder: some statements run in thousands of tests."""


class Covering:
    """The tests of each line, and the duration of each test.

    Args:
        folder: the folder that :func:`measure` has written.
    """

    def __init__(self, folder: Path) -> None:
        self._data = CoverageData(str(folder / "coverage"))
        self._data.read()
        self.seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
        self._known: dict[str, dict[int, list[str]]] = {}

    def tests(self, path: str, lines: Iterable[int]) -> list[str]:
        """Return the node ids of the tests that run any of these lines, the fastest first.

        Empty for lines that run when the module is imported, and for those that only run in other processes.
        """
        if path not in self._known:
            self._known[path] = self._data.contexts_by_lineno(path)
        contexts = {context for line in lines for context in self._known[path].get(line, ()) if context}
        tests = {context.rpartition("|")[0] for context in contexts}
        return sorted(tests & self.seconds.keys(), key=lambda test: (self.seconds[test], test))

    def batches(self, tests: Sequence[str], folder: str) -> Iterator[list[str]]:
        """Split tests into the fastest ones of a folder, and all others of it with the fastest of other folders."""
        first: list[str] = []
        seconds = 0.0
        for test in tests:
            seconds += self.seconds[test]
            if test.startswith(folder) and seconds <= _FIRST:
                first.append(test)
        if first:
            yield first
        others, seconds = [], 0.0
        for test in tests:
            seconds += self.seconds[test]
            if test not in first and (test.startswith(folder) or seconds <= _MOST):
                others.append(test)
        if others:
            yield others


def measure(checkout: Path, build: Path, arguments: Sequence[str], jobs: int) -> Covering:
    """Run tests with coverage, unless there is a result for the same code.

    Args:
        checkout: where the tests run.
        build: where the result is kept.
        arguments: the tests, as for pytest.
        jobs: how many processes run them.
    """
    folder = build / f"covering-{_digest(checkout, arguments)}"
    if not (folder / "seconds.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "coveragerc").write_text(_MEASURE, encoding="utf-8")
        command = [
            *(
                sys.executable,
                "-m",
                "pytest",
                "-q",
                f"-n{jobs}",
                "-p",
                "no:cacheprovider",
                "-p",
                "tools.mutants.plugin",
            ),
            *("--cov=dynkube", "--cov-context=test", f"--cov-config={folder / 'coveragerc'}", "--cov-report="),
            *arguments,
        ]
        environment = {
            **os.environ,
            "CI": "true",  # the same random examples each time
            "COVERAGE_FILE": str(folder / "coverage"),
            "PYTHONPATH": os.pathsep.join((str(checkout), str(checkout / "dynkube-testing"))),
            "MUTANTS_SECONDS": str(folder / "seconds.json"),
        }
        # Tests that fail under coverage, such as those of memory, are not used for mutants.
        if subprocess.run(command, cwd=checkout, env=environment, check=False).returncode not in (0, 1):  # noqa: S603  # pytest
            (folder / "seconds.json").unlink(missing_ok=True)
            raise SystemExit("the tests could not be measured without any mutant: repair that first")
    return Covering(folder)


def _digest(checkout: Path, arguments: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps(arguments).encode())
    for folder in ("dynkube", "dynkube-testing", "tests"):
        for file in sorted((checkout / folder).rglob("*.py")):
            digest.update(str(file.relative_to(checkout)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def statement_lines(source: str, line: int) -> range:
    """Return the lines of the innermost statement at ``line``; of a compound statement those of its header."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            if line <= end or not body:
                found = range(node.lineno, max(node.lineno, end) + 1)  # ast.walk: inner statements come later
    return found
