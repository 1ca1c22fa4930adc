"""Control planes of fakes, and real ones where their binaries are on the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynkube.testing import ControlPlane
from tests.testing.control_plane.fakes import write_fakes

NO_BINARIES = "no binaries of a control plane: name their folder as --cluster NAME=FOLDER or in $KUBEBUILDER_ASSETS"


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """A folder with an etcd and a kube-apiserver that start at once and have nothing in them."""
    return write_fakes(tmp_path / "bin")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run for each folder with real binaries."""
    if "assets" in metafunc.fixturenames:
        given = [cluster.partition("=") for cluster in metafunc.config.getoption("--cluster")]
        folders = {name: Path(path) for name, _, path in given if (Path(path) / "kube-apiserver").is_file()}
        if not folders and (path := os.environ.get("KUBEBUILDER_ASSETS")):
            folders = {"assets": Path(path)}
        none = pytest.param(None, id="none", marks=pytest.mark.skip(reason=NO_BINARIES))
        metafunc.parametrize("assets", folders.values() or [none], ids=folders or None, scope="module")


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane; the tests of a module share it, and each finds it running."""
    with ControlPlane(assets, folder=tmp_path_factory.mktemp("control-plane") / "plane", keep=False) as plane:
        yield plane
