"""One informer on very many objects: sync, memory, blocking, a filter change and reads, beside client-go and kube-rs.

    python -m benchmarks.million [--objects 1000000] [--others 200000] [--assets FOLDER --real 200000]
                                 [--programs FOLDER]

The byte server sends ``--objects`` to dynkube, with a compact and with a usual cache, and ``--others`` to all clients.
With ``--assets``, the folder with kube-apiserver and etcd, a real server sends ``--real`` objects to all of them over
TLS; writing 200,000 to it takes minutes. Each client is a process of its own; one after the other. Prints a table in
Markdown.

The objects have 2.9 KB, 2.1 KB without managedFields. CPU, memory and time are as in ``sync_informer``. ``blocked`` is
the longest time for which the event loop was blocked, in CPU time. The filter shows a quarter of the objects, and the
time is until a handler got all deletions. Reads are plain calls, which block the loop. ``gc.freeze()`` is called
when the client was entered; after it garbage collections do not visit what was imported.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio

import dynkube
from benchmarks import servers
from benchmarks.comparison import build_go, build_rust
from benchmarks.filter_flip import Seen, change
from benchmarks.loop_monitor import LoopMonitor
from benchmarks.measure import ROOT, Meter, byte_server, report
from benchmarks.sync_informer import WIDGETS, tier

_SIZE: Final = 2500
_SYNC_TIMEOUT: Final = 900.0
_QUARTER: Final = dynkube.LabelFilter("tier=frontend")
_SETTINGS: Final = {
    "dynkube, compact, gc.freeze()": ("--compact", "--freeze"),
    "dynkube, compact": ("--compact",),
    "dynkube": (),
}
COLUMNS: Final = {
    "synced_s": "synced after, s",
    "cpu_s": "CPU, s",
    "held_mb": "memory, MB",
    "peak_mb": "peak, MB",
    "blocked_ms": "blocked while it syncs, ms",
    "filter_s": "filter changed after, s",
    "filter_blocked_ms": "blocked meanwhile, ms",
    "filtered_ms": "list() under the filter, first, ms",
    "again_ms": "again, ms",
    "namespace_ms": "of a namespace, ms",
    "label_ms": "by a label, ms",
    "index_ms": "by an index, ms",
    "iterate_ms": "iterate over all, ms",
}


async def measure(connection: dynkube.Client, count: int, *, freeze: bool) -> None:
    """Sync an informer, change its filter, read, and print the result."""
    seen, loop, meter = Seen(), LoopMonitor(), Meter()
    async with connection as client, trio.open_nursery() as nursery:
        if freeze:
            gc.freeze()
        informer = client.informer(WIDGETS, indexes={"tier": tier})
        informer.add_handler(on_add=seen.count, on_delete=seen.count)
        nursery.start_soon(loop.run)
        async with informer:
            with trio.fail_after(_SYNC_TIMEOUT):
                await informer.wait_synced()
            used, blocked = meter.read(), loop.held_cpu
            nursery.cancel_scope.cancel()
            held = meter.held()
            assert len(informer) == seen.events == count, (len(informer), seen.events)
            with trio.CancelScope(shield=True):
                reads, changed = _reads(informer), await _change(informer, seen)
    report(
        synced_s=used["wall_s"],
        cpu_s=used["cpu_s"],
        held_mb=held,
        peak_mb=used["peak_delta_mb"],
        blocked_ms=1000 * blocked,
        **reads,
        **changed,
    )


def _reads(informer: dynkube.Informer) -> dict[str, float]:
    reads: dict[str, Callable[[], object]] = {
        "namespace_ms": lambda: informer.list(namespace="ns-07"),
        "label_ms": lambda: informer.list(label_selector="tier=frontend"),
        "index_ms": lambda: informer.by_index("tier", "frontend"),
        "iterate_ms": lambda: sum(1 for _ in informer),
    }
    return {name: _milliseconds(read) for name, read in reads.items()}


async def _change(informer: dynkube.Informer, seen: Seen) -> dict[str, float]:
    result = await change(informer, seen, _QUARTER)  # lists with the new filter, which is the first read
    again = [_milliseconds(informer.list) for _ in range(2)]
    return {
        "filter_s": result["delivered_s"],
        "filter_blocked_ms": 1000 * result["held_cpu_s"],
        "filtered_ms": 1000 * result["reads_s"],
        "again_ms": again[-1],
    }


def _milliseconds(read: Callable[[], object]) -> float:
    began = time.perf_counter()
    found = read()
    taken = 1000 * (time.perf_counter() - began)
    del found
    return taken


def _connection(options: argparse.Namespace) -> dynkube.Client:
    settings = dynkube.InformerSettings(streaming_lists=options.mode == "stream", compact=options.compact)
    if options.kubeconfig:
        return dynkube.connect(kubeconfig=options.kubeconfig, settings=settings)
    return dynkube.connect(url=options.url, settings=settings)


def rows(
    where: str, source: tuple[str, str], mode: str, count: int, programs: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of each run on one server."""
    ours = [sys.executable, "-m", "benchmarks.million", "--measure", f"--{source[0]}", source[1]]
    for called, flags in _SETTINGS.items():
        yield f"{where}, {mode} | {called}", [*ours, "--mode", mode, "--objects", str(count), *flags]
    for program in programs:
        flag = "--" if "release" in program else "-"
        given = {source[0]: source[1], "mode": mode, "objects": str(count)}
        options = [word for name, value in given.items() for word in (flag + name, value)]
        yield f"{where}, {mode} | {Path(program).name}", [program, *options]


def run(runs: Iterator[tuple[str, list[str]]], count: int) -> None:
    """Run each command, and print its row."""
    for called, command in runs:
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"| {called} | failed: {done.returncode} |", flush=True)
            continue
        result = json.loads(done.stdout.splitlines()[-1])
        result.setdefault("synced_s", result.get("wall_s"))
        cells = [f"{result[name]:,.2f}" if name in result else "" for name in COLUMNS]
        print(f"| {called} | {count:,} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Parse the command line; measure once, or run everything."""
    parser = argparse.ArgumentParser(description="Measure informers on very many objects.")
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--others", type=int, default=200_000, help="objects for all clients; 0 for none of these rows")
    parser.add_argument("--real", type=int, default=200_000, help="objects on the real server")
    parser.add_argument("--assets", type=Path, help="the folder with kube-apiserver and etcd")
    parser.add_argument("--programs", type=Path, help="keep the other clients in this folder")
    parser.add_argument("--measure", action="store_true", help="measure dynkube once, on a server that is running")
    parser.add_argument("--mode", choices=("list", "stream"), default="stream")
    parser.add_argument("--url")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--compact", action="store_true")
    parser.add_argument("--freeze", action="store_true", help="exempt what was imported from garbage collections")
    options = parser.parse_args()
    if options.measure:
        trio.run(partial(measure, freeze=options.freeze), _connection(options), options.objects)
        return
    print(f"| server, how | client | objects | {' | '.join(COLUMNS.values())} |")
    print("|---" * (len(COLUMNS) + 3) + "|", flush=True)
    with TemporaryDirectory() as directory:
        built = options.programs or Path(directory)
        beside = options.others or options.assets
        programs = [build_go("clientgo", built), build_rust("kubers", built)] if beside else []
        # Not as a list, which would be one response of more than the limit of 1 GiB.
        with byte_server(objects=options.objects, size=_SIZE, render="initial") as url:
            run(rows("byte server", ("url", url), "stream", options.objects, ()), options.objects)
        for mode, render in (("list", "whole"), ("stream", "initial")) if options.others else ():
            with byte_server(objects=options.others, size=_SIZE, render=render) as url:
                run(rows("byte server", ("url", url), mode, options.others, programs), options.others)
        if options.assets:
            with servers.real(options.assets, options.real, _SIZE, Path(directory)) as kubeconfig:
                for mode in ("list", "stream"):
                    source = ("kubeconfig", kubeconfig)
                    run(rows("kube-apiserver", source, mode, options.real, programs), options.real)


if __name__ == "__main__":
    main()
