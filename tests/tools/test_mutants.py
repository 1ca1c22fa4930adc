"""The selection of tests for a mutant: those that run its statement, the fastest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

coverage = pytest.importorskip("coverage", reason="coverage is installed by make mutants and make coverage")

from tools.mutants.covering import Covering, statement_lines  # noqa: E402  # after the check that coverage is installed

SOURCE = """\
def outer(
    a,
):
    if a:
        return call(
            1,
        )
    for x in (
        1, 2,
    ):
        pass
"""


@pytest.mark.parametrize(
    ("line", "lines"), [(1, [1, 2, 3]), (2, [1, 2, 3]), (4, [4]), (6, [5, 6, 7]), (9, [8, 9, 10]), (11, [11])]
)
def test_the_lines_of_a_statement_are_found_by_any_of_them(line: int, lines: list[int]) -> None:
    assert list(statement_lines(SOURCE, line)) == lines


@pytest.fixture
def covering(tmp_path: Path) -> Covering:
    seconds = {"tests/a/test_x.py::slow": 9.0, "tests/a/test_x.py::fast": 0.1, "tests/b/test_y.py::other": 0.2}
    data = coverage.CoverageData(str(tmp_path / "coverage"))
    for number, test in enumerate(seconds):
        data.set_context(f"{test}|run")
        data.add_lines({"dynkube/m.py": [1, 10 + number]})
    data.set_context("")
    data.add_lines({"dynkube/m.py": [1, 2]})
    data.write()
    (tmp_path / "seconds.json").write_text(json.dumps(seconds))
    return Covering(tmp_path)


def test_the_tests_of_a_line_are_sorted_by_time(covering: Covering) -> None:
    assert [test.rpartition("::")[2] for test in covering.tests("dynkube/m.py", [1])] == ["fast", "other", "slow"]
    assert covering.tests("dynkube/m.py", range(11, 12)) == ["tests/a/test_x.py::fast"]


def test_a_line_that_runs_only_on_import_has_no_tests(covering: Covering) -> None:
    assert covering.tests("dynkube/m.py", [2]) == []
    assert covering.tests("dynkube/other.py", [1]) == []


def test_the_fast_tests_of_the_folder_are_the_first_batch(covering: Covering) -> None:
    batches = covering.batches(covering.tests("dynkube/m.py", [1]), "tests/a/")

    assert [[test.rpartition("::")[2] for test in batch] for batch in batches] == [["fast"], ["other", "slow"]]
