"""Copies to and from a pod, and requests through a forwarded port, on a real control plane with KWOK as its node.

    python -m benchmarks.pods --assets FOLDER [--size 1000000000] [--requests 1000]

FOLDER has kube-apiserver, etcd and kwok, from `make control-plane`. Prints one line of JSON for each of the three APIs
(trio, blocking, asyncio), each measured in its own process: seconds of a copy of ``size`` random bytes to the pod and
back, whether the checksums are equal, the peak of the process's memory, the seconds of ``requests`` requests through
``port_forward``, each on a connection of its own, and how many failed. One more line for ``kubectl port-forward``, if
kubectl is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio

import dynkube
import dynkube.aio
import dynkube.sync
from benchmarks.measure import MB, ROOT, memory, report
from dynkube_testing import ControlPlane
from tests.testing.control_plane.kwok import node, write_settings

_POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"nodeName": "worker", "containers": [{"name": "app", "image": "nginx"}]},
}
_PORT: Final = 80  # of the pod


# ── in a process of its own, for each API ────────────────────────────────────────────────────


async def _in_trio(kubeconfig: str, folder: Path, requests: int) -> dict[str, float]:
    """Copy, and send requests, by the API for trio."""
    async with dynkube.connect(kubeconfig=kubeconfig) as client:
        return await _session(client.pod("web", namespace="default"), trio.to_thread.run_sync, folder, requests)


async def _in_asyncio(kubeconfig: str, folder: Path, requests: int) -> dict[str, float]:
    """Copy, and send requests, by the API for asyncio."""
    async with dynkube.aio.connect(kubeconfig=kubeconfig) as client:
        return await _session(client.pod("web", namespace="default"), asyncio.to_thread, folder, requests)


async def _session(
    pod: dynkube.Pod | dynkube.aio.Pod, to_thread: Callable[..., Awaitable[int]], folder: Path, requests: int
) -> dict[str, float]:
    found: dict[str, float] = {}
    with _timed(found, "copy_to_s"):
        await pod.copy_to(folder / "local", "remote")
    with _timed(found, "copy_from_s"):
        await pod.copy_from("remote", folder / "back")
    found["peak_mb"] = memory("VmHWM")
    async with pod.port_forward(_PORT) as forward:
        with _timed(found, "requests_s"):
            found["failed"] = await to_thread(_request, forward.port, requests)
    return found


def _blocking(kubeconfig: str, folder: Path, requests: int) -> dict[str, float]:
    """Copy, and send requests, by the blocking API."""
    with dynkube.sync.connect(kubeconfig=kubeconfig) as client:
        pod = client.pod("web", namespace="default")
        found: dict[str, float] = {}
        with _timed(found, "copy_to_s"):
            pod.copy_to(folder / "local", "remote")
        with _timed(found, "copy_from_s"):
            pod.copy_from("remote", folder / "back")
        found["peak_mb"] = memory("VmHWM")
        with pod.port_forward(_PORT) as forward, _timed(found, "requests_s"):
            found["failed"] = _request(forward.port, requests)
    return found


_FORMS: Final[dict[str, Callable[[str, Path, int], dict[str, float]]]] = {
    "trio": lambda *arguments: trio.run(_in_trio, *arguments),
    "sync": _blocking,
    "aio": lambda *arguments: asyncio.run(_in_asyncio(*arguments)),
}


@contextmanager
def _timed(found: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds of the block to ``found``."""
    begun = time.perf_counter()
    yield
    found[name] = time.perf_counter() - begun


def _request(port: int, count: int) -> int:
    """Send requests one after the other, and return how many had no answer or a wrong one."""
    failed = 0
    for number in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("GET", f"/{number}")
            failed += connection.getresponse().read() != f"/{number}".encode()
        except (OSError, http.client.HTTPException):
            failed += 1
        finally:
            connection.close()
    return failed


# ── around these ─────────────────────────────────────────────────────────────────────────────


async def _answer(stream: trio.SocketStream) -> None:
    """Answer one request with its path."""
    path = (await stream.receive_some()).split()[1]
    await stream.send_all(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))
    await stream.aclose()


def _write_random(file: Path, size: int) -> str:
    """Write a file of random bytes, and return its checksum."""
    digest = hashlib.sha256()
    with file.open("wb") as output:
        for left in range(size, 0, -MB):
            block = os.urandom(min(MB, left))
            digest.update(block)
            output.write(block)
    return digest.hexdigest()


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


async def _measure(form: str, kubeconfig: Path, folder: Path, requests: int) -> None:
    """Measure one API in its own process; it prints the line."""
    options = ["--measure", form, "--kubeconfig", str(kubeconfig), "--requests", str(requests), "--folder", str(folder)]
    await trio.run_process([sys.executable, "-m", "benchmarks.pods", *options], cwd=ROOT)


async def _measure_kubectl(kubeconfig: Path, requests: int) -> None:
    command = ["kubectl", f"--kubeconfig={kubeconfig}", "port-forward", "pod/web", f":{_PORT}", "--address=127.0.0.1"]
    async with trio.open_nursery() as nursery:
        run = partial(trio.run_process, command, stdout=subprocess.PIPE, check=False)
        process: trio.Process = await nursery.start(run)
        assert process.stdout is not None
        port = int((await process.stdout.receive_some()).split(b" -> ")[0].rpartition(b":")[2])
        begun = time.perf_counter()
        failed = await trio.to_thread.run_sync(_request, port, requests)
        report(client="kubectl", requests=requests, requests_s=time.perf_counter() - begun, failed=failed)
        process.terminate()


async def _run(options: argparse.Namespace, folder: Path) -> None:
    """Start the control plane and its node, and measure each API and kubectl."""
    container = folder / "container"
    container.mkdir()
    checksum = await trio.to_thread.run_sync(_write_random, folder / "local", options.size)
    with ControlPlane(options.assets) as plane:
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(partial(trio.serve_tcp, _answer, 0, host="127.0.0.1"))
            settings = write_settings(folder / "kwok.yaml", container, {_PORT: listeners[0].socket.getsockname()[1]})
            async with node(plane, options.assets / "kwok", settings) as client:
                await client.resource("pods").create(_POD)
                await client.resource("pods").wait_for("web", "condition=Ready", timeout=60)
                kubeconfig = plane.write_kubeconfig(folder / "kubeconfig")
                for form in _FORMS:
                    await _measure(form, kubeconfig, folder, options.requests)
                    found = {_checksum(container / "remote"), _checksum(folder / "back")}
                    report(client=form, size=options.size, equal=found == {checksum})
                if shutil.which("kubectl"):
                    await _measure_kubectl(kubeconfig, options.requests)
                await client.resource("pods").delete("web", grace_period_seconds=0)
                await client.resource("pods").wait_for("web", "delete", timeout=60)
            nursery.cancel_scope.cancel()


def main() -> None:
    """Parse the command line, and run once."""
    parser = argparse.ArgumentParser(description="Measure copies and forwarded ports on a real control plane.")
    parser.add_argument("--assets", type=Path, help="the folder with kube-apiserver, etcd and kwok")
    parser.add_argument("--size", type=int, default=1_000_000_000, help="bytes to copy")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--measure", choices=[*_FORMS], help="measure one API, on a control plane that is running")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.measure:
        found = _FORMS[options.measure](options.kubeconfig, options.folder, options.requests)
        report(client=options.measure, requests=options.requests, **found)
        return
    if options.assets is None or not (options.assets / "kwok").exists():
        parser.error("--assets: pass the folder with kube-apiserver, etcd and kwok that `make control-plane` prints")
    with TemporaryDirectory() as folder:
        trio.run(_run, options, Path(folder))


if __name__ == "__main__":
    main()
