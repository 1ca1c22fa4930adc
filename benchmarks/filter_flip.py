"""Time to change the filter of an informer with 100,000 objects: by labels, by namespace, and by JSONPath.

    python -m benchmarks.filter_flip [--objects 100000] [--size 4096] [--by labels|namespace|jsonpath ...]

For each kind of filter F three changes are measured: from no filter to F (``hide``), from F to its negation (``flip``,
with an event for every object), and back to no filter (``show``). Prints one line of JSON for each. ``decided_s`` is
the time from ``set_filter`` until the informer's task has computed all differences, and ``delivered_s`` until the
handler was called for all of them, precise to about 2 ms; ``held_s`` is the longest time for which the event loop was
blocked meanwhile, as seen by a task that sleeps for a millisecond at a time. These are wall times, which include other
processes on a busy machine; ``delivered_cpu_s`` and ``held_cpu_s`` are the same in CPU seconds of this process.
``reads_s`` is one ``list()`` with the new filter, a plain call that blocks the event loop while it runs.

Changes of objects during a filter change are not measured.
"""

from __future__ import annotations

import argparse
import gc
import time

import trio

import dynkube
from benchmarks.loop_monitor import LoopMonitor
from benchmarks.measure import byte_server, report
from benchmarks.sync_informer import WIDGETS

FILTERS: dict[str, dynkube.Filter] = {
    "labels": dynkube.LabelFilter("team=team-1"),
    "namespace": dynkube.NamespaceFilter("environment=prod"),
    "jsonpath": dynkube.JSONPathFilter("{.spec.suspend}"),
}


class Seen:
    """A handler that counts events."""

    def __init__(self) -> None:
        self.events = 0

    def count(self, obj: dynkube.Unstructured) -> None:
        """Count an object that was added or deleted."""
        self.events += 1


async def change(informer: dynkube.Informer, seen: Seen, new: dynkube.Filter | None) -> dict[str, float]:
    """Set the filter, and measure until the handler has received all events."""
    before = {obj.key for obj in informer.list()}
    seen.events = 0
    handled = informer.statistics().handlers[0].handled
    informer.set_filter(new)  # the informer's task runs after the next checkpoint; until then only reads are affected
    began = time.perf_counter()
    shown = informer.list()
    reads = time.perf_counter() - began
    expected = len(before ^ {obj.key for obj in shown})
    del before, shown
    gc.collect()  # garbage of this script
    decided, loop = 0.0, LoopMonitor()
    while not decided or informer.statistics().handlers[0].backlog:
        await loop.tick()
        handler = informer.statistics().handlers[0]
        if not decided and handler.handled - handled + handler.backlog >= expected:
            decided = loop.wall - loop.began
    assert seen.events == expected, (seen.events, expected)
    return {
        "events": expected,
        "decided_s": decided,
        "delivered_s": loop.wall - loop.began,
        "delivered_cpu_s": loop.cpu - loop.began_cpu,
        "held_s": loop.held,
        "held_cpu_s": loop.held_cpu,
        "reads_s": reads,
    }


async def run(url: str, options: argparse.Namespace) -> None:
    """Sync an informer, and measure every change."""
    settings = dynkube.InformerSettings(streaming_lists=False)
    async with (
        dynkube.connect(url=url, settings=settings) as client,
        client.informer(WIDGETS) as informer,
        client.informer("namespaces.v1.") as namespaces,  # so that the filter does not wait for their list
    ):
        seen = Seen()
        handler = informer.add_handler(on_add=seen.count, on_delete=seen.count)
        await namespaces.wait_synced()
        await handler.wait_synced()
        for by in options.by or FILTERS:
            by_kind = FILTERS[by]
            for name, new in (("hide", by_kind), ("flip", ~by_kind), ("show", None)):
                result = await change(informer, seen, new)
                report(client="dynkube", by=by, change=name, objects=options.objects, **result)


def main() -> None:
    """Parse the command line, start a server, and run once."""
    parser = argparse.ArgumentParser(description="Measure filter changes with many objects.")
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--by", choices=tuple(FILTERS), action="append")
    options = parser.parse_args()
    with byte_server(objects=options.objects, size=options.size) as url:
        trio.run(run, url, options)


if __name__ == "__main__":
    main()
