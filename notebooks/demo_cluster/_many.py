"""A server with very many objects, and measurements of the notebook's process."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CHECKOUT = Path(__file__).parents[2]
_OBJECTS: Final = "DEMO_OBJECTS"  # environment variable, for tests
_MILLION: Final = 1_000_000
_SIZE: Final = 2500
_CHANGES: Final = 50_000
_running: list[subprocess.Popen[str]] = []  # at most one: a cell that is run again, also after an interrupt


@dataclass(frozen=True)
class ManyObjects:
    """A running server; created by :func:`many`.

    Attributes:
        url: for :func:`dynkube.sync.connect`.
        process: its process id.
    """

    url: str
    process: int


def many() -> ManyObjects:
    """Start a server with a million objects, in a process of its own, which ends with the kernel.

    It is the server of the benchmarks: it sends objects that were rendered before, so it costs little CPU, and it only
    supports reading. 50 times a second one of the first 2,000 objects changes. The process needs 7 GB of memory; a
    server that was started before is stopped.
    """
    _stop()
    count = int(os.environ.get(_OBJECTS, _MILLION))
    objects = [f"--objects={count}", f"--size={_SIZE}", "--render=initial"]
    changes = [f"--events={_CHANGES}", f"--event-size={_SIZE}", "--rate=50", "--changed=2000"]
    server = subprocess.Popen(  # noqa: S603  # our own module
        [sys.executable, "-m", "benchmarks.byteserver", *objects, *changes],
        cwd=_CHECKOUT,
        start_new_session=True,  # an interrupt of the kernel does not end it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    _running.append(server)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    if not url:
        raise RuntimeError("the server did not start; its error is in the log of Jupyter")
    return ManyObjects(f"{url}/pages", server.pid)


@atexit.register
def _stop() -> None:
    while _running:
        with _running.pop() as server:
            server.kill()


class Meter:
    """Measures this process from now on."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._cpu = time.process_time()
        self._memory = _resident()

    @property
    def seconds(self) -> float:
        """The seconds since the beginning."""
        return time.perf_counter() - self._began

    @property
    def cpu(self) -> float:
        """The CPU seconds of all threads since the beginning."""
        return time.process_time() - self._cpu

    @property
    def megabytes(self) -> float:
        """The growth of the resident memory since the beginning, in MB."""
        return _resident() - self._memory


def _resident() -> float:
    """Return the resident memory in MB, where the system has /proc; else NaN."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
