"""Real Jupyter kernels, with a client of an embedded cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynkube_testing import ServerThread, serve_in_thread
from tests.notebook.kernel import Kernel


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServerThread]:
    """An embedded server for each module."""
    with serve_in_thread() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kernel(cluster: ServerThread) -> Iterator[Kernel]:
    """A kernel for each module, in which ``k`` is a blocking client of the cluster."""
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    with Kernel() as kernel:  # starting it takes seconds
        kernel.run(f"import dynkube, dynkube.sync; k = dynkube.sync.connect(url={cluster.url!r})")
        yield kernel
