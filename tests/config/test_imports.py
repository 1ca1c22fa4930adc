"""The cost of importing this package, and its public names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dynkube.config

REQUEST = "import dynkube.sync; dynkube.sync.connect().get('ns', 'default')"
COMMAND = "from dynkube.cli import main; assert main(['describe', 'ns', 'default']) == 0"
CONVERT = (
    "import dynkube.config as c\n"
    "c.explicit_config('https://api', token='t')\n"
    "c.load_config(kubeconfig={'clusters': [{'cluster': {'server': 'https://api'}}]})\n"
)


def loaded_by(code: str) -> set[str]:
    code += "\nimport sys; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1].split())


@pytest.mark.real_time
@pytest.mark.parametrize("code", [REQUEST, COMMAND], ids=["request", "command"])
def test_a_request_with_a_kubeconfig_does_not_load_kubernetes(
    code: str, api_server_kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api_server_kubeconfig))

    modules = loaded_by(code)

    assert {"dynkube.config", "yaml", "httpx2"} <= modules
    assert not modules & {"kubernetes", "IPython"}


def test_importing_and_configuring_without_files_does_not_load_kubernetes_or_yaml() -> None:
    modules = loaded_by(CONVERT)

    assert "dynkube.config" in modules
    assert not modules & {"kubernetes", "yaml"}


def test_all_public_names_exist_and_are_sorted() -> None:
    names = dynkube.config.__all__

    assert list(names) == sorted(names)
    assert all(hasattr(dynkube.config, name) for name in names)
