"""YAML is data: tags that make Python objects are refused, whoever wrote them, and aliases that explode do no harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dynkube.config import load_config
from dynkube.errors import ConfigError, InvalidInput
from dynkube.testing import APIServer

TAGS = [
    "!!python/object/apply:os.system ['touch {marker}']",
    "!!python/object/new:os.system ['touch {marker}']",
    "!!python/object:subprocess.Popen {{args: ['touch', '{marker}']}}",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!python/tuple [a, b]",
]


@pytest.mark.parametrize("tag", TAGS)
def test_a_kubeconfig_that_makes_objects_is_refused(tag: str, tmp_path: Path, write: Callable[..., str]) -> None:
    value = tag.format(marker=tmp_path / "ran")
    path = write("config", f"apiVersion: v1\nkind: Config\ncurrent-context: c\nusers:\n- name: u\n  user: {value}\n")

    with pytest.raises(ConfigError, match=rf"kubeconfig {path} is no YAML: could not determine a constructor.*line 6"):
        load_config(kubeconfig=path)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("tag", TAGS)
async def test_a_manifest_that_makes_objects_is_refused(tag: str, tmp_path: Path) -> None:
    value = tag.format(marker=tmp_path / "ran")
    async with APIServer() as server:
        with pytest.raises(InvalidInput, match=r"line 4.*could not determine a constructor"):
            server.load(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {value}\n")

        assert server.list("configmaps") == []
    assert not (tmp_path / "ran").exists()


def test_aliases_that_explode_do_no_harm_in_a_kubeconfig(write: Callable[..., str]) -> None:
    levels = "\n".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    path = write("config", f"kind: Config\nextensions:\n  a0: &a0 [x]\n{levels}\ncurrent-context: c\n")

    with pytest.raises(ConfigError, match="has no context 'c'"):
        load_config(kubeconfig=path)


@pytest.mark.parametrize("text", ["a: &a [*a]", "[" * 100_000, "a: " + "{b: " * 100_000])
def test_what_is_circular_or_endlessly_deep_is_no_kubeconfig(text: str, write: Callable[..., str]) -> None:
    with pytest.raises(ConfigError):
        load_config(kubeconfig=write("config", text))
