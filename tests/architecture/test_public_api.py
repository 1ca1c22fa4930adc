"""docs/reference/public-api.txt lists the public API completely; ``dir()`` shows nothing else."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from tools.public_api import FILE, MODULES, public_names


def test_the_public_names_are_those_listed_in_the_file() -> None:
    listed = FILE.read_text(encoding="utf-8").splitlines()

    assert list(public_names()) == listed, "run 'python -m tools.public_api' if that is intended, and look at the diff"


@pytest.mark.parametrize("path", MODULES)
def test_dir_of_a_module_shows_only_its_public_names_and_submodules(path: str) -> None:
    module = importlib.import_module(path)
    visible = {name for name in dir(module) if name.isidentifier() and not name.startswith("_")} - {"annotations"}

    others = visible - set(module.__all__)

    submodules = {name for name in others if isinstance(getattr(module, name), ModuleType)}
    assert others == submodules
    assert {f"{path}.{name}" for name in submodules} <= {
        *MODULES,
        "dynkube.cli",
        "dynkube.testing",
        "dynkube_testing.pytest_plugin",
    }


@pytest.mark.parametrize("path", MODULES)
def test_each_module_has_a_page_in_the_reference(path: str) -> None:
    assert f".. automodule:: {path}\n" in "".join(page.read_text() for page in FILE.parent.glob("*.md"))
