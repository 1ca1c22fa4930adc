"""Marks are read from the source of tests, and what stands where it cannot count is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.scenarios import NUMBERS, Scenario, Section, Shown, StrayMark, marks_of, read_marks, read_sections, render

pytest_plugins = ["pytester"]
SOURCE = '''
import pytest

pytestmark = [pytest.mark.timeout(9), pytest.mark.scenario("P1")]

@pytest.mark.parametrize("case", [pytest.param(1, marks=pytest.mark.scenario("F2"))])
@pytest.mark.scenario("G1", "P1")
async def test_one(case):
    """Async, parametrized, and marked thrice."""

def test_two():
    """Marked by its module alone."""

def helper():
    """No test."""
'''


def test_marks_are_read_from_decorators_parameters_and_modules() -> None:
    found = list(marks_of(SOURCE, "tests/test_a.py"))

    one, two = Shown("tests/test_a.py", "test_one"), Shown("tests/test_a.py", "test_two")
    assert found == [(one, "P1"), (one, "F2"), (one, "G1"), (two, "P1")]


@pytest.mark.parametrize(
    "stray",
    [
        "cases = [pytest.param(1, marks=pytest.mark.scenario('G1'))]",
        "class TestA:\n    @SCENARIO\n    def test_b(self): ...",
    ],
)
def test_a_mark_that_no_test_can_be_told_from_is_refused(stray: str) -> None:
    source = stray.replace("SCENARIO", "pytest.mark.scenario('G1')")

    with pytest.raises(StrayMark, match=r"^tests/test_a.py:\d: scenario marks stand above a test"):
        list(marks_of(source, "tests/test_a.py"))


def test_the_table_has_each_number_with_its_tests_by_file(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_a.py").write_text(SOURCE)
    sections = (Section("Promises", (Scenario("P1", "Reads never block."), Scenario("P2", "Events alternate."))),)

    page = render(sections, read_marks(tmp_path / "tests", tmp_path))

    assert "| P1 | Reads never block. | [deep/test_a.py](../tests/deep/test_a.py): `test_one`, `test_two` |" in page
    assert "| P2 | Events alternate. |  |" in page


def test_every_letter_counts_from_one_without_a_gap() -> None:
    numbers = {section.scenarios[0].number[0]: [s.number for s in section.scenarios] for section in read_sections()}

    assert {letter: len(found) for letter, found in numbers.items()} == {"G": 27, "F": 40, "K": 37, "P": 13}
    assert all(found == [f"{letter}{n + 1}" for n in range(len(found))] for letter, found in numbers.items())


@pytest.mark.parametrize("mark", ["scenario('G99')", "scenario()", "scenario('G1', also='F2')"])
def test_a_mark_without_a_known_number_fails_the_whole_run(pytester: pytest.Pytester, mark: str) -> None:
    pytester.makeconftest("from tests.conftest import pytest_collection_modifyitems")
    pytester.makeini("[pytest]\nmarkers = scenario: numbers")
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_a(): ...")

    result = pytester.runpytest_inprocess()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*test_a*the mark scenario is wrong*{NUMBERS.name if '99' in mark else 'it takes'}*"])
