"""The load of benchmarks/facade.py: requests at a constant rate over keep-alive connections, in a process of its own.

    python -m benchmarks.facade_client HOST:PORT --rate 2000 --seconds 30 PATH [PATH ...]

Prints one line of JSON. Each request has a scheduled time from which its latency is measured, so that a server that
stops for a second delays all requests of that second, and not just one (coordinated omission). A third of the requests
are conditional, with the ETag of the last response. Only the parts of HTTP that hypercorn uses are supported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field

TIMEOUT = 30.0  # seconds until a request without a response has failed
REVALIDATED = 3  # one request of so many is conditional
SHARES = (0.5, 0.9, 0.99, 0.999)


@dataclass
class Results:
    """The results of the requests."""

    latencies: array[float] = field(default_factory=lambda: array("f"))
    codes: Counter[int] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    oldest: int = 0
    received: int = 0

    def summary(self, seconds: float) -> dict[str, object]:
        """Return the numbers for the report."""
        ordered = sorted(self.latencies)
        at = {f"p{share * 100:g}": round(ordered[int(share * (len(ordered) - 1))] * 1e3, 2) for share in SHARES}
        return {
            "requests": len(ordered) + self.failures.total(),
            "per_second": round(len(ordered) / seconds),
            "failures": dict(self.failures),
            "latency_ms": {**at, "max": round(ordered[-1] * 1e3, 2)} if ordered else {},
            "codes": dict(self.codes),
            "states": dict(self.states),
            "oldest_age_s": self.oldest,
            "received_mb": round(self.received / 1e6),
        }


class Connection:
    """A keep-alive connection that is opened again after it was lost."""

    def __init__(self, host: str, port: int, results: Results) -> None:
        self._address = (host, port)
        self._results = results
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._etags: dict[str, str] = {}

    async def request(self, path: str, *, conditional: bool, due: float) -> None:
        """Send a request, and record its response or its failure."""
        try:
            async with asyncio.timeout(TIMEOUT):
                await self._exchange(path, self._etags.get(path) if conditional else None)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            self._results.failures[type(error).__name__] += 1
            self._close()
        else:
            self._results.latencies.append(time.perf_counter() - due)

    async def _exchange(self, path: str, etag: str | None) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        condition = f"If-None-Match: {etag}\r\n" if etag else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: facade\r\n{condition}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:-2])
        code = int(head[0].split(" ", 2)[1])
        if code != 304:
            self._results.received += len(await reader.readexactly(int(headers.get("content-length", "0"))))
        if headers.get("connection") == "close":  # after 1,000 requests, by hypercorn's default
            self._close()
        self._record(path, code, headers)

    def _record(self, path: str, code: int, headers: dict[str, str]) -> None:
        results = self._results
        results.codes[code] += 1
        results.states[headers.get("x-cache-state", "none").upper()] += 1
        results.oldest = max(results.oldest, int(headers.get("age", "0")))
        self._etags[path] = headers.get("etag", "").replace("w/", "W/")
        if code not in (200, 304):
            results.failures[str(code)] += 1

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def send(connection: Connection, paths: list[str], start: float, first: int, step: int, options: Options) -> None:
    """Send every ``step``-th request, beginning with number ``first``."""
    for number in range(first, int(options.rate * options.seconds), step):
        due = start + number / options.rate
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        await connection.request(paths[number % len(paths)], conditional=number % REVALIDATED == 0, due=due)


async def load(options: Options) -> Results:
    host, _, port = options.address.rpartition(":")
    results = Results()
    start = time.perf_counter() + 0.1
    async with asyncio.TaskGroup() as group:
        for first in range(options.connections):
            connection = Connection(host, int(port), results)
            group.create_task(send(connection, options.paths, start, first, options.connections, options))
    return results


class Options(argparse.Namespace):
    """The command line."""

    address: str
    paths: list[str]
    rate: float
    seconds: float
    connections: int


def main() -> None:
    parser = argparse.ArgumentParser(description="Send GET requests at a constant rate.")
    parser.add_argument("address")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    # No divisor of the number of paths, so that each connection requests all of them.
    parser.add_argument("--connections", type=int, default=31)
    options = parser.parse_args(namespace=Options())
    begun, cpu = time.perf_counter(), time.process_time()
    results = asyncio.run(load(options))
    seconds = time.perf_counter() - begun
    print(json.dumps({**results.summary(seconds), "client_cpu": round((time.process_time() - cpu) / seconds, 2)}))


if __name__ == "__main__":
    main()
