"""CPU and memory of syncing one informer with one handler, from just before ``connect`` until ``wait_synced``.

    python -m benchmarks.sync_informer [--mode list|pages|stream] [--objects 20000] [--size 4096]
                                       [--keep-managed-fields] [--compact] [--metadata-only]
                                       [--url http://127.0.0.1:8001 | --kubeconfig FILE] [--count]

Prints one line of JSON. ``cpu_s`` is the user and system time of this process, without imports (``import_cpu_s``) and
without the byte server, which is another process. ``held_mb`` is the growth of the resident memory once synced, and
``bytes_per_object`` the same per object; ``json_bytes`` is the size of an object's JSON as sent, and ``stored_bytes``
as cached (without managedFields, unless they are kept). The informer has one index and one handler, as in the client-go
benchmark.

With ``--count`` it also prints ``reads``, the number of reads from sockets, and ``turns``, the iterations of the event
loop; counting takes some CPU itself. Compression and a slow network are not measured.
"""

from __future__ import annotations

import argparse

from benchmarks import objects
from benchmarks.measure import MB, Meter, byte_server, cpu, report

_before_import = cpu()

import trio  # noqa: E402  # the import is measured

import dynkube  # noqa: E402  # as above
from dynkube import Client, InformerSettings, connect  # noqa: E402, F401  # names are loaded on first use

_IMPORT_CPU = cpu() - _before_import
WIDGETS = dynkube.GVR(objects.GROUP, objects.VERSION, objects.PLURAL)


def tier(obj: dynkube.Unstructured) -> list[str]:
    """Index an object by a label, as the client-go benchmark does."""
    value = obj.labels.get("tier")
    return [value] if value else []


class Seen:
    """A handler that reads each object, and counts."""

    def __init__(self) -> None:
        self.added = 0

    def add(self, obj: dynkube.Unstructured) -> None:
        """Count an object."""
        if obj.name:
            self.added += 1


class Turns(trio.abc.Instrument):
    """Counts the iterations of the event loop, and the reads from sockets."""

    def __init__(self) -> None:
        self.turns = self.reads = 0

    def before_io_wait(self, timeout: float) -> None:
        """Count an iteration."""
        self.turns += 1

    def count_reads(self) -> None:
        """Count reads from now on."""
        receive = trio.SocketStream.receive_some

        async def counted(stream: trio.SocketStream, max_bytes: int | None = None) -> bytes | bytearray:
            self.reads += 1
            return await receive(stream, max_bytes)

        trio.SocketStream.receive_some = counted  # type: ignore[method-assign, assignment]  # for all


async def sync(url: str, options: argparse.Namespace) -> None:
    """Sync an informer, and print the result."""
    seen, turns = Seen(), Turns()
    if options.count:
        trio.lowlevel.add_instrument(turns)
        turns.count_reads()
    meter = Meter()
    settings = dynkube.InformerSettings(streaming_lists=options.mode == "stream", compact=options.compact)
    if options.kubeconfig:
        connection = dynkube.connect(kubeconfig=options.kubeconfig, settings=settings)
    else:
        connection = dynkube.connect(url=url + ("/pages" if options.mode == "pages" else ""), settings=settings)
    async with connection as client:
        transform = None if options.keep_managed_fields else dynkube.drop_managed_fields
        informer = client.informer(
            WIDGETS, transform=transform, indexes={"tier": tier}, metadata_only=options.metadata_only
        )
        informer.add_handler(on_add=seen.add)
        async with informer:
            with trio.fail_after(60):
                await informer.wait_synced()
            measured = meter.read()
            held = meter.held()
            assert len(informer) == seen.added == options.objects, (len(informer), seen.added)
            count = options.objects
            stored = sum(len(obj.json) for obj in informer) / count
            sent = sum(
                len(objects.widget(i, size=options.size, resource_version=1_000_000 + i)) for i in range(0, count, 100)
            )
    report(
        client="dynkube",
        mode=options.mode,
        objects=count,
        **measured,
        held_mb=held,
        bytes_per_object=held * MB / count,
        json_bytes=sent / len(range(0, count, 100)),
        stored_bytes=stored,
        import_cpu_s=_IMPORT_CPU,
        **({"reads": turns.reads, "turns": turns.turns} if options.count else {}),
    )


def main() -> None:
    """Parse the command line, start a server unless there is a URL, and run once."""
    parser = argparse.ArgumentParser(description="Measure the sync of one informer.")
    parser.add_argument("--mode", choices=("list", "pages", "stream"), default="list")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--keep-managed-fields", action="store_true")
    parser.add_argument("--url", help="a running byte server with the same number of objects")
    parser.add_argument("--kubeconfig", help="a cluster with the same number of objects")
    parser.add_argument("--compact", action="store_true", help="store objects compressed")
    parser.add_argument("--metadata-only", action="store_true", help="request only metadata")
    parser.add_argument("--count", action="store_true", help="count reads and iterations of the event loop")
    options = parser.parse_args()
    if options.url or options.kubeconfig:
        trio.run(sync, options.url, options)
        return
    with byte_server(objects=options.objects, size=options.size, metadata=options.metadata_only) as url:
        trio.run(sync, url, options)


if __name__ == "__main__":
    main()
