"""The notebooks run in a kernel, and their outputs equal the stored ones."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import CELL_TIMEOUT, differences, execute, notebooks

each_notebook = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in notebooks()])


@pytest.mark.real_time
@pytest.mark.timeout(CELL_TIMEOUT * 2)
@each_notebook
def test_the_outputs_of_a_run_are_the_stored_ones(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_OBJECTS", "20000")  # instead of a million; figures of measurements are not compared

    executed = execute(file)

    assert differences(nbformat.read(file, as_version=4), executed) == ""


@each_notebook
def test_no_cell_uses_await(file: Path) -> None:
    for cell in nbformat.read(file, as_version=4).cells:
        tree = ast.parse(cell.source if cell.cell_type == "code" else "")

        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor)]


@each_notebook
def test_the_first_cell_says_how_to_use_another_cluster(file: Path) -> None:
    first = nbformat.read(file, as_version=4).cells[0]

    assert first.cell_type == "markdown"
    assert "k = dynkube.sync.connect()" in first.source
