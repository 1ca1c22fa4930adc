"""The notebooks, each run in a real kernel: they work, and what is stored in them is what they show."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from tools.notebooks import PATIENCE, differences, execute, notebooks

each_notebook = pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in notebooks()])


@pytest.mark.real_time
@pytest.mark.timeout(PATIENCE * 2)
@each_notebook
def test_it_runs_to_its_end_and_shows_what_is_stored(file: Path) -> None:
    played = execute(file)

    assert differences(nbformat.read(file, as_version=4), played) == ""


@each_notebook
def test_no_cell_awaits_anything(file: Path) -> None:
    for cell in nbformat.read(file, as_version=4).cells:
        tree = ast.parse(cell.source if cell.cell_type == "code" else "")

        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor)]


@each_notebook
def test_it_begins_with_the_way_to_a_cluster_of_ones_own(file: Path) -> None:
    first = nbformat.read(file, as_version=4).cells[0]

    assert first.cell_type == "markdown"
    assert "k = dynkube.sync.connect()" in first.source
