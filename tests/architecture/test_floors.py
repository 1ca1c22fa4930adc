"""The floors of the package: what may import what, held by import-linter's contracts in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[2]


def test_floors_import_downward_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == EXIT_STATUS_SUCCESS


def test_every_package_and_top_module_has_its_floor() -> None:
    graph = grimp.build_graph("dynkube", cache_dir=None)
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = config.split("layers = [", 1)[1].split("]", 1)[0]

    unplaced = {name for name in graph.find_children("dynkube") if f'"{name.removeprefix("dynkube.")}"' not in layers}

    assert unplaced == {"dynkube.testing"}  # beside the floors, with contracts of its own


def test_nobody_inside_imports_the_top() -> None:
    graph = grimp.build_graph("dynkube", cache_dir=None)

    assert graph.find_modules_that_directly_import("dynkube") <= {"dynkube.cli._main"}
