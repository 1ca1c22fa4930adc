"""Kustomizations and Helm charts passed to ``apply`` and ``diff``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynkube.cli import main
from dynkube.cli._unbuilt import refuse_unbuilt

FLUX = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n"
CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
@pytest.mark.parametrize(
    "text", ["resources: [a.yaml]\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nresources: []\n"]
)
@pytest.mark.parametrize(("command", "code"), [("apply", 1), ("diff", 2)])
def test_the_error_for_a_kustomization_names_the_command_that_builds_it(
    name: str, text: str, command: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "the shop"
    folder.mkdir()
    (folder / name).write_text(text)

    assert main([command, "-f", str(folder), "--url", "http://127.0.0.1:1"]) == code

    err = capsys.readouterr().err
    assert err.startswith(f"error: {folder} is a kustomization ({name}), which is not built: ")
    assert err.endswith(f"kubectl kustomize '{folder}' | dynkube {command} -f -\n")


def test_the_error_for_a_helm_chart_names_the_command_that_renders_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Chart.yaml").write_text(CHART)

    assert main(["apply", "-f", str(tmp_path), "--url", "http://127.0.0.1:1"]) == 1

    err = capsys.readouterr().err
    assert err.startswith(f"error: {tmp_path} is a Helm chart (Chart.yaml), which is not rendered: ")
    assert err.endswith(f"helm template {tmp_path} | dynkube apply -f -\n")


def test_a_kustomization_in_a_subfolder_or_given_as_a_file_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = tmp_path / "overlays" / "prod"
    inner.mkdir(parents=True)
    path = inner / "kustomization.yaml"
    path.write_text("resources: []\n")

    for source in (tmp_path, path):
        assert main(["apply", "-f", str(source), "--url", "http://127.0.0.1:1"]) == 1
        assert f"kubectl kustomize {inner} | " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kustomization.yaml", FLUX),
        ("kustomization.yaml", FLUX.replace("apiVersion", '"apiVersion"')),
        ("Chart.yaml", "apiVersion: example.com/v1\nkind: Chart\n"),
        (".git/kustomization.yaml", "resources: []\n"),
    ],
)
def test_objects_in_files_of_these_names_are_accepted(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)

    refuse_unbuilt([str(tmp_path), str(tmp_path / "missing"), "-"], "apply")
