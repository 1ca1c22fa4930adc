"""The cost of one call in each of the three APIs, and in other asyncio clients: ``get`` of a small object.

    python -m benchmarks.calls [--calls 1000] [--rounds 5] [--clients-python PATH]

The server is ``dynkube serve`` in its own process; each round of each client runs in a new process, and the clients
alternate. kr8s, kubernetes_asyncio and lightkube are measured if ``--clients-python`` (or ``$CLIENTS_PYTHON``) names an
interpreter that has them (``call_clients.py``); those that are missing are skipped. Prints one line of JSON for each:
milliseconds of wall time and of the client's CPU time per call, one after the other and by a hundred and a thousand
tasks (threads, for the blocking API) at the same time, as the least of all rounds, and each as a ratio to
``dynkube.aio`` in this run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import trio

import dynkube
import dynkube.aio
import dynkube.sync
from benchmarks.call_clients import CLIENTS, CONCURRENCY, NAME, Timer, measure
from benchmarks.measure import ROOT, report
from benchmarks.servers import serve_embedded

_REFERENCE: Final = "aio"


async def _in_trio(url: str, calls: int) -> dict[str, float]:
    async with dynkube.connect(url=url) as client:
        namespaces = client.resource("namespaces")

        async def get_several(count: int) -> None:
            for _ in range(count):
                await namespaces.get(NAME)

        async def get_at_once(tasks: int, count: int) -> None:
            async with trio.open_nursery() as nursery:
                for _ in range(tasks):
                    nursery.start_soon(get_several, count)

        await get_at_once(100, 1)
        found: dict[str, float] = {}
        for name, tasks in CONCURRENCY.items():
            timer = Timer()
            await get_at_once(tasks, calls // tasks)
            found |= timer.per_call(calls, name)
        return found


async def _in_asyncio(url: str, calls: int) -> dict[str, float]:
    async with dynkube.aio.connect(url=url) as client:
        namespaces = client.resource("namespaces")
        return await measure(lambda: namespaces.get(NAME), calls)


def _blocking(url: str, calls: int) -> dict[str, float]:
    most = max(CONCURRENCY.values())
    with dynkube.sync.connect(url=url) as client, ThreadPoolExecutor(most) as threads:
        namespaces = client.resource("namespaces")

        def get_several(count: int) -> None:
            for _ in range(count):
                namespaces.get(NAME)

        list(threads.map(get_several, [1] * most))
        found: dict[str, float] = {}
        for name, tasks in CONCURRENCY.items():
            timer = Timer()
            list(threads.map(get_several, [calls // tasks] * tasks))
            found |= timer.per_call(calls, name)
        return found


APIS: Final[dict[str, Callable[[str, int], dict[str, float]]]] = {
    "trio": lambda url, calls: trio.run(_in_trio, url, calls),
    "aio": lambda url, calls: asyncio.run(_in_asyncio(url, calls)),
    "sync": _blocking,
}


def _run(name: str, url: str, calls: int, clients_python: str) -> dict[str, float] | None:
    """Measure one round in a new process; ``None`` if the client is not installed."""
    if name in APIS:
        command = [sys.executable, "-m", "benchmarks.calls", "--api", name]
    else:
        command = [clients_python, "-m", "benchmarks.call_clients", name]
    command += ["--url", url, "--calls", str(calls)]
    done = subprocess.run(command, cwd=ROOT, check=name in APIS, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] | None = json.loads(done.stdout) if done.returncode == 0 else None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of one call in each of the three APIs, and in others.")
    parser.add_argument("--calls", type=int, default=1000, help=f"a multiple of {max(CONCURRENCY.values())}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--clients-python",
        default=os.environ.get("CLIENTS_PYTHON", sys.executable),
        help=f"an interpreter that has {', '.join(CLIENTS)}; default $CLIENTS_PYTHON, or this one",
    )
    parser.add_argument("--api", choices=APIS, help="measure one round of this API in this process")
    parser.add_argument("--url", help="of the server, for --api")
    options = parser.parse_args()
    if options.api is not None:
        report(**APIS[options.api](options.url, options.calls))
        return
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in (*APIS, *CLIENTS)}
    with serve_embedded() as url:
        for _ in range(options.rounds):
            for name in tuple(rounds):
                result = _run(name, url, options.calls, options.clients_python)
                if result is None:
                    del rounds[name]
                else:
                    rounds[name].append(result)
    least = {name: _least(results) for name, results in rounds.items()}
    for name, found in least.items():
        times = {key: value for key, value in found.items() if key.endswith("_ms")}
        ratios = {key.replace("_ms", "_to_aio"): value / least[_REFERENCE][key] for key, value in times.items()}
        report(client=name, **found, **ratios)


def _least(results: list[dict[str, float]]) -> dict[str, float]:
    """Return the least time of all rounds, and the most failures."""
    keys = dict.fromkeys(key for each in results for key in each)
    choose: dict[bool, Callable[..., float]] = {True: min, False: max}
    return {key: choose[key.endswith("_ms")](each[key] for each in results if key in each) for key in keys}


if __name__ == "__main__":
    main()
