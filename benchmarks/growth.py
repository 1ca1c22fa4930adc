"""How CPU and memory grow with the number of objects, informers, handlers, filters and indexes.

    python -m benchmarks.growth [--of objects --of handlers] [--objects 10000,100000,1000000] [--compact]
                                [--plot growth.svg]

Each measurement is a process that syncs informers from the byte server (streaming list, without managedFields).
One number is varied, the others stay as small as possible:

- objects: one informer with a handler;
- informers: with a collection of 2,000 objects each;
- handlers, filters, indexes: on one cache of 20,000 objects. Each filter is that of another informer, and is read once.

Prints one line of JSON for each, and last the exponents: the slopes of lines fitted to the logarithms, where 1 is
linear, and null is no growth. For handlers, filters and indexes, which share a cache, the cost without any of them is
subtracted.
``held_cpu_ms`` is the longest time for which the event loop was blocked, in CPU time of the process, and
``collected_s`` the time of full garbage collections.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Final

import trio

import dynkube
from benchmarks.loop_monitor import LoopMonitor
from benchmarks.measure import ROOT, Meter, byte_server, report
from benchmarks.sync_informer import WIDGETS, Seen

VARIED: Final = {
    "objects": (10_000, 31_623, 100_000, 316_228, 1_000_000),
    "informers": (4, 16, 64, 256),
    "handlers": (0, 4, 16, 64),
    "filters": (0, 4, 16, 64),
    "indexes": (0, 4, 16, 64),
}
_SHARED: Final = 20_000  # objects in the cache that handlers, filters or indexes share
_EACH: Final = 2_000  # objects of each informer
_SIZE: Final = 2500


class Collections:
    """Adds up the time of full garbage collections."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self._called)

    def _called(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            if phase == "start":
                self._began = time.perf_counter()
            else:
                self.seconds += time.perf_counter() - self._began


async def measure(url: str, of: str, count: int, compact: bool) -> None:
    """Sync with ``count`` of what is varied, and print the result."""
    settings = dynkube.InformerSettings(compact=compact)
    meter, collections, loop = Meter(), Collections(), LoopMonitor()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(dynkube.connect(url=url, settings=settings))
        nursery = await stack.enter_async_context(trio.open_nursery())
        nursery.start_soon(loop.run)
        informers = _informers(client, of, count)
        for informer in informers:
            await stack.enter_async_context(informer)
        for informer in informers:
            with trio.fail_after(600):
                await informer.wait_synced()
        if of == "filters":
            assert all(informer.list() for informer in informers)
        used = meter.read()
        report(
            of=of,
            count=count,
            cpu_s=used["cpu_s"],
            held_mb=meter.held(),
            peak_mb=used["peak_delta_mb"],
            held_cpu_ms=1000 * loop.held_cpu,
            collected_s=collections.seconds,
        )
        nursery.cancel_scope.cancel()


def _informers(client: dynkube.Client, of: str, count: int) -> list[dynkube.Informer]:
    """Return the informers of one measurement, not entered yet."""
    if of == "informers":  # selectors that the byte server ignores; no two of these informers share a cache
        return [client.informer(WIDGETS, label_selector=f"n!={number}") for number in range(count)]
    if of == "filters":
        filters = [dynkube.LabelFilter(f"never!={number}") for number in range(count)]
        return [client.informer(WIDGETS)] + [client.informer(WIDGETS, filter=each) for each in filters]
    indexes = {f"i{number}": _indexed for number in range(count if of == "indexes" else 0)}
    informer = client.informer(WIDGETS, indexes=indexes)
    for _ in range({"objects": 1, "handlers": count}.get(of, 0)):
        informer.add_handler(on_add=Seen().add)
    return [informer]


def _indexed(obj: dynkube.Unstructured) -> list[str]:
    return list(obj.labels.values())[:1]


def cpu_exponent(results: Sequence[dict[str, float]]) -> float | None:
    """Return the slope of a line fitted to the logarithms of counts and CPU, without the CPU of a count of 0.

    ``None`` if one of the counts takes less than a hundredth more CPU than a count of 0, which is noise.
    """
    without = next((result["cpu_s"] for result in results if not result["count"]), 0.0)
    points = [(result["count"], result["cpu_s"] - without) for result in results if result["count"]]
    return None if any(cpu <= without / 100 for _, cpu in points) else _slope(points)


def memory_exponent(results: Sequence[dict[str, float]]) -> float | None:
    """Return the slope of a line fitted to the logarithms of how counts and memory grow from one count to the next.

    So memory that the process had left before, about 1 MB, does not matter. ``None`` if the memory grows by less than a
    hundredth, which is noise.
    """
    counted = [result for result in results if result["count"]]
    grown = [
        (after["count"] - before["count"], after["held_mb"] - before["held_mb"]) for before, after in pairwise(counted)
    ]
    return None if any(each < counted[0]["held_mb"] / 100 for _, each in grown) else _slope(grown)


def _slope(points: Sequence[tuple[float, float]]) -> float:
    counts, values = zip(*points, strict=True)
    return statistics.linear_regression([math.log(each) for each in counts], [math.log(each) for each in values]).slope


def plot(results: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw CPU and memory against the varied numbers, relative to the smallest, as SVG."""
    from matplotlib.figure import Figure  # a dependency of the notebooks

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, name, title in zip(figure.subplots(1, 2), ("cpu_s", "held_mb"), ("CPU", "memory"), strict=True):
        for of, measured in results.items():
            first, *_ = counted = [result for result in measured if result["count"]]
            x = [result["count"] / first["count"] for result in counted]
            axes.plot(x, [result[name] / first[name] for result in counted], marker="o", label=of)
        axes.axline((1, 1), slope=1, color="gray", linestyle=":", label="linear")
        axes.set(xscale="log", yscale="log", title=title, xlabel="times as many", ylabel="times as much")
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})


def _run(url: str, of: str, count: int, compact: bool) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", "--url", url, "--one", of, str(count)]
    if compact:
        command.append("--compact")
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(printed, end="", flush=True)
    result: dict[str, float] = json.loads(printed)
    return result


def main() -> None:
    """Measure what the command line names, and print the exponents."""
    parser = argparse.ArgumentParser(description="Measure how costs grow.")
    parser.add_argument("--of", choices=tuple(VARIED), action="append", help="what is varied (default: each in turn)")
    parser.add_argument("--objects", help="numbers of objects, with commas in between")
    parser.add_argument("--compact", action="store_true", help="store objects compressed")
    parser.add_argument("--plot", type=Path, help="write a plot as SVG")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        trio.run(measure, options.url, options.one[0], int(options.one[1]), options.compact)
        return
    results: dict[str, list[dict[str, float]]] = {}
    for of in options.of or VARIED:
        counts = VARIED[of]
        if of == "objects" and options.objects:
            counts = tuple(int(number) for number in options.objects.split(","))
        results[of] = []
        for count in counts:
            objects = count if of == "objects" else _EACH if of == "informers" else _SHARED
            with byte_server(objects=objects, size=_SIZE, render="initial") as url:
                results[of].append(_run(url, of, count, options.compact))
    for of, measured in results.items():
        if len(measured) > 2:
            report(of=of, cpu_exponent=cpu_exponent(measured), memory_exponent=memory_exponent(measured))
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
