"""What is measured whenever things are quiet, whether it stays as it is, and the table at the end."""

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

# The last third of a run may hold so much more than the second third; the first third is for warming up.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at what this process and the server hold.

    Attributes:
        seconds: Since the beginning, on trio's clock.
        cpu: Seconds of CPU of this process so far.
        blocks: What Python has allocated, in blocks, after a garbage collection.
        heap: What is allocated beside these, objects over 512 bytes and what C libraries hold, in MiB; 0 without glibc.
        rss: Resident MiB, after what is free was given back to the system.
        tasks: Of trio.
        threads: Of Python.
        files: Open file descriptors, sockets among them.
        watches: Open at the server.
        objects: There are, in all resources.
        writes: Done so far.
        events: Told to subscribers so far.
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
# What must not grow, and by how much more than TOLERANCE it may differ for its size.
WATCHED = ("blocks", "heap", "rss", "tasks", "threads", "files", "watches")


def sample(*, began: float, watches: int, objects: int, writes: int, events: int) -> Sample:
    """Measure."""
    gc.collect()
    heap = _give_back()
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
    """What glibc's ``mallinfo2`` returns."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in (*_BEFORE_USED, "uordblks", "fordblks", "keepcost")]


def _give_back() -> float:
    """Give free memory back, and return how many MiB of the heap are in use.

    What is free and not given back grows for hours where buffers of all sizes come and go, as those of TLS do, without
    anything being held.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return 0.0
    libc.malloc_trim(0)
    libc.mallinfo2.restype = _Heap
    found = libc.mallinfo2()
    return float(found.uordblks + found.hblkhd) / MB


def growth(samples: Sequence[Sample], what: str) -> float | None:
    """By which part the median of the last third is above that of the second; ``None`` with too few samples."""
    third = len(samples) // 3
    if third < 2:
        return None
    values = [float(getattr(each, what)) for each in samples]
    before, after = median(values[third : 2 * third]), median(values[-third:])
    return (after - before) / before if before else after


def line(each: Sample) -> str:
    """One sample for the log."""
    return (
        f"{each.seconds:7.0f} s  cpu {each.cpu:7.1f} s  writes {each.writes:>9,}  events {each.events:>10,}  "
        f"objects {each.objects:>6,}  blocks {each.blocks:>9,}  heap {each.heap:6.1f} MiB  "
        f"rss {each.rss:6.1f} MiB  tasks {each.tasks}  threads {each.threads}  files {each.files}  "
        f"watches {each.watches}"
    )


def table(samples: Sequence[Sample]) -> list[str]:
    """Start, middle and end of a run, and what has grown, in lines."""
    shown = (samples[0], samples[len(samples) // 2], samples[-1])
    rows = ["| | start | middle | end | last third against second |", "|---|---|---|---|---|"]
    for field in fields(Sample):
        values = " | ".join(f"{getattr(each, field.name):,.6g}" for each in shown)
        grown = growth(samples, field.name) if field.name in WATCHED else None
        rows.append(f"| {field.name} | {values} | {'' if grown is None else f'{grown:+.1%}'} |")
    return rows


def not_flat(samples: Sequence[Sample]) -> list[str]:
    """What has grown, in words; empty where nothing has, or where there are too few samples to tell."""
    grown = {what: growth(samples, what) for what in WATCHED}
    return [
        f"{what} grew by {part:.1%} from the second third of the run to the last"
        for what, part in grown.items()
        if part is not None and part > TOLERANCE
    ]
