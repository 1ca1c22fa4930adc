"""Writes docs/scenarios.md: which tests show each numbered scenario, failure mode and promise.

The numbers and what must hold are in tests/scenarios.toml, and a test says which it shows by a mark,
``@pytest.mark.scenario("G3", "F6")``, or its module by ``pytestmark``. The marks are read from the source,
without importing it, so the page is the same whatever is installed and whichever servers are there.

    python -m tools.scenarios
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "tests" / "scenarios.toml"
PAGE = ROOT / "docs" / "scenarios.md"

INTRODUCTION = """\
# Scenarios, and the tests that show them

Each test below says by its mark which number it shows: `make test ARGS="-m scenario"` runs them all. Those in
`tests/contract` run on real API servers too (`make test-cluster`). This page is written by `make scenarios`.
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


class StrayMark(Exception):
    """A mark stands where it cannot be told to which tests it belongs."""


def read_sections(path: Path = NUMBERS) -> tuple[Section, ...]:
    """The scenarios, in the order of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(
        Section(
            str(table.pop("title")),
            tuple(Scenario(f"{letter}{number}", str(sentence)) for number, sentence in table.items()),
        )
        for letter, table in tables.items()
    )


def read_numbers(path: Path = NUMBERS) -> frozenset[str]:
    """Every number there is."""
    return frozenset(scenario.number for section in read_sections(path) for scenario in section.scenarios)


def read_marks(tests: Path, root: Path = ROOT) -> dict[str, list[Shown]]:
    """Which tests below a folder show which number, by file and position in it.

    Raises:
        StrayMark: a mark is neither a decorator of a test nor in ``pytestmark``.
    """
    shown: dict[str, list[Shown]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "mark.scenario" not in source:
            continue
        for test, number in marks_of(source, path.relative_to(root).as_posix()):
            shown.setdefault(number, []).append(test)
    return shown


def marks_of(source: str, file: str) -> Iterator[tuple[Shown, str]]:
    """Each test of a module with each number that it shows, once."""
    tree = ast.parse(source)
    everywhere = [mark for node in tree.body if _is_pytestmark(node) for mark in _marks_in(node)]
    tests = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    placed = set(everywhere)
    for test in tests:
        own = [mark for decorator in test.decorator_list for mark in _marks_in(decorator)]
        placed.update(own)
        numbers = [ast.literal_eval(argument) for mark in (*everywhere, *own) for argument in mark.args]
        for number in dict.fromkeys(numbers):
            yield Shown(file, test.name), number
    for stray in set(_marks_in(tree)) - placed:
        raise StrayMark(f"{file}:{stray.lineno}: scenario marks stand above a test, or in the module's pytestmark")


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]


def _marks_in(node: ast.AST) -> list[ast.Call]:
    return [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.scenario"
    ]


def render(sections: tuple[Section, ...], shown: dict[str, list[Shown]]) -> str:
    """The page."""
    lines = [INTRODUCTION]
    for section in sections:
        lines += [f"## {section.title}", "", "| | what must hold | shown by |", "|---|---|---|"]
        for scenario in section.scenarios:
            tests = "<br>".join(_cell(shown.get(scenario.number, [])))
            lines.append(f"| {scenario.number} | {scenario.sentence} | {tests} |")
        lines.append("")
    return "\n".join(lines)


def _cell(tests: list[Shown]) -> Iterator[str]:
    """Tests grouped by file: the file, then their names."""
    for file in dict.fromkeys(test.file for test in tests):
        names = ", ".join(f"`{test.test}`" for test in tests if test.file == file)
        yield f"[{file.removeprefix('tests/')}](../{file}): {names}"


def main() -> None:
    """Write the page."""
    sections = read_sections()
    shown = read_marks(ROOT / "tests")
    PAGE.write_text(render(sections, shown), encoding="utf-8")
    missing = [s.number for section in sections for s in section.scenarios if s.number not in shown]
    print(f"{PAGE.relative_to(ROOT)}: {len(shown)} numbers are shown; without a test: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
