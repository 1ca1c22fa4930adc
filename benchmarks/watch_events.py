"""Watch events per CPU second, from the socket through decoder, cache and one index to a handler.

    python -m benchmarks.watch_events [--events 20000] [--event-size 5120] [--objects 5000] [--bare]

Prints one line of JSON. The server sends the events as fast as they are read, of one object after the other, so that
none is merged with the next one of its object before the handler gets it (``delivered`` is the number of updates that
the handler received). The time is measured from the first update to the last. ``--bare`` watches without an informer.

The latency of a single event, and the number of clients that a server supports, are not measured.
"""

from __future__ import annotations

import argparse

import trio

import dynkube
from benchmarks.measure import byte_server, cpu, memory, report
from benchmarks.sync_informer import WIDGETS, tier


class Updates:
    """A handler that reads each object, and records the CPU time at the first update and at the last."""

    def __init__(self, last_version: str) -> None:
        self.delivered = 0
        self.began = self.ended = 0.0
        self.done = trio.Event()
        self._last_version = last_version

    def update(self, old: dynkube.Unstructured | None, new: dynkube.Unstructured) -> None:
        """Count an update."""
        if not self.delivered:
            self.began = cpu()
        self.delivered += bool(new.name)
        if new.resource_version == self._last_version:
            self.ended = cpu()
            self.done.set()


async def through_informer(client: dynkube.Client, updates: Updates) -> None:
    """Receive the events with an informer."""
    informer = client.informer(WIDGETS, indexes={"tier": tier})
    informer.add_handler(on_update=updates.update)
    async with informer:
        await updates.done.wait()


async def bare(client: dynkube.Client, updates: Updates) -> None:
    """Receive the events with a watch."""
    async with client.resource(WIDGETS).watch(resource_version="1") as events:
        async for event in events:
            if isinstance(event, dynkube.Modified):
                updates.update(None, event.object)
            if updates.done.is_set():
                return


async def run(url: str, options: argparse.Namespace) -> None:
    """Receive all events, and print the result."""
    updates = Updates(str(1_000_000 + options.objects + options.events))
    with trio.fail_after(60):
        async with dynkube.connect(url=url, settings=dynkube.InformerSettings(streaming_lists=False)) as client:
            await (bare if options.bare else through_informer)(client, updates)
    used = updates.ended - updates.began
    report(
        client="dynkube",
        mode="bare" if options.bare else "events",
        events=options.events,
        delivered=updates.delivered,
        events_cpu_s=used,
        events_per_cpu_s=(options.events - 1) / used,
        peak_mb=memory("VmHWM"),
    )


def main() -> None:
    """Parse the command line, start a server unless there is a URL, and run once."""
    parser = argparse.ArgumentParser(description="Measure the throughput of a watch.")
    parser.add_argument("--objects", type=int, default=5_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--event-size", type=int, default=5120)
    parser.add_argument("--bare", action="store_true", help="a watch without an informer")
    parser.add_argument("--url", help="a running byte server with the same numbers of objects and events")
    options = parser.parse_args()
    if options.url:
        trio.run(run, options.url, options)
        return
    with byte_server(objects=options.objects, events=options.events, event_size=options.event_size) as url:
        trio.run(run, url, options)


if __name__ == "__main__":
    main()
