"""docs/testing.md and the tests in examples, in a pytest of their own."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.public_api.documents import python_blocks

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project whose pytest loads only the plugins that the page names."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # which has kubectl
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini(
        "[pytest]\nanyio_mode = auto\naddopts = -p anyio -p dynkube_testing.pytest_plugin --strict-markers\n"
    )
    return pytester


def test_every_test_of_the_page_passes(project: pytest.Pytester) -> None:
    conftest, *blocks = python_blocks("docs/testing.md")
    assert conftest.startswith("# conftest.py\n")
    project.makeconftest(conftest)
    tests = [block for block in blocks if re.search(r"^(async )?def test_", block, re.MULTILINE)]
    project.makepyfile(**{f"test_block_{number}": block for number, block in enumerate(tests)})

    result = project.runpytest_subprocess("-q", "-ra")

    result.assert_outcomes(passed=len(tests))
    assert len(tests) >= 11


def test_every_script_of_the_page_runs(project: pytest.Pytester) -> None:
    blocks = python_blocks("docs/testing.md")[1:]
    scripts = [block for block in blocks if not re.search(r"^(async )?def test_", block, re.MULTILINE)]

    for script in scripts:
        result = project.runpython(project.makepyfile(script=script))
        assert (result.ret, result.errlines) == (0, [])

    assert len(scripts) == 2


def test_the_examples_pass(project: pytest.Pytester) -> None:
    plugins = [
        option for name in ("anyio", "pytest_timeout", "dynkube_testing.pytest_plugin") for option in ("-p", name)
    ]

    result = project.runpytest_subprocess(*plugins, "-p", "no:cacheprovider", str(ROOT / "examples"))

    result.assert_outcomes(passed=61)


def test_the_controller_example_has_fifteen_lines_of_test() -> None:
    source = (ROOT / "examples" / "test_my_controller.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if line.strip() and not line.startswith(('"""', "import", "from"))]

    assert len(lines) <= 15
