"""CPU and memory of syncing one informer: from just before ``connect`` until ``wait_synced``, with one handler.

    python -m benchmarks.sync_informer [--mode list|pages|stream] [--objects 20000] [--size 4096]
                                       [--keep-managed-fields] [--url http://127.0.0.1:8001]

Prints JSON. ``cpu_s`` is user and system time of this process, without imports (``import_cpu_s``) and without the
byte server, which is another process. ``held_mb`` is growth of the resident memory once synced; ``bytes_per_object``
is that divided, ``json_bytes`` what the objects' JSON weighs as sent, ``stored_bytes`` as kept (without
managedFields, unless asked for). The informer has one index and one handler, like the client-go side.

What it does not say: anything about TLS, compression or a slow network; how long a real server takes.
"""

from __future__ import annotations

import argparse

from benchmarks import objects
from benchmarks.measure import MB, Meter, byte_server, cpu, report

_before_import = cpu()

import trio  # noqa: E402  # the import is measured

import dynkube  # noqa: E402  # as above
from dynkube import Client, InformerSettings, connect  # noqa: E402, F401  # names load on first use: all of it now

_IMPORT_CPU = cpu() - _before_import
WIDGETS = dynkube.GVR(objects.GROUP, objects.VERSION, objects.PLURAL)


def tier(obj: dynkube.Unstructured) -> list[str]:
    """The index: by a label, as on the client-go side."""
    value = obj.labels.get("tier")
    return [value] if value else []


class Seen:
    """The handler: touches what it is given, and counts."""

    def __init__(self) -> None:
        self.added = 0

    def add(self, obj: dynkube.Unstructured) -> None:
        """One object came."""
        if obj.name:
            self.added += 1


async def sync(url: str, options: argparse.Namespace) -> None:
    """One run."""
    seen = Seen()
    meter = Meter()
    settings = dynkube.InformerSettings(streaming_lists=options.mode == "stream")
    async with dynkube.connect(url=url + ("/pages" if options.mode == "pages" else ""), settings=settings) as client:
        transform = None if options.keep_managed_fields else dynkube.drop_managed_fields
        informer = client.informer(WIDGETS, transform=transform, indexes={"tier": tier})
        informer.add_handler(on_add=seen.add)
        async with informer:
            with trio.fail_after(60):
                await informer.wait_synced()
            spent = meter.read()
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
        **spent,
        held_mb=held,
        bytes_per_object=held * MB / count,
        json_bytes=sent / len(range(0, count, 100)),
        stored_bytes=stored,
        import_cpu_s=_IMPORT_CPU,
    )


def main() -> None:
    """Parse the command line, start a server unless given one, run once."""
    parser = argparse.ArgumentParser(description="Sync one informer and say what it cost.")
    parser.add_argument("--mode", choices=("list", "pages", "stream"), default="list")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--keep-managed-fields", action="store_true")
    parser.add_argument("--url", help="a byte server that runs already, with as many objects")
    options = parser.parse_args()
    if options.url:
        trio.run(sync, options.url, options)
        return
    with byte_server(objects=options.objects, size=options.size) as url:
        trio.run(sync, url, options)


if __name__ == "__main__":
    main()
