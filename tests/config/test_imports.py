"""What importing this floor costs, and what it shows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import dynkube.config


def loaded_by(code: str) -> set[str]:
    code += "\nimport sys; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", code], text=True).split())


def test_importing_and_configuring_without_files_loads_neither_kubernetes_nor_yaml() -> None:
    modules = loaded_by(
        "import dynkube.config as c\n"
        "c.explicit_config('https://api', token='t')\n"
        "c.load_config(kubeconfig={'current-context': 'x', 'contexts': [{'name': 'x', 'context': {'cluster': 'c'}}],\n"
        "                          'clusters': [{'name': 'c', 'cluster': {'server': 'https://api'}}]})\n"
    )

    assert "dynkube.config" in modules
    assert not modules & {"kubernetes", "yaml"}


def test_a_kubeconfig_file_is_read_without_kubernetes(write: Callable[[str, object], str]) -> None:
    document = {"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c"}}]}
    path = write("config", document | {"clusters": [{"name": "c", "cluster": {"server": "https://api"}}]})

    modules = loaded_by(f"import dynkube.config as c\nc.load_config(kubeconfig={path!r})\n")

    assert "yaml" in modules
    assert "kubernetes" not in modules


def test_every_public_name_is_there_and_in_order() -> None:
    names = dynkube.config.__all__

    assert list(names) == sorted(names)
    assert all(hasattr(dynkube.config, name) for name in names)
