"""The README of the distribution dynkube-testing, in a pytest of its own; and what the two distributions require."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.public_api.documents import python_blocks

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
BLOCKS = python_blocks("dynkube-testing/README.md")
TESTS = [block for block in BLOCKS if "def test_" in block]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project whose pytest loads only the plugin of the distribution."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # which has kubectl
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = -p dynkube_testing.pytest_plugin --strict-markers\n")
    return pytester


@pytest.mark.real_time
@pytest.mark.timeout(300)
def test_every_test_of_the_readme_passes(project: pytest.Pytester) -> None:
    project.makepyfile(**{f"test_block_{number}": block for number, block in enumerate(TESTS)})

    result = project.runpytest_subprocess("-q", "-ra")

    result.assert_outcomes(passed=6)


@pytest.mark.real_time
def test_every_script_of_the_readme_runs(project: pytest.Pytester) -> None:
    (script,) = [block for block in BLOCKS if block not in TESTS]

    result = project.runpython(project.makepyfile(script=script))

    assert (result.ret, result.errlines) == (0, [])
    assert re.fullmatch(r"API server at http://127\.0\.0\.1:\d+", result.outlines[0])


def test_no_test_of_a_client_needs_the_client_of_dynkube() -> None:
    assert {line for block in BLOCKS for line in block.splitlines() if re.search(r"\bdynkube\b", line)} == set()


def test_the_two_distributions_have_and_require_the_same_version() -> None:
    client, server = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (".", "dynkube-testing")
    )

    assert client["version"] == server["version"]
    assert f"dynkube=={client['version']}" in server["dependencies"]
    assert client["optional-dependencies"]["testing"] == [f"dynkube-testing[cel,control-plane]=={client['version']}"]
