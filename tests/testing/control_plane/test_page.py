"""The code blocks of docs/control-plane.md, run by a pytest of their own on real binaries."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from dynkube_testing._control_plane.binaries import version_of
from tests.public_api.documents import python_blocks

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[3]
PAGE = python_blocks("docs/control-plane.md")
CONFTEST = "import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'trio'\n"


def is_test(block: str) -> bool:
    return re.search(r"^(async )?def test_", block, re.MULTILINE) is not None


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, assets: Path) -> pytest.Pytester:
    """An empty project with binaries, whose pytest loads only the plugins that the page names."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # which has kubectl
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini(
        "[pytest]\nanyio_mode = auto\naddopts = -p anyio -p dynkube_testing.pytest_plugin --strict-markers\n"
    )
    return pytester


def test_every_test_of_the_page_passes(project: pytest.Pytester) -> None:
    project.makeconftest(CONFTEST)
    tests = [block for block in PAGE if is_test(block)]
    project.makepyfile(**{f"test_block_{number}": block for number, block in enumerate(tests)})

    result = project.runpytest_subprocess("-q", "-ra")

    result.assert_outcomes(passed=len(tests))
    assert len(tests) >= 8


def test_every_script_of_the_page_runs(project: pytest.Pytester, assets: Path) -> None:
    scripts = [block for block in PAGE if not is_test(block) and not block.startswith("# conftest.py\n")]
    if version_of(assets / "kube-apiserver", r"v1\.(\d+)") < "32":
        pytest.skip("the page uses a feature gate of a later version")

    for script in scripts:
        result = project.runpython(project.makepyfile(script=script))
        assert (result.ret, result.errlines) == (0, [])

    assert len(scripts) == 3


@pytest.mark.parametrize(
    "conftest",
    [block for block in PAGE if block.startswith("# conftest.py\n")],
    ids=["flags", "controllers", "versions"],
)
def test_each_conftest_of_the_page_compiles(conftest: str) -> None:
    assert "control_plane" in compile(conftest, "conftest.py", "exec").co_names
