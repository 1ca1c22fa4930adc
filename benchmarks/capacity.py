"""What very large installations cost: units that are measured, and their multiples.

    python -m benchmarks.capacity [--objects 200000] [--crds 500] [--clusters 50]

Measures, each in a process of its own:

- ``object``: one object of 2.9 KB (2.1 KB without managedFields) of a collection with one handler, whole, compact, and
  metadata only.
- ``crd``: an informer on the 20 objects of one CRD of many, from ``dynkube serve``: what each further one takes.
- ``cluster``: ``dynkube.join`` of many clients of the byte server, each with 20,000 objects, compact. Then 100 of them
  change per second in each cluster: ``change_us`` is the CPU of one change. The first clusters get changes while the
  last ones are synced, so the CPU until synced contains some.

Prints lines of JSON, and then a table in Markdown with the costs of 5,000,000 objects, 2,000 CRDs, and 50 clusters,
which assumes that costs are linear; ``benchmarks.growth`` measures how nearly they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import trio

import dynkube
from benchmarks.measure import MB, ROOT, Meter, byte_server, cpu, report
from benchmarks.servers import serve_embedded
from benchmarks.sync_informer import WIDGETS

_SIZE: Final = 2500
_OF_A_CRD: Final = 20
_OF_A_CLUSTER: Final = 20_000
_CHANGES: Final = 100  # per second, of a cluster
_CHANGING: Final = 10.0  # seconds
_TIMEOUT: Final = 300.0
_KINDS: Final = ("whole", "compact", "metadata only", "metadata only, compact")


async def measure_objects(url: str, kind: str, count: int) -> None:
    """Sync one informer."""
    async with dynkube.connect(url=url) as client:
        meter = Meter()
        informer = client.informer(
            WIDGETS,
            transform=dynkube.drop_managed_fields,
            compact="compact" in kind,
            metadata_only="metadata" in kind,
        )
        informer.add_handler(on_add=lambda obj: None)
        async with informer:
            with trio.fail_after(_TIMEOUT):
                await informer.wait_synced()
            used = meter.read()
            assert len(informer) == count
            report(unit="object", kind=kind, bytes=meter.held() * MB / count, cpu_us=1e6 * used["cpu_s"] / count)


async def measure_crds(url: str, count: int) -> None:
    """Sync informers on a tenth of the CRDs, and then on the others."""
    async with dynkube.connect(url=url) as client, AsyncExitStack() as stack:
        informers = [client.informer(f"{_plural(number)}.v1.example.com") for number in range(count)]
        rest = informers[count // 10 :]
        await _start(informers[: count // 10], stack)
        meter = Meter()
        await _start(rest, stack)
        used = meter.read()
        assert all(len(informer) == _OF_A_CRD for informer in informers)
        open_watches = client.statistics().open_watches
        each = {"bytes": meter.held() * MB / len(rest), "cpu_us": 1e6 * used["cpu_s"] / len(rest)}
        report(unit="crd", **each, watches=open_watches)


async def _start(informers: Sequence[dynkube.Informer], stack: AsyncExitStack) -> None:
    for informer in informers:
        informer.add_handler(on_add=lambda obj: None)
        await stack.enter_async_context(informer)
    with trio.fail_after(_TIMEOUT):
        for informer in informers:
            await informer.wait_state(dynkube.LIVE)


class _Changes:
    """A handler that counts."""

    def __init__(self) -> None:
        self.number = 0

    def count(self, cluster: str, old: dynkube.Unstructured, new: dynkube.Unstructured) -> None:
        self.number += bool(new.name)


async def measure_clusters(url: str, count: int) -> None:
    """Sync a join of the informers of many clients."""
    meter = Meter()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(dynkube.connect(url=url)) for _ in range(count)]
        informers = {
            f"cluster-{number:02}": client.informer(WIDGETS, transform=dynkube.drop_managed_fields, compact=True)
            for number, client in enumerate(clients)
        }
        joined, changes = dynkube.join(informers), _Changes()
        joined.add_handler(on_add=lambda cluster, obj: None, on_update=changes.count)
        async with joined:
            with trio.fail_after(_TIMEOUT):
                await joined.wait_synced()
            used, held = meter.read(), meter.held()
            assert len(joined) == count * _OF_A_CLUSTER, len(joined)
            changes.number, before = 0, cpu()
            await trio.sleep(_CHANGING)
            assert changes.number > 0.9 * _CHANGING * _CHANGES * count, changes.number  # no longer all of them
            report(
                unit="cluster",
                bytes=held * MB / count,
                cpu_us=1e6 * used["cpu_s"] / count,
                changes_s=changes.number / _CHANGING,
                change_us=1e6 * (cpu() - before) / changes.number,
            )


def _plural(number: int) -> str:
    return f"things{number}"


async def _fill(url: str, count: int) -> None:
    """Create CRDs with objects."""
    async with dynkube.connect(url=url) as client:
        for number in range(count):
            plural, kind = _plural(number), f"Thing{number}"
            await client.resource("customresourcedefinitions").create(_crd(plural, kind))
            things = client.resource(f"{plural}.v1.example.com")
            for name in range(_OF_A_CRD):
                metadata = {"name": f"t{name}", "namespace": "default"}
                await things.create({"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata})


def _crd(plural: str, kind: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _run(unit: str, url: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.capacity", "--unit", unit, "--url", url, *map(str, arguments)]
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(printed, end="", flush=True)
    result: dict[str, Any] = json.loads(printed)
    return result


def print_table(units: Mapping[str, Mapping[str, float]]) -> None:
    """Print what many of each unit cost."""
    rows: list[tuple[str, str, int]] = [("5,000,000 objects, " + kind, kind, 5_000_000) for kind in _KINDS]
    rows += [
        ("  one of 5 shards of them, compact", "compact", 1_000_000),
        ("2,000 CRDs, 20 objects each", "crd", 2_000),
        ("50 clusters, 20,000 objects each, compact", "cluster", 50),
    ]
    print("\n| | memory | CPU to sync |\n|---|---|---|")
    for what, unit, count in rows:
        memory, seconds = count * units[unit]["bytes"] / 1e9, count * units[unit]["cpu_us"] / 1e6
        print(f"| {what} | {memory:,.2f} GB | {seconds:,.0f} s |")


def main() -> None:
    """Parse the command line, and measure all units."""
    parser = argparse.ArgumentParser(description="Measure what very large installations cost.")
    parser.add_argument("--objects", type=int, default=200_000)
    parser.add_argument("--crds", type=int, default=500)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--unit", choices=("object", "crd", "cluster"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--kind", default="whole", help=argparse.SUPPRESS)
    options = parser.parse_args()
    one: dict[str, Callable[[], Any]] = {
        "object": lambda: trio.run(measure_objects, options.url, options.kind, options.objects),
        "crd": lambda: trio.run(measure_crds, options.url, options.crds),
        "cluster": lambda: trio.run(measure_clusters, options.url, options.clusters),
    }
    if options.unit:
        one[options.unit]()
        return
    units: dict[str, dict[str, Any]] = {}
    with byte_server(objects=options.objects, size=_SIZE, render="initial", metadata=True) as url:
        for kind in _KINDS:
            units[kind] = _run("object", url, "--kind", kind, "--objects", options.objects)
    changes = {"events": 100 * _CHANGES, "event_size": _SIZE, "rate": _CHANGES}
    with byte_server(objects=_OF_A_CLUSTER, size=_SIZE, render="initial", **changes) as url:
        units["cluster"] = _run("cluster", url, "--clusters", options.clusters)
    with serve_embedded() as url:
        trio.run(_fill, url, options.crds)
        units["crd"] = _run("crd", url, "--crds", options.crds)
    print_table(units)


if __name__ == "__main__":
    main()
