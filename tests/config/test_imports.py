"""The cost of importing this package, and its public names."""

from __future__ import annotations

import subprocess
import sys

import dynkube.config


def loaded_by(code: str) -> set[str]:
    code += "\nimport sys; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", code], text=True).split())


def test_importing_and_configuring_without_files_does_not_load_kubernetes() -> None:
    modules = loaded_by(
        "import dynkube.config as c\n"
        "c.explicit_config('https://api', token='t')\n"
        "c.load_config(kubeconfig={'current-context': 'x', 'contexts': [{'name': 'x', 'context': {'cluster': 'c'}}],\n"
        "                          'clusters': [{'name': 'c', 'cluster': {'server': 'https://api'}}]})\n"
    )

    assert "dynkube.config" in modules
    assert "kubernetes" not in modules


def test_all_public_names_exist_and_are_sorted() -> None:
    names = dynkube.config.__all__

    assert list(names) == sorted(names)
    assert all(hasattr(dynkube.config, name) for name in names)
