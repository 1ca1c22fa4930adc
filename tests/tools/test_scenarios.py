"""The table of scenarios is made from the marks of tests; each number has a test, and unknown numbers are errors."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools.scenarios import (
    NUMBERS,
    ROOT,
    Collected,
    Scenario,
    Section,
    Shown,
    by_number,
    read_sections,
    render,
)

pytest_plugins = ["pytester"]
SOURCE = """
import pytest

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.scenario("P1")]
NUMBERS = {"one": "F1", "t|o": "F2"}

@pytest.mark.parametrize("case", [pytest.param(n, marks=pytest.mark.scenario(n), id=i) for i, n in NUMBERS.items()])
@pytest.mark.scenario("G1", "P1")
def test_cases(case):
    pass

def test_plain():
    pass
"""


@pytest.fixture
def collected(pytester: pytest.Pytester) -> list[pytest.Item]:
    """The tests of a module with marks on the module, on a test and on a parameter."""
    pytester.makeini("[pytest]\nmarkers = scenario: numbers")
    pytester.makepyfile(test_a=SOURCE)
    plugin = Collected()
    pytester.inline_run("--collect-only", "-qq", plugins=[plugin])
    return plugin.items


def test_marks_of_modules_tests_and_cases_are_read(collected: list[pytest.Item]) -> None:
    cases, plain = Shown("test_a.py", "test_cases"), Shown("test_a.py", "test_plain")

    assert by_number(collected) == {
        "P1": [cases, plain],
        "G1": [cases],
        "F1": [Shown("test_a.py", "test_cases[one]")],
        "F2": [Shown("test_a.py", "test_cases[t|o]")],
    }


def test_the_table_lists_the_tests_of_each_number_by_file(collected: list[pytest.Item]) -> None:
    scenarios = [Scenario(number, f"{number} holds.") for number in ("P1", "P2", "F2")]

    page = render((Section("Promises", tuple(scenarios)),), by_number(collected), {"P2": "not yet"})

    assert "| P1 | P1 holds. | [test_a.py](../test_a.py): `test_cases`, `test_plain` |" in page
    assert "| P2 | P2 holds. | not yet |" in page
    assert r"`test_cases[t\|o]`" in page


def test_the_numbers_of_each_letter_start_at_one_without_gaps() -> None:
    numbers = {section.scenarios[0].number[0]: [s.number for s in section.scenarios] for section in read_sections()}

    assert {letter: len(found) for letter, found in numbers.items()} == {"G": 27, "F": 40, "K": 37, "P": 13}
    assert all(found == [f"{letter}{n + 1}" for n in range(len(found))] for letter, found in numbers.items())


def test_each_number_has_a_test_or_a_reason() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "DYNKUBE"))}

    done = subprocess.run(
        [sys.executable, "-m", "tools.scenarios", "--check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("mark", ["scenario('G99')", "scenario()", "scenario('G1', also='F2')"])
def test_a_mark_without_a_known_number_fails_the_run(pytester: pytest.Pytester, mark: str) -> None:
    pytester.makeconftest("from tests.conftest import pytest_collection_modifyitems")
    pytester.makeini("[pytest]\nmarkers = scenario: numbers")
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_a(): ...")

    result = pytester.runpytest_inprocess()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*test_a*the mark scenario is wrong*{NUMBERS.name if '99' in mark else 'it takes'}*"])
