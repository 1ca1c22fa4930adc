"""CPU and memory of one list without an informer, to compare with clients that have no informers.

    python -m benchmarks.list_objects [--objects 20000] [--size 4096] [--url http://127.0.0.1:8001]

Prints one line of JSON: ``cpu_s`` is the CPU time from just before ``connect`` until the list has returned and the name
of each object was read; ``held_mb`` is the growth of the resident memory by then. Lists keep managedFields.
"""

from __future__ import annotations

import argparse

import trio

import dynkube
from benchmarks.measure import MB, Meter, byte_server, report
from benchmarks.sync_informer import WIDGETS
from dynkube import Client, connect  # noqa: F401  # names are loaded on first use, which is not measured here


async def list_all(url: str, expected: int) -> None:
    """List all objects, and print the result."""
    meter = Meter()
    async with dynkube.connect(url=url) as client:
        with trio.fail_after(60):
            items = await client.resource(WIDGETS).list(namespace=None)
        assert sum(bool(item.name) for item in items) == expected
        measured = meter.read()
        held = meter.held()
    report(
        client="dynkube",
        mode="bare",
        objects=expected,
        **measured,
        held_mb=held,
        bytes_per_object=held * MB / expected,
    )


def main() -> None:
    """Parse the command line, start a server unless there is a URL, and run once."""
    parser = argparse.ArgumentParser(description="Measure one list.")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--url", help="a running byte server with the same number of objects")
    options = parser.parse_args()
    if options.url:
        trio.run(list_all, options.url, options.objects)
        return
    with byte_server(objects=options.objects, size=options.size) as url:
        trio.run(list_all, url, options.objects)


if __name__ == "__main__":
    main()
