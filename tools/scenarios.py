"""Writes docs/scenarios.md: which tests show each numbered scenario, failure mode and promise.

The numbers and what must hold are in tests/scenarios.toml, and a test says which it shows by a mark,
``@pytest.mark.scenario("G3", "F6")``; a module by ``pytestmark``, a case by ``pytest.param(..., marks=...)``. The marks
are those of the tests that pytest collects where no optional server is named, so the page is the same everywhere.

    python -m tools.scenarios           writes the page
    python -m tools.scenarios --check   only fails if a number is without a test
"""

from __future__ import annotations

import io
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "tests" / "scenarios.toml"
PAGE = ROOT / "docs" / "scenarios.md"

INTRODUCTION = """\
# Scenarios, and the tests that show them

Each test below says by its mark which number it shows: `make test ARGS="-m scenario"` runs them all. Those in
`tests/contract` run on real API servers too (`make test-cluster`). Where only some cases of a test show a number, they
stand in brackets. This page is written by `make scenarios`.
"""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One number and what must hold."""

    number: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Section:
    """The scenarios of one letter."""

    title: str
    scenarios: tuple[Scenario, ...]


@dataclass(frozen=True, slots=True, order=True)
class Shown:
    """One test that shows a number."""

    file: str
    test: str


def read_sections(path: Path = NUMBERS) -> tuple[Section, ...]:
    """The scenarios, in the order of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(
        Section(
            str(table.pop("title")),
            tuple(Scenario(f"{letter}{number}", str(sentence)) for number, sentence in table.items()),
        )
        for letter, table in tables.items()
        if letter != "open"
    )


def read_open(path: Path = NUMBERS) -> dict[str, str]:
    """The numbers that have no test, and why."""
    return {number: str(reason) for number, reason in tomllib.loads(path.read_text(encoding="utf-8"))["open"].items()}


def read_numbers(path: Path = NUMBERS) -> frozenset[str]:
    """Every number there is."""
    return frozenset(scenario.number for section in read_sections(path) for scenario in section.scenarios)


class Collected:
    """A pytest plugin that keeps the tests which were collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep them."""
        self.items = list(session.items)


def read_marks(tests: Path = ROOT / "tests") -> dict[str, list[Shown]]:
    """Which tests below a folder show which number, by file and position in it.

    Raises:
        SystemExit: they cannot be collected; what pytest says about it is the message.
    """
    files = [path for path in sorted(tests.rglob("test_*.py")) if "mark.scenario" in path.read_text(encoding="utf-8")]
    collected, said = Collected(), io.StringIO()
    with redirect_stdout(said):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *map(str, files)], plugins=[collected])
    if code != pytest.ExitCode.OK:
        raise SystemExit(said.getvalue())
    return by_number(collected.items)


def by_number(items: Iterable[pytest.Item]) -> dict[str, list[Shown]]:
    """The tests that show each number; by case, where only some cases of a test do."""
    cases: dict[Shown, dict[str, set[str]]] = {}
    for item in items:
        function, _, case = item.name.partition("[")
        test = Shown(item.path.relative_to(item.config.rootpath).as_posix(), function)
        cases.setdefault(test, {})[case.removesuffix("]")] = {n for m in item.iter_markers("scenario") for n in m.args}
    shown: dict[str, list[Shown]] = {}
    for test, numbers in cases.items():
        for case, own in numbers.items():
            for number in own:
                everywhere = all(number in others for others in numbers.values())
                name = test if everywhere else Shown(test.file, f"{test.test}[{case}]")
                if name not in shown.setdefault(number, []):
                    shown[number].append(name)
    return shown


def render(sections: tuple[Section, ...], shown: dict[str, list[Shown]], unshown: dict[str, str]) -> str:
    """The page; ``unshown`` says why a number has no test."""
    lines = [INTRODUCTION]
    for section in sections:
        lines += [f"## {section.title}", "", "| | what must hold | shown by |", "|---|---|---|"]
        for scenario in section.scenarios:
            tests = "<br>".join(_cell(shown.get(scenario.number, []))) or unshown.get(scenario.number, "")
            lines.append(f"| {scenario.number} | {scenario.sentence} | {tests} |")
        lines.append("")
    return "\n".join(lines)


def _cell(tests: list[Shown]) -> Iterator[str]:
    """Tests grouped by file: the file, then their names."""
    for file in dict.fromkeys(test.file for test in tests):
        names = ", ".join(f"`{test.test}`" for test in tests if test.file == file).replace("|", "\\|")
        yield f"[{file.removeprefix('tests/')}](../{file}): {names}"


def main() -> None:
    """Write the page, or check it."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    sections, shown, unshown = read_sections(), read_marks(), read_open()
    page = render(sections, shown, unshown)
    print(f"{len(shown)} numbers are shown; open: {', '.join(unshown) or 'none'}")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    if wrong := sorted((read_numbers() - shown.keys()) ^ unshown.keys()):
        sys.exit(f"{', '.join(wrong)}: a number has either a test or a reason in {NUMBERS.name} for having none")


if __name__ == "__main__":
    main()
