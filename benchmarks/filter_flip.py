"""Changing the filter of an informer with 100,000 objects, by labels, by namespace and by a simple JSONPath.

    python -m benchmarks.filter_flip [--objects 100000] [--size 4096] [--by labels|namespace|jsonpath ...]

For each kind of filter F three changes are timed: from no filter to F (``hide``), from F to its opposite (``flip``,
an event for every object), and back to no filter (``show``). From ``set_filter`` on, ``decided_s`` is when the
informer's task knows all differences and ``delivered_s`` when the handler has seen them all, precise to about 2 ms;
``held_s`` is the longest time the event loop was held meanwhile, as a task sees it that wants to run every
millisecond. These are wall seconds, so on a busy machine they include the time that other processes ran; the same
in CPU seconds of this process are ``delivered_cpu_s`` and ``held_cpu_s``. ``reads_s`` is one ``list()`` under the
new filter, a plain call that holds the loop for as long as it takes.

What it does not say: how long objects take that come at the same time.
"""

from __future__ import annotations

import argparse
import gc
import time

import trio

import dynkube
from benchmarks.measure import byte_server, cpu, report
from benchmarks.sync_informer import WIDGETS

FILTERS: dict[str, dynkube.Filter] = {
    "labels": dynkube.LabelFilter("team=team-1"),
    "namespace": dynkube.NamespaceFilter("environment=prod"),
    "jsonpath": dynkube.JSONPathFilter("{.spec.suspend}"),
}
_CHECK_IN = 0.001


class Seen:
    """The handler: counts what came and went."""

    def __init__(self) -> None:
        self.events = 0

    def come(self, obj: dynkube.Unstructured) -> None:
        """One object, added or deleted."""
        self.events += 1


async def change(informer: dynkube.Informer, seen: Seen, new: dynkube.Filter | None) -> dict[str, float]:
    """Set the filter and watch the loop until the handler has everything."""
    before = {obj.key for obj in informer.list()}
    seen.events = 0
    handled = informer.statistics().handlers[0].handled
    informer.set_filter(new)  # the informer's task begins at the next checkpoint: until then only reads follow
    began = time.perf_counter()
    shown = informer.list()
    reads = time.perf_counter() - began
    expected = len(before ^ {obj.key for obj in shown})
    del before, shown
    gc.collect()  # what this script left behind
    decided, loop = 0.0, _Loop()
    while not decided or informer.statistics().handlers[0].backlog:
        await loop.check_in()
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


class _Loop:
    """How long others hold the event loop."""

    def __init__(self) -> None:
        self.began = self.wall = time.perf_counter()
        self.began_cpu = self.cpu = cpu()
        self.held = self.held_cpu = 0.0

    async def check_in(self) -> None:
        """Come back in a millisecond, and note how much later it really is."""
        await trio.sleep(_CHECK_IN)
        wall, used = time.perf_counter(), cpu()
        self.held = max(self.held, wall - self.wall - _CHECK_IN)
        self.held_cpu = max(self.held_cpu, used - self.cpu)
        self.wall, self.cpu = wall, used


async def run(url: str, options: argparse.Namespace) -> None:
    """Sync once, then every change."""
    settings = dynkube.InformerSettings(streaming_lists=False)
    async with (
        dynkube.connect(url=url, settings=settings) as client,
        client.informer(WIDGETS) as informer,
        client.informer("namespaces.v1.") as namespaces,  # so that the filter need not wait for its list
    ):
        seen = Seen()
        handler = informer.add_handler(on_add=seen.come, on_delete=seen.come)
        await namespaces.wait_synced()
        await handler.wait_synced()
        for by in options.by or FILTERS:
            one = FILTERS[by]
            for name, new in (("hide", one), ("flip", ~one), ("show", None)):
                result = await change(informer, seen, new)
                report(client="dynkube", by=by, change=name, objects=options.objects, **result)


def main() -> None:
    """Parse the command line, start a server, run once."""
    parser = argparse.ArgumentParser(description="Change filters over many objects.")
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--by", choices=tuple(FILTERS), action="append")
    options = parser.parse_args()
    with byte_server(objects=options.objects, size=options.size) as url:
        trio.run(run, url, options)


if __name__ == "__main__":
    main()
