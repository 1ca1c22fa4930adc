"""Real Jupyter kernels, with a client in them of a cluster that runs here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynkube.testing import ServerThread, serve_in_thread
from tests.notebook.kernel import Kernel


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServerThread]:
    """An embedded server for each module that asks for one."""
    with serve_in_thread() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kernel(cluster: ServerThread) -> Iterator[Kernel]:
    """A kernel in which ``k`` is a blocking client of the cluster; one for each module."""
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    with Kernel() as kernel:  # starting one takes seconds
        kernel.run(f"import dynkube, dynkube.sync; k = dynkube.sync.connect(url={cluster.url!r})")
        yield kernel
