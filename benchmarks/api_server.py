"""Throughput of the embedded API server over TCP: requests per second on one core, many objects, many watches.

    python -m benchmarks.api_server [--requests 5000] [--objects 50000] [--watchers 100]

Prints one line of JSON for each measurement. The server is ``dynkube serve`` in its own process, pinned to one core if
the machine has several; the client is another process on another core, and as simple as possible: requests are rendered
in advance, and written to eight connections before the eight responses are read, so that the server rarely waits for
it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import ROOT, report
from dynkube_testing import APIServer

CONNECTIONS = 8
NAMESPACE = "/api/v1/namespaces/default/configmaps"
_TICK = os.sysconf("SC_CLK_TCK")


def configmap(name: str, size: int = 1000) -> dict[str, object]:
    metadata = {"name": name, "namespace": "default", "labels": {"app": name[:3], "team": "a"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "x" * size}}


def rendered(method: str, path: str, body: object = None, content_type: str = "application/json") -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: application/json\r\n"
    if data:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(data)}\r\n"
    return head.encode() + b"\r\n" + data


class Connection:
    """A keep-alive connection, with as much of HTTP as the server's responses need."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def send(self, request: bytes) -> None:
        """Write a rendered request."""
        self._socket.sendall(request)

    def read_response(self) -> int:
        """Read a response, discard its body, and return its status code."""
        head = self._until(b"\r\n\r\n")
        lowered = head.lower()
        if b"content-length:" in lowered:
            self._skip(int(lowered.partition(b"content-length:")[2].partition(b"\r")[0]))
        else:
            while size := int(self._until(b"\r\n"), 16):
                self._skip(size + 2)
            self._until(b"\r\n")
        return int(head.split(b" ", 2)[1])

    def read_head(self) -> None:
        """Read the head of a response whose body is counted by :meth:`read_events`."""
        self._until(b"\r\n\r\n")

    def read_events(self, count: int) -> None:
        """Read ``count`` events of a watch; the server sends whole events in each HTTP chunk."""
        while count > 0:
            data = self._rest or self._socket.recv(1 << 20)
            self._rest = b""
            count -= data.count(b"}\n")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _until(self, end: bytes) -> bytes:
        while end not in self._rest:
            data = self._socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._rest += data
        found, _, self._rest = self._rest.partition(end)
        return found

    def _skip(self, size: int) -> None:
        size -= len(self._rest)
        if size <= 0:
            self._rest = self._rest[size:] if size else b""
            return
        self._rest = b""
        while size:
            size -= len(self._socket.recv(min(size, 1 << 20)))


@dataclass
class Server:
    """The server process that is measured."""

    process: subprocess.Popen[str]
    url: str
    address: tuple[str, int]

    def cpu(self) -> float:
        """Return the CPU seconds of the process so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run ``dynkube serve`` in a process of its own; entered when it is ready."""
    command = [sys.executable, "-m", "dynkube", "serve", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    pin(0, process.pid)
    try:
        url = process.stdout.readline().split()[-1]
        host, _, port = url.rpartition("/")[2].rpartition(":")
        yield Server(process, url, (host, int(port)))
    finally:
        process.terminate()
        process.wait()


_CORES = sorted(os.sched_getaffinity(0))


def pin(core: int, process: int = 0) -> None:
    """Pin a process (this one by default) to one core, if there are several."""
    if len(_CORES) > 1:
        os.sched_setaffinity(process, {_CORES[core]})


def rate(server: Server, what: str, request: Callable[[int], bytes], count: int, expected: int) -> None:
    """Send ``count`` requests over eight connections, and report the rate of responses."""
    with ExitStack() as stack:
        connections = [Connection(server.address) for _ in range(CONNECTIONS)]
        for connection in connections:
            stack.callback(connection.close)
        requests = [request(index) for index in range(count)]
        cpu, wall = server.cpu(), time.perf_counter()
        for begin in range(0, count, CONNECTIONS):
            batch = list(zip(connections, requests[begin : begin + CONNECTIONS], strict=False))
            for connection, data in batch:
                connection.send(data)
            for connection, _ in batch:
                status = connection.read_response()
                if status != expected:
                    raise RuntimeError(f"{what}: response {status} instead of {expected}")
        wall, cpu = time.perf_counter() - wall, server.cpu() - cpu
    report(what=what, requests_per_s=round(count / wall), requests_per_cpu_s=round(count / cpu))


def simple_requests(count: int) -> None:
    with serving() as server:
        rate(server, "create", lambda i: rendered("POST", NAMESPACE, configmap(f"c{i}")), count, 201)
        rate(server, "get", lambda i: rendered("GET", f"{NAMESPACE}/c{i}"), count, 200)
        merge = "application/merge-patch+json"
        rate(
            server,
            "patch",
            lambda i: rendered("PATCH", f"{NAMESPACE}/c{i}", {"data": {"n": str(i)}}, merge),
            count,
            200,
        )
        rate(server, "list of 100", lambda _: rendered("GET", f"{NAMESPACE}?limit=100"), count // 10, 200)
        rate(server, "delete", lambda i: rendered("DELETE", f"{NAMESPACE}/c{i}"), count, 200)


def many_objects(count: int, watchers: int, folder: Path) -> None:
    filled = APIServer()
    wall = time.perf_counter()
    for index in range(count):
        filled.create(configmap(f"c{index:06}"))
    report(what="create in the process", objects=count, per_s=round(count / (time.perf_counter() - wall)))
    wall = time.perf_counter()
    filled.snapshot().save(folder / "state")
    size = (folder / "state").stat().st_size
    report(what="save", objects=count, seconds=time.perf_counter() - wall, file_mb=size / 1e6)
    with serving() as empty:
        base = empty.memory()
    wall = time.perf_counter()
    with serving("--state", str(folder / "state"), "--save-every", "1e9") as server:
        report(what="start with that state", seconds=time.perf_counter() - wall)
        growth = (server.memory() - base) * (1 << 20)
        report(what="memory", bytes_per_object=round(growth / count), json_bytes=round(size / count))
        rate(server, f"list of all {count}", lambda _: rendered("GET", NAMESPACE), CONNECTIONS, 200)
        rate(server, "page of 500", lambda _: rendered("GET", f"{NAMESPACE}?limit=500"), 80, 200)
        rate(server, "get", lambda i: rendered("GET", f"{NAMESPACE}/c{i % count:06}"), 2000, 200)
        fan_out(server, watchers)


def fan_out(server: Server, watchers: int, updates: int = 200) -> None:
    """Measure writes of which each is sent to every watch."""
    with ExitStack() as stack:
        watches = [Connection(server.address) for _ in range(watchers)]
        for connection in watches:
            stack.callback(connection.close)
            connection.send(
                rendered(
                    "GET",
                    f"{NAMESPACE}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
                )
            )
            connection.read_head()
        writer = Connection(server.address)
        stack.callback(writer.close)
        cpu, wall = server.cpu(), time.perf_counter()
        for index in range(updates):
            writer.send(rendered("POST", NAMESPACE, configmap(f"new{index}")))
            writer.read_response()
        for connection in watches:
            connection.read_events(updates)
        wall, cpu = time.perf_counter() - wall, server.cpu() - cpu
    events = watchers * updates
    report(what=f"watch events to {watchers}", events_per_s=round(events / wall), events_per_cpu_s=round(events / cpu))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--objects", type=int, default=50_000)
    parser.add_argument("--watchers", type=int, default=100)
    options = parser.parse_args()
    pin(1)
    simple_requests(options.requests)
    with tempfile.TemporaryDirectory() as folder:
        many_objects(options.objects, options.watchers, Path(folder))


if __name__ == "__main__":
    main()
