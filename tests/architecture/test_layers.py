"""Which package may import which: the layers, checked by import-linter's contracts in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]


def test_layers_import_downward_only_and_without_cycles() -> None:
    # In a separate process: import-linter configures logging for the whole process.
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"

    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_every_package_and_top_module_has_its_layer() -> None:
    graph = grimp.build_graph("dynkube", cache_dir=None)
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = config.split("layers = [", 1)[1].split("]", 1)[0].replace(" | ", '", "')

    unplaced = {name for name in graph.find_children("dynkube") if f'"{name.removeprefix("dynkube.")}"' not in layers}

    assert unplaced == set()


def test_no_module_imports_the_top_level_package() -> None:
    graph = grimp.build_graph("dynkube", cache_dir=None)

    assert graph.find_modules_that_directly_import("dynkube") <= {"dynkube.cli._main"}
