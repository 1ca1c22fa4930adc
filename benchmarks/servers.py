"""Servers with custom objects, in their own processes: the byte server, the embedded server, kube-apiserver."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

import dynkube
from benchmarks import objects
from benchmarks.measure import ROOT, byte_server
from dynkube_testing import ControlPlane, Endpoint

WIDGETS = dynkube.GVR(objects.GROUP, objects.VERSION, objects.PLURAL)
_WRITERS = 16
_TIMEOUT = 120.0  # seconds


@contextmanager
def bytes_of(count: int, size: int, folder: Path) -> Iterator[str]:
    """Serve ``count`` objects with the byte server; yields the path of a kubeconfig."""
    with byte_server(objects=count, size=size) as url:
        yield str(Endpoint(url=url).write_kubeconfig(folder / "byte-server"))


@contextmanager
def embedded(count: int, size: int, folder: Path) -> Iterator[str]:
    """Serve ``count`` objects with ``dynkube serve``; yields the path of a kubeconfig."""
    with serve_embedded() as url:
        kubeconfig = Endpoint(url=url).write_kubeconfig(folder / "embedded")
        trio.run(_fill, kubeconfig, count, size)
        yield str(kubeconfig)


@contextmanager
def serve_embedded() -> Iterator[str]:
    """Run ``dynkube serve`` without objects; yields its URL."""
    command = [sys.executable, "-m", "dynkube.cli", "serve"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def real(assets: Path, count: int, size: int, folder: Path) -> Iterator[str]:
    """Serve ``count`` objects with the kube-apiserver and etcd in a folder; yields the path of a kubeconfig."""
    with ControlPlane(assets) as plane:
        kubeconfig = plane.write_kubeconfig(folder / "real")
        trio.run(_fill, kubeconfig, count, size)
        yield str(kubeconfig)


async def _fill(kubeconfig: Path, count: int, size: int) -> None:
    """Create the CRD, the namespaces, and ``count`` objects."""
    async with dynkube.connect(kubeconfig=kubeconfig) as client:
        await client.resource("customresourcedefinitions").create(_crd())
        async with client.informer(WIDGETS) as informer:
            with trio.fail_after(_TIMEOUT):
                await informer.wait_state(dynkube.LIVE)
        for number in range(objects.NAMESPACES):
            await client.resource("namespaces").create(_without_server_fields(objects.namespace(number)))
        widgets = client.resource(WIDGETS)

        async def create(first: int) -> None:
            for number in range(first, count, _WRITERS):
                await widgets.create(_without_server_fields(objects.widget(number, size=size, resource_version=1)))

        async with trio.open_nursery() as nursery:
            for first in range(_WRITERS):
                nursery.start_soon(create, first)


def _without_server_fields(rendered: bytes) -> dict[str, Any]:
    """Return an object without the fields that the server sets."""
    obj: dict[str, Any] = msgspec.json.decode(rendered)
    for field in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"):
        obj["metadata"].pop(field, None)
    return {name: value for name, value in obj.items() if name != "status"}


def _crd() -> dict[str, Any]:
    crd = _without_server_fields(objects.crd())
    for version in crd["spec"]["versions"]:
        version["subresources"] = {"status": {}}
    return crd
