"""CPU and memory of a list or a watch with lightkube, another Python client, on the byte server.

    python -m benchmarks.lightkube_list [--mode list|watch] [--objects 20000] [--events 20000] [--python PATH]

Prints one line of JSON. lightkube has no informer: a list returns a Python list, and a watch yields each object.
dynkube's informers do more (cache, index, handler) and are compared with less. The objects are lightkube's generic
resources, which are dicts. dynkube does not depend on lightkube: install it anywhere, and pass that interpreter as
``--python``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks import objects
from benchmarks.measure import MB, ROOT, Meter, byte_server, cpu, report


def client_and_resource(url: str) -> tuple[Any, Any]:
    """Return a lightkube client for ``url`` and its class of the objects; untyped, as lightkube may be missing."""
    lightkube, models = import_module("lightkube"), import_module("lightkube.config.models")
    generic = import_module("lightkube.generic_resource")
    # lightkube requires a user, even an empty one.
    config = lightkube.KubeConfig.from_one(cluster=models.Cluster(server=url), user=models.User())
    widget = generic.create_namespaced_resource(objects.GROUP, objects.VERSION, objects.KIND, objects.PLURAL)
    return lightkube.Client(config=config), widget


def list_all(client: Any, widget: Any, expected: int) -> None:
    """List all objects, and print the result."""
    meter = Meter()
    items = list(client.list(widget, namespace="*"))
    measured = meter.read()
    held = meter.held()
    assert len(items) == expected
    report(
        client="lightkube",
        mode="list",
        objects=expected,
        **measured,
        held_mb=held,
        bytes_per_object=held * MB / expected,
    )


def watch_all(client: Any, widget: Any, events: int) -> None:
    """Read all events of a watch, and print the result."""
    stream = client.watch(widget, namespace="*", resource_version="1")
    seen, began = 0, 0.0
    for _, obj in stream:
        if not seen:
            began = cpu()
        seen += bool(obj.metadata.name)
        if seen == events:
            break
    used = cpu() - began
    report(client="lightkube", mode="watch", events=events, events_cpu_s=used, events_per_cpu_s=(events - 1) / used)


def main() -> None:
    """Parse the command line, start a server unless there is a URL, and run once, with the interpreter ``--python``."""
    parser = argparse.ArgumentParser(description="Measure a list or a watch with lightkube.")
    parser.add_argument("--mode", choices=("list", "watch"), default="list")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with lightkube")
    parser.add_argument("--url", help="a running byte server with the same numbers of objects and events")
    options = parser.parse_args()
    if options.url is None:
        events = options.events if options.mode == "watch" else 0
        count = min(options.objects, 5_000) if options.mode == "watch" else options.objects
        with byte_server(objects=count, events=events) as url:
            again = ["--mode", options.mode, "--objects", str(count), "--events", str(events), "--url", url]
            command = [options.python, "-m", "benchmarks.lightkube_list", *again]
            sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
    if find_spec("lightkube") is None:
        sys.exit(f"lightkube is not installed for {sys.executable}: pip install lightkube, or pass --python")
    client, widget = client_and_resource(options.url)
    if options.mode == "list":
        list_all(client, widget, options.objects)
    else:
        watch_all(client, widget, options.events)


if __name__ == "__main__":
    main()
