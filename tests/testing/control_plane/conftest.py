"""Control planes made of fake programs, and real ones if their binaries are on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynkube_testing import ControlPlane
from tests.testing.control_plane.fakes import write_fakes

NO_BINARIES = "no binaries of a control plane: name their folder as --cluster NAME=FOLDER or in $KUBEBUILDER_ASSETS"


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """A folder with a fake etcd and a fake kube-apiserver, which start at once and store nothing."""
    return write_fakes(tmp_path / "bin")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use ``assets`` once for each folder with real binaries."""
    if "assets" in metafunc.fixturenames:
        given = [cluster.partition("=") for cluster in metafunc.config.getoption("--cluster")]
        folders = {name: Path(path) for name, _, path in given if (Path(path) / "kube-apiserver").is_file()}
        if not folders and (path := os.environ.get("KUBEBUILDER_ASSETS")):
            folders = {"assets": Path(path)}
        none = pytest.param(None, id="none", marks=pytest.mark.skip(reason=NO_BINARIES))
        metafunc.parametrize("assets", folders.values() or [none], ids=folders or None, scope="module")


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, shared by the tests of a module; it runs when a test begins."""
    with ControlPlane(assets, folder=tmp_path_factory.mktemp("control-plane") / "plane", keep=False) as plane:
        yield plane
