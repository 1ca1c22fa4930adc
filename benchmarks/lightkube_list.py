"""The best Python peer, lightkube: a list into its objects, or its bare watch, on the byte server.

    python -m benchmarks.lightkube_list [--mode list|watch] [--objects 20000] [--events 20000] [--python PATH]

lightkube has no informer: its list ends with the objects in a Python list, its watch with each object in user code.
So dynkube does more here (store, index, handler) and is measured against less. Objects are its generic resources,
dicts. It is no dependency of dynkube's: ``pip install lightkube`` somewhere, and say where by ``--python``.
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
    """A lightkube client on ``url`` and its class for the objects; untyped, as lightkube may be missing."""
    lightkube, models = import_module("lightkube"), import_module("lightkube.config.models")
    generic = import_module("lightkube.generic_resource")
    # Without a user, even an empty one, it refuses to start.
    config = lightkube.KubeConfig.from_one(cluster=models.Cluster(server=url), user=models.User())
    widget = generic.create_namespaced_resource(objects.GROUP, objects.VERSION, objects.KIND, objects.PLURAL)
    return lightkube.Client(config=config), widget


def list_all(client: Any, widget: Any, expected: int) -> None:
    """Everything into a list."""
    meter = Meter()
    items = list(client.list(widget, namespace="*"))
    spent = meter.read()
    held = meter.held()
    assert len(items) == expected
    report(
        client="lightkube",
        mode="list",
        objects=expected,
        **spent,
        held_mb=held,
        bytes_per_object=held * MB / expected,
    )


def watch_all(client: Any, widget: Any, events: int) -> None:
    """Each event to user code."""
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
    """Parse the command line, start a server unless given one, run once; elsewhere if asked to."""
    parser = argparse.ArgumentParser(description="What lightkube needs for the same bytes.")
    parser.add_argument("--mode", choices=("list", "watch"), default="list")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has lightkube")
    parser.add_argument("--url", help="a byte server that runs already, with as many objects (and events)")
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
