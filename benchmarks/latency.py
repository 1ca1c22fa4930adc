"""The time from a change on the server until a handler is called, beside client-go and kube-rs.

    python -m benchmarks.latency [--rates 100 1000 10000] [--seconds 20] [--rounds 3] [--programs FOLDER]
                                 [--plot latency.svg] [--assets FOLDER]

The byte server sends changes of 5,000 objects, one after the other, at a constant rate, and stamps each with the time.
An event that is sent late, mostly because the client did not read the one before, has the time at which it was due,
so a client that falls behind does not measure less. Each client keeps an informer's cache; the handler reads the stamp.
The clients alternate; each runs in a process of its own, beside the server. The first second of each run is not
counted. Prints a table in Markdown: percentiles over all rounds in milliseconds, and the CPU of the client per second
of changes.

With ``--assets``, the folder with kube-apiserver and etcd, a last row is for 50 writes per second to a real server,
from just before a patch is sent until the handler is called. Most of that time is the server's.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio

import dynkube
from benchmarks import objects
from benchmarks.comparison import build_go, build_rust
from benchmarks.measure import ROOT, byte_server, cpu
from benchmarks.servers import real
from benchmarks.sync_informer import WIDGETS

_OBJECTS: Final = 5_000
_SIZE: Final = 3_000
_WRITES: Final = 50  # per second, to a real server
_READY: Final = 5.0  # seconds after which each client has synced
_TIMEOUT: Final = 60.0  # seconds; client-go needs half a minute for 20 seconds of 10,000 changes
_SHOWN: Final = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


class Stamps:
    """A handler that measures the time since each object was sent."""

    def __init__(self, expected: int) -> None:
        self.latency: list[int] = []
        self._expected = expected
        self.cpu = 0.0
        self.done = trio.Event()
        self._last = str(1_000_000 + _OBJECTS + expected)

    def update(self, old: dynkube.Unstructured, new: dynkube.Unstructured) -> None:
        """Record an update."""
        if not self.latency:
            self.cpu = -cpu()
        self.latency.append(time.time_ns() - int(new.annotations["example.com/sent"]))
        if new.resource_version == self._last or len(self.latency) == self._expected:
            self.cpu += cpu()
            self.done.set()


async def measure(connection: dynkube.Client, expected: int) -> None:
    """Receive the events with an informer, and print their latencies."""
    stamps = Stamps(expected)
    async with connection as client:
        informer = client.informer(WIDGETS, streaming_lists=False)
        informer.add_handler(on_update=stamps.update)
        async with informer:
            await stamps.done.wait()
    print(json.dumps({"latency_ns": stamps.latency, "events_cpu_s": stamps.cpu}))


async def write(kubeconfig: str, seconds: float) -> None:
    """Patch one object after the other, each with the time; a write does not wait for the one before it."""
    async with dynkube.connect(kubeconfig=kubeconfig) as client, trio.open_nursery() as nursery:
        widgets = client.resource(WIDGETS)

        async def stamp(name: str, namespace: str) -> None:
            sent = {"example.com/sent": str(time.time_ns())}
            await widgets.patch(name, {"metadata": {"annotations": sent}}, namespace=namespace)

        began = trio.current_time() + _READY
        for number in range(int(_WRITES * seconds)):
            await trio.sleep_until(began + number / _WRITES)
            place = number % _OBJECTS
            nursery.start_soon(stamp, f"widget-{place:06}", f"ns-{place % objects.NAMESPACES:02}")


def run(
    command: Sequence[str], rate: float, seconds: float, server: str, beside: Callable[[], object] = lambda: None
) -> tuple[list[float], float]:
    """Run a client, and return the latencies in milliseconds, and the CPU seconds per second of changes."""
    filled = [word.format(server=server, events=int(rate * seconds)) for word in command]
    with subprocess.Popen(filled, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            beside()
            printed, _ = process.communicate(timeout=_TIMEOUT + seconds)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        sys.exit(f"{' '.join(filled)} failed, see above")
    result = json.loads(printed)
    return [each / 1e6 for each in result["latency_ns"][int(rate) :]], result["events_cpu_s"] / seconds


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Return the smallest number that is not exceeded by this fraction of the numbers."""
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]


def plot(results: dict[float, dict[str, list[float]]], path: Path) -> None:
    """Draw the latencies by percentile, one panel for each rate."""
    import matplotlib.pyplot as plt  # takes a second

    figure, panels = plt.subplots(1, len(results), figsize=(10, 3), sharey=True, layout="constrained", squeeze=False)
    for axes, (rate, clients) in zip(panels[0], results.items(), strict=True):
        for name, latencies in clients.items():
            count = len(latencies)
            places = sorted(
                {round(count * (1 - 10 ** (-step / 20))) for step in range(1 + int(20 * math.log10(count)))}
            )
            axes.plot([1 / (1 - place / count) for place in places], [latencies[place] for place in places], label=name)
        axes.set(xscale="log", yscale="log", title=f"{rate:,.0f} changes per second", xlabel="percentile")
        axes.set_xticks([2, 10, 100, 1000], ["50", "90", "99", "99.9"])
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("ms")
    panels[0][0].legend(frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _commands(folder: Path, option: str) -> dict[str, Sequence[str]]:
    """Return the command of each client that is built; ``option`` is the one for the server."""
    events = (option, "{server}", "--objects", str(_OBJECTS), "--events", "{events}")
    commands: dict[str, Sequence[str]] = {
        "dynkube": (sys.executable, "-m", "benchmarks.latency", *events),
        "client-go": (str(folder / "clientgo"), "-mode", "latency", *events),
        "kube-rs": (str(folder / "release" / "kubers"), "--mode", "latency", *events),
    }
    return {name: command for name, command in commands.items() if shutil.which(command[0])}


def main() -> None:
    """Parse the command line, build the other clients, and compare them."""
    parser = argparse.ArgumentParser(description="Measure the latency of a handler.")
    parser.add_argument("--rates", type=float, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--programs", default="", help="a folder for the other programs; builds take minutes")
    parser.add_argument("--plot", type=Path, help="where to write the plot")
    parser.add_argument("--assets", type=Path, help="the folder with kube-apiserver and etcd")
    parser.add_argument("--url", help=argparse.SUPPRESS)  # this process is the client
    parser.add_argument("--kubeconfig", help=argparse.SUPPRESS)
    parser.add_argument("--objects", help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seconds < 2:
        parser.error("--seconds is less than 2, and the first second is not counted")
    if options.url or options.kubeconfig:
        given = {"url": options.url} if options.url else {"kubeconfig": options.kubeconfig}
        trio.run(measure, dynkube.connect(**given), options.events)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.programs or temporary)
        build_go("clientgo", folder)
        build_rust("kubers", folder)
        compare(options, folder)


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Run all clients at all rates, and print the table."""
    print(f"| changes/s | client | {' | '.join(_SHOWN)} | CPU |\n|---|---|{'---|' * len(_SHOWN)}---|")
    results: dict[float, dict[str, list[float]]] = {}
    for rate in options.rates:
        events = int(rate * options.seconds)
        with byte_server(objects=_OBJECTS, size=_SIZE, event_size=_SIZE, events=events, rate=int(rate)) as url:
            results[rate] = _rows(f"{rate:,.0f}", options, _commands(folder, "--url"), rate, url)
    if options.plot:
        plot(results, options.plot)
    if options.assets:
        with tempfile.TemporaryDirectory() as place, real(options.assets, _OBJECTS, _SIZE, Path(place)) as kubeconfig:
            writing = partial(trio.run, write, kubeconfig, options.seconds)
            _rows(f"{_WRITES}, a real server", options, _commands(folder, "--kubeconfig"), _WRITES, kubeconfig, writing)


def _rows(
    what: str,
    options: argparse.Namespace,
    commands: Mapping[str, Sequence[str]],
    rate: float,
    server: str,
    beside: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    latencies: dict[str, list[float]] = {name: [] for name in commands}
    used = dict.fromkeys(commands, 0.0)
    for _ in range(options.rounds):
        for name, command in commands.items():
            some, share = run(command, rate, options.seconds, server, beside)
            latencies[name] += some
            used[name] += share / options.rounds
    for name, each in latencies.items():
        each.sort()
        numbers = " | ".join(f"{percentile(each, fraction):,.2f}" for fraction in _SHOWN.values())
        print(f"| {what} | {name} | {numbers} | {100 * used[name]:.1f} % |", flush=True)
    return latencies


if __name__ == "__main__":
    main()
