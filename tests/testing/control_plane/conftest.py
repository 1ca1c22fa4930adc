"""One real control plane for the tests that need it, where its binaries are on the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynkube.testing import ControlPlane


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder with etcd and kube-apiserver."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        pytest.skip("no binaries of a control plane: name their folder in $KUBEBUILDER_ASSETS")
    return Path(folder)


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that runs when a test begins; tests of a module share it."""
    with ControlPlane(assets, folder=tmp_path_factory.mktemp("control-plane"), keep=False) as plane:
        yield plane
