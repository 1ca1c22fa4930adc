"""What compression and metadata-only informers save over a slow link: bytes, and seconds until an informer has synced.

    python -m benchmarks.slow_link --assets ~/.cache/dynkube/control-plane/1.36.3/bin [--objects 5000]

Between the informer and a real kube-apiserver is a relay that delays what the server sends, and limits its rate. Prints
a table in Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

import trio
import yaml

import dynkube
from benchmarks import servers

_SIZE: Final = 4096
_CHUNK: Final = 16 << 10
_WAYS: Final[Mapping[str, Mapping[str, bool]]] = {
    "streaming list": {"streaming_lists": True},
    "list": {"streaming_lists": False},
    "list, compressed": {"streaming_lists": False, "compression": True},
    "list, metadata only": {"streaming_lists": False, "metadata_only": True},
    "list, metadata only, compressed": {"streaming_lists": False, "metadata_only": True, "compression": True},
}


@dataclass(slots=True)
class Link:
    """A link of limited rate with a latency; both apply to what the server sends.

    Attributes:
        megabits: megabits per second.
        delay: seconds until a byte arrives.
    """

    megabits: float
    delay: float
    _free_at: float = -math.inf

    def arrival(self, size: int) -> float:
        """Return when the next ``size`` bytes have arrived."""
        self._free_at = max(self._free_at, trio.current_time()) + size * 8 / self.megabits / 1e6
        return self._free_at + self.delay


async def relay(link: Link, host: str, port: int, client: trio.SocketStream) -> None:
    """Connect one client to the server, over the link."""
    server = await trio.open_tcp_stream(host, port)
    async with client, server, trio.open_nursery() as nursery:
        send, receive = trio.open_memory_channel[tuple[float, bytes]](256)

        async def up() -> None:
            async for data in client:
                await server.send_all(data)
            nursery.cancel_scope.cancel()

        async def down() -> None:
            async with send:
                while data := await server.receive_some(_CHUNK):
                    await send.send((link.arrival(len(data)), data))

        async def deliver() -> None:
            async for due, data in receive:
                await trio.sleep_until(due)
                await client.send_all(data)
            nursery.cancel_scope.cancel()

        for task in (up, down, deliver):
            nursery.start_soon(task)


async def forgiving(link: Link, host: str, port: int, client: trio.SocketStream) -> None:
    """Relay until either side breaks the connection, as clients do when they have finished."""
    try:
        await relay(link, host, port, client)
    except* (trio.BrokenResourceError, trio.ClosedResourceError):
        pass


async def measure(document: dict[str, Any], link: Link, way: Mapping[str, bool]) -> tuple[float, int]:
    """Return the seconds until an informer has synced, and the bytes of bodies received."""
    server = urlsplit(document["clusters"][0]["cluster"]["server"])
    async with trio.open_nursery() as nursery:
        handler = partial(forgiving, link, server.hostname or "", server.port or 443)
        listeners: list[trio.SocketListener] = await nursery.start(
            partial(trio.serve_tcp, handler, 0, host="127.0.0.1", handler_nursery=nursery)
        )
        port = listeners[0].socket.getsockname()[1]
        cluster = {**document["clusters"][0]["cluster"], "server": f"https://127.0.0.1:{port}"}
        config = {**document, "clusters": [{**document["clusters"][0], "cluster": cluster}]}
        compression, metadata_only = way.get("compression", False), way.get("metadata_only", False)
        async with dynkube.connect(kubeconfig=config, compression=compression) as client:
            begin = trio.current_time()
            informer = client.informer(
                servers.WIDGETS, streaming_lists=way["streaming_lists"], metadata_only=metadata_only
            )
            async with informer:
                await informer.wait_synced()
                seconds, received = trio.current_time() - begin, client.statistics().received
        nursery.cancel_scope.cancel()
    return seconds, received


def main() -> None:
    """Start the server, fill it, and print the table."""
    parser = argparse.ArgumentParser(description="Measure informers over a slow link.")
    parser.add_argument("--assets", type=Path, required=True, help="the folder with kube-apiserver and etcd")
    parser.add_argument("--objects", type=int, default=5_000)
    options = parser.parse_args()
    print("| link | how | MB received | seconds until synced |")
    print("|---|---|---|---|")
    with (
        TemporaryDirectory() as folder,
        servers.real(options.assets, options.objects, _SIZE, Path(folder)) as kubeconfig,
    ):
        document = yaml.safe_load(Path(kubeconfig).read_text())
        for megabits, delay in ((100.0, 0.01), (10.0, 0.05)):
            for called, way in _WAYS.items():
                seconds, received = trio.run(measure, document, Link(megabits, delay), way)
                link = f"{megabits:g} Mbit/s, {delay * 1000:g} ms"
                print(f"| {link} | {called} | {received / 1e6:.1f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
