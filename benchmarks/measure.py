"""What the measuring scripts have in common: CPU and memory of this process, the byte server beside it, the output."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MB = 1 << 20


def cpu() -> float:
    """User and system seconds of this process so far, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory(field: str = "VmRSS") -> float:
    """A field of /proc/self/status in MiB: ``VmRSS`` is resident now, ``VmHWM`` the most it ever was.

    Not ``ru_maxrss``, which a process inherits from the one that started it.
    """
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


class Meter:
    """CPU, wall and memory from the moment it is made."""

    def __init__(self) -> None:
        gc.collect()
        self._memory = memory()
        self._cpu = cpu()
        self._wall = time.perf_counter()

    def read(self) -> dict[str, float]:
        """What was spent until now. ``rss_delta_mb`` is growth now, ``peak_delta_mb`` at the worst moment."""
        spent = {"cpu_s": cpu() - self._cpu, "wall_s": time.perf_counter() - self._wall}
        return {
            **spent,
            "rss_delta_mb": memory() - self._memory,
            "peak_delta_mb": memory("VmHWM") - self._memory,
            "peak_mb": memory("VmHWM"),
        }

    def held(self) -> float:
        """MiB by which the process has grown, after a garbage collection: what the result needs to live."""
        gc.collect()
        return memory() - self._memory


@contextmanager
def byte_server(**options: int | str) -> Iterator[str]:
    """The byte server in a process of its own, while the block runs; gives its URL."""
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.byteserver", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("the byte server did not start; its error is above")
        yield url
    finally:
        process.terminate()
        process.wait()


def report(**values: object) -> None:
    """The result as one line of JSON; floats to four digits."""
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
    print(json.dumps(rounded), flush=True)
