"""Helpers of the benchmarks: CPU and memory of this process, the byte server, and the output."""

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
    """Return the user and system CPU seconds of this process so far, of all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory(field: str = "VmRSS") -> float:
    """Return a field of /proc/self/status in MiB: ``VmRSS`` is the resident memory, ``VmHWM`` its peak.

    ``ru_maxrss`` is not used, as a process inherits it from its parent.
    """
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


class Meter:
    """Measures CPU time, wall time and memory from its creation."""

    def __init__(self) -> None:
        gc.collect()
        self._memory = memory()
        self._cpu = cpu()
        self._wall = time.perf_counter()

    def read(self) -> dict[str, float]:
        """Return the measurements so far: ``rss_delta_mb`` is the growth, ``peak_delta_mb`` that of the peak."""
        times = {"cpu_s": cpu() - self._cpu, "wall_s": time.perf_counter() - self._wall}
        return {
            **times,
            "rss_delta_mb": memory() - self._memory,
            "peak_delta_mb": memory("VmHWM") - self._memory,
            "peak_mb": memory("VmHWM"),
        }

    def held(self) -> float:
        """Collect garbage, and return by how many MiB the process has grown: the memory that the result occupies."""
        gc.collect()
        return memory() - self._memory


@contextmanager
def byte_server(**options: int | str | bool) -> Iterator[str]:
    """Run the byte server with these options in its own process while the block runs; yields its URL."""
    names = {name: f"--{name.replace('_', '-')}" for name in options}
    arguments = [f"{names[name]}={value}" for name, value in options.items() if not isinstance(value, bool)]
    arguments += [names[name] for name, value in options.items() if value is True]
    command = [sys.executable, "-m", "benchmarks.byteserver", *arguments]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the byte server did not start; see its error above")
            yield url
        finally:
            process.terminate()


def report(**values: object) -> None:
    """Print a result as one line of JSON, with floats rounded to four digits."""
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
    print(json.dumps(rounded), flush=True)
