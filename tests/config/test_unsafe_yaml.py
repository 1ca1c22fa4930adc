"""YAML is data: tags that construct Python objects are rejected, and so are aliases that grow exponentially."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dynkube.config import load_config
from dynkube.errors import ConfigError, InvalidInput
from dynkube_testing import APIServer

TAGS = [
    "!!python/object/apply:os.system ['touch {marker}']",
    "!!python/object/new:os.system ['touch {marker}']",
    "!!python/object:subprocess.Popen {{args: ['touch', '{marker}']}}",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!python/tuple [a, b]",
]


@pytest.mark.parametrize("tag", TAGS)
def test_a_kubeconfig_that_constructs_objects_is_rejected(tag: str, tmp_path: Path, write: Callable[..., str]) -> None:
    value = tag.format(marker=tmp_path / "ran")
    path = write("config", f"apiVersion: v1\nkind: Config\ncurrent-context: c\nusers:\n- name: u\n  user: {value}\n")

    with pytest.raises(
        ConfigError, match=rf"kubeconfig {path} is not valid YAML: could not determine a constructor.*line 6"
    ):
        load_config(kubeconfig=path)

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("tag", TAGS)
async def test_a_manifest_that_constructs_objects_is_rejected(tag: str, tmp_path: Path) -> None:
    value = tag.format(marker=tmp_path / "ran")
    async with APIServer() as server:
        with pytest.raises(InvalidInput, match=r"line 4.*could not determine a constructor"):
            server.load(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {value}\n")

        assert server.list("configmaps") == []
    assert not (tmp_path / "ran").exists()


def test_a_kubeconfig_with_exponential_aliases_is_rejected(write: Callable[..., str]) -> None:
    levels = "\n".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    path = write("config", f"kind: Config\nextensions:\n  a0: &a0 [x]\n{levels}\ncurrent-context: c\n")

    with pytest.raises(ConfigError, match="is not valid YAML: document contains excessive aliasing"):
        load_config(kubeconfig=path)


@pytest.mark.parametrize("text", ["a: &a [*a]", "[" * 100_000, "a: " + "{b: " * 100_000])
def test_a_circular_or_too_deep_kubeconfig_is_rejected(text: str, write: Callable[..., str]) -> None:
    with pytest.raises(ConfigError):
        load_config(kubeconfig=write("config", text))


@pytest.mark.parametrize("level", ["[{}]", "{{<<: [{}]}}"], ids=["aliases", "merge keys"])
def test_exponential_merge_keys_in_a_kubeconfig_are_rejected_before_they_are_built(
    level: str, write: Callable[..., str]
) -> None:
    levels = "\n".join(f"a{n}: &a{n} {level.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 9))
    path = write("config", f"kind: Config\na0: &a0 {{k: v}}\n{levels}\n")

    with pytest.raises(
        ConfigError, match=r"is not valid YAML: document contains excessive aliasing: .* \(line 5, column \d+"
    ):
        load_config(kubeconfig=path)


def test_a_kubeconfig_that_is_not_a_regular_file_is_rejected_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    for path, kind in ((tmp_path / "fifo", r"a named pipe \(FIFO\)"), ("/dev/zero", "a device")):
        with pytest.raises(ConfigError, match=f"kubeconfig {path} cannot be read: it is {kind}: copy its content"):
            load_config(kubeconfig=path)


def test_a_kubeconfig_that_is_too_large_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "config").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(
        ConfigError, match="cannot be read: it has 1,099,511,627,776 bytes, the limit is 16,777,216 bytes"
    ):
        load_config(kubeconfig=tmp_path / "config")


def test_the_null_device_is_an_empty_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", os.devnull)

    with pytest.raises(ConfigError, match="no kubeconfig found, or it is empty"):
        load_config()


@pytest.mark.parametrize("items", ["a," * 50_000, "*a," * 90], ids=["written", "repeated"])
def test_a_kubeconfig_with_too_many_values_is_rejected(items: str, write: Callable[..., str]) -> None:
    path = write("config", f"kind: Config\na: &a [{'a,' * 1_000}]\nextensions: [{items}]\n")

    with pytest.raises(ConfigError, match=r"is not valid YAML: .* 50,000 keys and values"):
        load_config(kubeconfig=path)


def test_a_kubeconfig_of_hundreds_of_clusters_is_read(write: Callable[..., str]) -> None:
    user = {
        "command": "p",
        "apiVersion": "client.authentication.k8s.io/v1",
        "interactiveMode": "Never",
        "args": list("abcd"),
    }
    clusters = [{"name": f"c{n}", "cluster": {"server": f"https://{n}"}} for n in range(300)]
    users = [{"name": f"c{n}", "user": {"exec": user}} for n in range(300)]
    contexts = [{"name": f"c{n}", "context": {"cluster": f"c{n}", "user": f"c{n}"}} for n in range(300)]
    path = write("config", {"clusters": clusters, "users": users, "contexts": contexts, "current-context": "c299"})

    assert load_config(kubeconfig=path).server == "https://299"
