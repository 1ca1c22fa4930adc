"""Latency and load of a service that serves from informers, while its API server is killed and started again.

    python -m benchmarks.facade --seconds 600                   # with the embedded API server
    python -m benchmarks.facade --seconds 600 --example aio_service
    python -m benchmarks.facade --seconds 600 --folder FOLDER   # with a real one, from `make control-plane`

The service is examples/facade.py, on trio, or examples/aio_service.py, on asyncio. Prints one line of JSON: the
latencies and results of the requests, the CPU of the service, and its requests to the API server. There are four
processes: the service (and its workers), the API server, the clients (facade_client.py), and this one, which runs a
proxy between the first two. The proxy records the requests of the service: lists and watches, and none for a read.
Every ``--every`` seconds the API server is killed (SIGKILL), and it is started again ``--down`` seconds later. Objects
are changed all the time. At the end the service has to serve the last change.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Protocol

import httpx2
import trio

import dynkube
from benchmarks.measure import ROOT, report
from dynkube.errors import APIError, TransportError
from dynkube_testing import ControlPlane, Endpoint, FaultProxy

CONFIGS = 20
SIZE = 2000  # bytes of data in each
_READY = 60.0  # seconds for processes to start, and for the facade to follow
_POLL = 0.1  # seconds between two requests for a state that has no event


@dataclass(frozen=True)
class Example:
    """A service, and where it serves the ConfigMaps of the namespace ``default``.

    Attributes:
        application: the module in ``examples``, which has ``create_app``.
        worker: hypercorn's worker class.
        listed: the path of all, to which ``/NAME`` is added for one.
        half: the query that selects the half of them with the label ``team=1``.
    """

    application: str
    worker: str
    listed: str
    half: str


EXAMPLES = {
    "facade": Example("facade", "trio", "/api/v1/namespaces/default/configmaps", "?labelSelector=team%3D1"),
    "aio_service": Example("aio_service", "asyncio", "/settings/default", "?team=1"),
}


class Options(argparse.Namespace):
    """The command line."""

    example: str
    rate: float
    seconds: float
    workers: int
    every: float
    down: float
    folder: Path | None


class Cluster(Protocol):
    """An API server that can be killed."""

    @property
    def endpoint(self) -> Endpoint:
        """The address and credentials of the API server."""
        ...

    def kill(self) -> None:
        """Kill the API server."""
        ...

    async def start(self) -> None:
        """Start the API server with its objects, unless it is running, and wait until it is ready."""
        ...


# ── API servers ──────────────────────────────────────────────────────────────────────────────


class Real:
    """kube-apiserver and etcd; only the former is killed."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.endpoint = plane.endpoint

    def kill(self) -> None:
        """Kill kube-apiserver."""
        self._plane.api_server.kill()

    async def start(self) -> None:
        """Start kube-apiserver."""
        await trio.to_thread.run_sync(self._plane.api_server.start)


@dataclass
class Embedded:
    """``dynkube serve`` in its own process, which stores its objects in a file."""

    nursery: trio.Nursery
    folder: Path
    endpoint: Endpoint = field(default_factory=lambda: Endpoint(url=f"http://127.0.0.1:{free_port()}"))

    def __post_init__(self) -> None:
        self._process: trio.Process | None = None
        self._killed = False

    def kill(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._killed = True

    async def start(self) -> None:
        """Start the process."""
        if self._process is not None and (self._killed or self._process.poll() is not None):
            await self._process.wait()  # it has the port until then
            self._process = None
        if self._process is None:
            self._killed = False
            command = [sys.executable, "-m", "dynkube.cli", "serve", "--port", self.endpoint.url.rpartition(":")[2]]
            command += ["--state", str(self.folder / "state"), "--save-every", "0.5"]
            self._process = await self.nursery.start(
                partial(trio.run_process, command, check=False, stdout=DEVNULL, cwd=ROOT)
            )
        await until(f"{self.endpoint.url}/readyz")


@asynccontextmanager
async def cluster_of(options: Options, folder: Path) -> AsyncIterator[Cluster]:
    if options.folder is not None:
        async with ControlPlane(options.folder) as plane:
            yield Real(plane)
        return
    async with trio.open_nursery() as nursery:
        embedded = Embedded(nursery, folder)
        await embedded.start()
        yield embedded
        nursery.cancel_scope.cancel()


# ── the run ──────────────────────────────────────────────────────────────────────────────────


class Run:
    """One run: writes and kills while clients read."""

    def __init__(self, cluster: Cluster, service: str, options: Options) -> None:
        self._cluster = cluster
        self._service = service
        self._example = EXAMPLES[options.example]
        self._options = options
        self.kills = 0
        self.writes = 0

    async def kill_and_start(self) -> None:
        """Kill the API server at intervals, until cancelled."""
        while True:
            await trio.sleep(self._options.every)
            self._cluster.kill()
            self.kills += 1
            await trio.sleep(self._options.down)
            await self._cluster.start()

    async def write(self) -> None:
        """Change an object ten times a second, if the API server is available."""
        async with connected(self._cluster.endpoint) as client:
            while True:
                with suppress(APIError, TransportError):
                    await client.resource("configmaps").apply(config(self.writes % CONFIGS, self.writes))
                    self.writes += 1
                await trio.sleep(0.1)

    async def last_change(self) -> float:
        """Make a change, and return after how many seconds the service serves it."""
        await self._cluster.start()
        async with connected(self._cluster.endpoint) as client:
            await client.resource("configmaps").apply(config(0, -1))
        started = trio.current_time()
        path = f"{self._example.listed}/c0"
        await until(f"{self._service}{path}", lambda response: response.json()["data"]["number"] == "-1")
        return trio.current_time() - started

    async def load(self) -> dict[str, object]:
        """Run the clients, and return what they print."""
        listed = self._example.listed
        paths = [f"{listed}/c{number}" for number in range(CONFIGS)] + [listed, f"{listed}{self._example.half}"]
        command = [sys.executable, "-m", "benchmarks.facade_client", self._service.removeprefix("http://"), *paths]
        command += ["--rate", str(self._options.rate), "--seconds", str(self._options.seconds)]
        done = await trio.run_process(command, capture_stdout=True, cwd=ROOT)
        result: dict[str, object] = json.loads(done.stdout)
        return result


async def run(options: Options) -> None:
    with TemporaryDirectory() as name:
        async with cluster_of(options, Path(name)) as cluster, FaultProxy(cluster.endpoint) as proxy:
            async with connected(cluster.endpoint) as client:
                for number in range(CONFIGS):
                    await client.resource("configmaps").apply(config(number, number))
            proxy.write_kubeconfig(Path(name, "kubeconfig"))
            example = EXAMPLES[options.example]
            async with served(example, Path(name, "kubeconfig"), options.workers) as (url, process):
                await measure(Run(cluster, url, options), proxy, process)


async def measure(run: Run, proxy: FaultProxy, process: trio.Process) -> None:
    """Run the load, and print the results."""
    cpu = cpu_of(process.pid)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run.kill_and_start)
        nursery.start_soon(run.write)
        result = await run.load()
        nursery.cancel_scope.cancel()
    requests = result["requests"]
    assert isinstance(requests, int)
    result["service_cpu_us_per_request"] = round((cpu_of(process.pid) - cpu) / requests * 1e6)
    result["kills"], result["writes"] = run.kills, run.writes
    result["last_change_served_after_s"] = await run.last_change()
    verbs = Counter(record.verb or record.path for record in proxy.audit)
    result["api_requests"] = dict(verbs)
    about_reads = verbs.total() - verbs["list"] - verbs["watch"] - sum(verbs[path] for path in verbs if "/" in path)
    result["api_requests_per_read"] = about_reads / requests
    report(**result)


@asynccontextmanager
async def served(example: Example, kubeconfig: Path, workers: int) -> AsyncIterator[tuple[str, trio.Process]]:
    """Run a service in its own processes, and wait until it serves the objects."""
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "hypercorn", "--worker-class", example.worker, "--workers", str(workers)]
    command += ["--bind", address, "--log-level", "warning", f"examples.{example.application}:create_app()"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    async with trio.open_nursery() as nursery:
        start = partial(trio.run_process, command, check=False, cwd=ROOT, env=environment)
        process: trio.Process = await nursery.start(start)
        await until(f"http://{address}{example.listed}")
        yield f"http://{address}", process
        process.terminate()


# ── helpers ──────────────────────────────────────────────────────────────────────────────────


def connected(endpoint: Endpoint) -> dynkube.Client:
    return dynkube.connect(kubeconfig=endpoint.kubeconfig())


def config(number: int, value: int) -> dict[str, object]:
    metadata = {"name": f"c{number}", "namespace": "default", "labels": {"team": str(number % 2)}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"number": str(value), "x": "x" * SIZE},
    }


async def until(url: str, holds: Callable[[httpx2.Response], bool] = lambda response: response.is_success) -> None:
    """Send requests until ``holds`` returns true for a response."""
    async with httpx2.AsyncClient() as client:
        with trio.fail_after(_READY):
            while True:
                with suppress(httpx2.HTTPError, KeyError):
                    if holds(await client.get(url)):
                        return
                await trio.sleep(_POLL)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and its children, on Linux."""
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_of, children))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--example", choices=EXAMPLES, default="facade")
    parser.add_argument("--rate", type=float, default=2000.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=2, help="processes of the service")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two kills")
    parser.add_argument("--down", type=float, default=5.0, help="seconds until the API server is started again")
    parser.add_argument("--folder", type=Path, help="of kube-apiserver and etcd; default: the embedded server")
    trio.run(run, parser.parse_args(namespace=Options()))


if __name__ == "__main__":
    main()
