"""The cost of one call in each of the three APIs: ``get`` of a small object from the embedded API server.

    python -m benchmarks.calls [--calls 1000] [--rounds 5]

The server is ``dynkube serve`` in its own process; each round of each API runs in a new process, and the APIs
alternate. Prints one line of JSON for each: milliseconds of wall time and of the client's CPU time per call, one call
after the other and a hundred at the same time, as the least of all rounds, and each as a ratio to trio in this run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import trio

import dynkube
import dynkube.aio
import dynkube.sync
from benchmarks.measure import ROOT, cpu, report
from benchmarks.servers import serve_embedded

_NAME: Final = "default"
_AT_ONCE: Final = 100


class Timer:
    """Measures wall and CPU time per call since its creation."""

    def __init__(self) -> None:
        self._cpu, self._wall = cpu(), time.perf_counter()

    def per_call(self, calls: int, prefix: str) -> dict[str, float]:
        """Return the milliseconds per call."""
        wall, used = time.perf_counter() - self._wall, cpu() - self._cpu
        return {f"{prefix}_ms": wall / calls * 1e3, f"{prefix}_cpu_ms": used / calls * 1e3}


async def _in_trio(url: str, calls: int) -> dict[str, float]:
    async with dynkube.connect(url=url) as client:
        namespaces = client.resource("namespaces")

        async def get_several(count: int) -> None:
            for _ in range(count):
                await namespaces.get(_NAME)

        async def get_at_once() -> None:
            async with trio.open_nursery() as nursery:
                for _ in range(_AT_ONCE):
                    nursery.start_soon(get_several, calls // _AT_ONCE)

        await get_at_once()
        timer = Timer()
        await get_several(calls)
        alone = timer.per_call(calls, "alone")
        timer = Timer()
        await get_at_once()
        return alone | timer.per_call(calls, "at_once")


async def _in_asyncio(url: str, calls: int) -> dict[str, float]:
    async with dynkube.aio.connect(url=url) as client:
        namespaces = client.resource("namespaces")

        async def get_several(count: int) -> None:
            for _ in range(count):
                await namespaces.get(_NAME)

        async def get_at_once() -> None:
            await asyncio.gather(*(get_several(calls // _AT_ONCE) for _ in range(_AT_ONCE)))

        await get_at_once()
        timer = Timer()
        await get_several(calls)
        alone = timer.per_call(calls, "alone")
        timer = Timer()
        await get_at_once()
        return alone | timer.per_call(calls, "at_once")


def _blocking(url: str, calls: int) -> dict[str, float]:
    with dynkube.sync.connect(url=url) as client, ThreadPoolExecutor(_AT_ONCE) as threads:
        namespaces = client.resource("namespaces")

        def get_several(count: int) -> None:
            for _ in range(count):
                namespaces.get(_NAME)

        def get_at_once() -> None:
            list(threads.map(get_several, [calls // _AT_ONCE] * _AT_ONCE))

        get_at_once()
        timer = Timer()
        get_several(calls)
        alone = timer.per_call(calls, "alone")
        timer = Timer()
        get_at_once()
        return alone | timer.per_call(calls, "at_once")


APIS: Final[dict[str, Callable[[str, int], dict[str, float]]]] = {
    "trio": lambda url, calls: trio.run(_in_trio, url, calls),
    "aio": lambda url, calls: asyncio.run(_in_asyncio(url, calls)),
    "sync": _blocking,
}


def _run(api: str, url: str, calls: int) -> dict[str, float]:
    """Measure one round in a new process."""
    command = [sys.executable, "-m", "benchmarks.calls", "--api", api, "--url", url, "--calls", str(calls)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of one call in each of the three APIs.")
    parser.add_argument("--calls", type=int, default=1000, help=f"a multiple of {_AT_ONCE}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--api", choices=APIS, help="measure one round of this API in this process")
    parser.add_argument("--url", help="of the server, for --api")
    options = parser.parse_args()
    if options.api is not None:
        report(**APIS[options.api](options.url, options.calls))
        return
    rounds: dict[str, list[dict[str, float]]] = {api: [] for api in APIS}
    with serve_embedded() as url:
        for _ in range(options.rounds):
            for api, results in rounds.items():
                results.append(_run(api, url, options.calls))
    least = {api: {name: min(each[name] for each in results) for name in results[0]} for api, results in rounds.items()}
    for api, found in least.items():
        ratios = {name.replace("_ms", "_to_trio"): value / least["trio"][name] for name, value in found.items()}
        report(api=api, **found, **ratios)


if __name__ == "__main__":
    main()
