"""Measurements while writes and faults are paused, the check that they do not grow, and the table at the end."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import ClassVar

import trio

from benchmarks.measure import MB, cpu, memory

# The maximum growth from the second third of a run to the last; the first third is for warming up.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measurement of this process and the server.

    Attributes:
        seconds: the time since the start, on trio's clock.
        cpu: the CPU seconds of this process so far.
        blocks: the memory blocks that Python has allocated, after a garbage collection.
        heap: the rest of the heap in use (objects over 512 bytes, C libraries) in MiB; 0 without glibc.
        rss: the resident memory in MiB, after free memory was returned to the system.
        tasks: the tasks of trio.
        threads: the threads of Python.
        files: the open file descriptors, including sockets.
        watches: the open watches on the server.
        objects: the objects of all resources.
        writes: the writes so far.
        events: the events delivered to subscribers so far.
    """

    seconds: float
    cpu: float
    blocks: int
    heap: float
    rss: float
    tasks: int
    threads: int
    files: int
    watches: int
    objects: int
    writes: int
    events: int


_BEFORE_USED = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
# The measurements that must not grow by more than TOLERANCE.
WATCHED = ("blocks", "heap", "rss", "tasks", "threads", "files", "watches")


def sample(*, began: float, watches: int, objects: int, writes: int, events: int) -> Sample:
    """Take a measurement."""
    gc.collect()
    heap = _trim_heap()
    return Sample(
        seconds=trio.current_time() - began,
        cpu=cpu(),
        blocks=sys.getallocatedblocks(),
        heap=heap,
        rss=memory(),
        tasks=trio.lowlevel.current_statistics().tasks_living,
        threads=threading.active_count(),
        files=sum(1 for _ in Path("/proc/self/fd").iterdir()),
        watches=watches,
        objects=objects,
        writes=writes,
        events=events,
    )


class _Heap(ctypes.Structure):
    """The result of glibc's ``mallinfo2``."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in (*_BEFORE_USED, "uordblks", "fordblks", "keepcost")]


def _trim_heap() -> float:
    """Return free memory to the system, and return how many MiB of the heap are in use.

    Without this, free memory of the heap grows for hours, fragmented by buffers of many sizes such as those of TLS.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return 0.0
    libc.malloc_trim(0)
    libc.mallinfo2.restype = _Heap
    info = libc.mallinfo2()
    return float(info.uordblks + info.hblkhd) / MB


def growth(samples: Sequence[Sample], what: str) -> float | None:
    """Return the relative growth of the median of the last third over that of the second; ``None`` for few samples."""
    third = len(samples) // 3
    if third < 2:
        return None
    values = [float(getattr(each, what)) for each in samples]
    before, after = median(values[third : 2 * third]), median(values[-third:])
    return (after - before) / before if before else after


def line(each: Sample) -> str:
    """Return one sample as a line of text."""
    return (
        f"{each.seconds:7.0f} s  cpu {each.cpu:7.1f} s  writes {each.writes:>9,}  events {each.events:>10,}  "
        f"objects {each.objects:>6,}  blocks {each.blocks:>9,}  heap {each.heap:6.1f} MiB  "
        f"rss {each.rss:6.1f} MiB  tasks {each.tasks}  threads {each.threads}  files {each.files}  "
        f"watches {each.watches}"
    )


def table(samples: Sequence[Sample]) -> list[str]:
    """Return a table in Markdown of the start, middle and end of a run, with the growth."""
    shown = (samples[0], samples[len(samples) // 2], samples[-1])
    rows = ["| | start | middle | end | last third against second |", "|---|---|---|---|---|"]
    for field in fields(Sample):
        values = " | ".join(f"{getattr(each, field.name):,.6g}" for each in shown)
        grown = growth(samples, field.name) if field.name in WATCHED else None
        rows.append(f"| {field.name} | {values} | {'' if grown is None else f'{grown:+.1%}'} |")
    return rows


def not_flat(samples: Sequence[Sample]) -> list[str]:
    """Return descriptions of the measurements that have grown; empty if there are too few samples."""
    grown = {what: growth(samples, what) for what in WATCHED}
    return [
        f"{what} grew by {part:.1%} from the second third of the run to the last"
        for what, part in grown.items()
        if part is not None and part > TOLERANCE
    ]
