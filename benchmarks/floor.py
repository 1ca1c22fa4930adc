"""What receiving a list costs without an informer: the lower bound for ``sync_informer`` on the same server.

    python -m benchmarks.floor --kubeconfig FILE | --url http://127.0.0.1:8001 [--rounds 5] [--step split]

Requests the list of custom objects over a blocking socket, and does nothing with the response but what each step says:

- ``receive``: read the socket and, over TLS, decrypt;
- ``framing``: also take the chunked coding apart;
- ``split``: also split the list into items, and decode the header of each.

Prints a line of JSON for each step: ``cpu_s`` is the CPU time of this process (a median), ``reads`` how often it read.
Over TLS each read returns one record.
"""

from __future__ import annotations

import argparse
import base64
import socket
import ssl
import statistics
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import yaml

from benchmarks import objects
from benchmarks.measure import cpu, report
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.rest._chunked import ChunkDecoder

_LIST = f"/apis/{objects.GROUP}/{objects.VERSION}/{objects.PLURAL}?resourceVersion=0"
_READ = 1 << 18
_TIMEOUT = 60  # seconds; the server closes the connection after its response
_STEPS = ("receive", "framing", "split")


def connect(options: argparse.Namespace) -> tuple[socket.socket, str]:
    """Return a connection, and the header that authenticates the request, if any."""
    if options.url:
        return _connect(options.url), ""
    config = yaml.safe_load(Path(options.kubeconfig).read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority"))
    if "client-certificate-data" in user:
        with TemporaryDirectory() as folder:
            pair = Path(folder) / "pair.pem"
            pair.write_text(_pem(user, "client-certificate") + _pem(user, "client-key"), encoding="ascii")
            context.load_cert_chain(pair)
    token = f"Authorization: Bearer {user['token']}\r\n" if "token" in user else ""
    return context.wrap_socket(_connect(cluster["server"]), server_hostname=urlsplit(cluster["server"]).hostname), token


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    return socket.create_connection((parts.hostname, parts.port), timeout=_TIMEOUT)


def _pem(entry: dict[str, str], name: str) -> str:
    return base64.b64decode(entry[f"{name}-data"]).decode("ascii")


def read_list(options: argparse.Namespace, use: Callable[[bytes], object]) -> int:
    """Request the list, pass each piece of the body to ``use``, and return the number of reads."""
    connection, token = connect(options)
    request = f"GET {_LIST} HTTP/1.1\r\nHost: localhost\r\n{token}Accept: application/json\r\nConnection: close\r\n\r\n"
    reads, head = 0, b""
    with connection:
        connection.sendall(request.encode())
        while data := connection.recv(_READ):
            reads += 1
            if b"\r\n\r\n" not in head:
                head += data
                data = head.partition(b"\r\n\r\n")[2]
            use(data)
    assert head.startswith(b"HTTP/1.1 200"), head[:200]
    return reads


def main() -> None:
    """Measure each step."""
    parser = argparse.ArgumentParser(description="Measure what receiving a list costs at least.")
    parser.add_argument("--url")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--step", choices=_STEPS, help="measure only this step")
    options = parser.parse_args()

    for step in (options.step,) if options.step else _STEPS:
        measured, reads = [], 0
        for _ in range(options.rounds):
            before = cpu()
            reads = read_list(options, _use(step))
            measured.append(cpu() - before)
        report(step=step, cpu_s=statistics.median(measured), reads=reads)


def _use(step: str) -> Callable[[bytes], object]:
    """Return what a step does with each piece of the body."""
    chunks, splitter = ChunkDecoder(), ListDecoder(ObjectDecoder(drop_managed_fields=True))
    kept: list[object] = []
    if step == "receive":
        return lambda data: None
    if step == "framing":
        return chunks.feed
    return lambda data: kept.extend(splitter.feed(chunks.feed(data)))


if __name__ == "__main__":
    main()
