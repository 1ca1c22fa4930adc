"""CPU and memory of one list into objects, without informer: what a client that has none is to be compared with.

    python -m benchmarks.list_objects [--objects 20000] [--size 4096] [--url http://127.0.0.1:8001]

Prints JSON: ``cpu_s`` from just before ``connect`` until the list is there and each object was asked for its name;
``held_mb`` by how much the resident memory has grown then. managedFields are kept, as whoever lists gets them.
"""

from __future__ import annotations

import argparse

import trio

import dynkube
from benchmarks.measure import MB, Meter, byte_server, report
from benchmarks.sync_informer import WIDGETS
from dynkube import Client, connect  # noqa: F401  # names load on first use, which is not measured here


async def list_all(url: str, expected: int) -> None:
    """One run."""
    meter = Meter()
    async with dynkube.connect(url=url) as client:
        with trio.fail_after(60):
            items = await client.resource(WIDGETS).list(namespace=None)
        assert sum(bool(item.name) for item in items) == expected
        spent = meter.read()
        held = meter.held()
    report(
        client="dynkube",
        mode="bare",
        objects=expected,
        **spent,
        held_mb=held,
        bytes_per_object=held * MB / expected,
    )


def main() -> None:
    """Parse the command line, start a server unless given one, run once."""
    parser = argparse.ArgumentParser(description="List once and say what it cost.")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--url", help="a byte server that runs already, with as many objects")
    options = parser.parse_args()
    if options.url:
        trio.run(list_all, options.url, options.objects)
        return
    with byte_server(objects=options.objects, size=options.size) as url:
        trio.run(list_all, url, options.objects)


if __name__ == "__main__":
    main()
