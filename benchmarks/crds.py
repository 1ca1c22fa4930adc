"""What many CRDs cost in the embedded API server, and how long it takes to start.

    python -m benchmarks.crds [--count 300] [--folder FOLDER]

``dynkube serve`` runs in its own process. Prints one line of JSON each for: the wall time from its start until it
accepts connections (the shortest of five); creating ``--count`` CRDs one after the other over HTTP, each with a group
of its own (wall time, the server's CPU time, and the growth of its memory); and reading OpenAPI after that, once. The
CRDs are those of ``--folder`` in turn, or else generated ones of 75 KB.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

import httpx2

from benchmarks.api_server import serving
from benchmarks.measure import report
from dynkube.meta import yaml

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def generated() -> dict[str, Any]:
    """Return a CRD of 75 KB, with nested objects, enumerations, patterns and descriptions."""

    def level(depth: int) -> dict[str, Any]:
        text = {"type": "string", "description": "A name, and what it means. " * 4, "pattern": "^[a-z0-9-]+$"}
        number = {"type": "integer", "minimum": 0, "maximum": 100, "description": "A number. " * 8}
        fields: dict[str, Any] = {f"{kind}{i}": each for i in range(4) for kind, each in (("t", text), ("n", number))}
        if depth:
            fields |= {f"o{i}": level(depth - 1) for i in range(3)}
            fields["list"] = {"type": "array", "items": level(0), "maxItems": 16}
        return {"type": "object", "properties": fields, "required": ["t0"]}

    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"type": "object", "properties": {"spec": level(3), "status": {"type": "object"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"names": names, "scope": "Namespaced", "versions": [{**version, "subresources": {"status": {}}}]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {}, "spec": spec}


def from_folder(folder: Path) -> list[dict[str, Any]]:
    """Return the CRDs in the YAML files of a folder and its folders."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.yaml")))
    found: list[Any] = [document.data for text in texts for document in yaml.load_all(text)]
    return [each for each in found if each["kind"] == "CustomResourceDefinition"]


def numbered(crd: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the CRD with a group of its own."""
    group = f"g{number}.example.com"
    name = f"{crd['spec']['names']['plural']}.{group}"
    return {**crd, "metadata": {"name": name}, "spec": {**crd["spec"], "group": group}, "status": {}}


def measure(crds: list[dict[str, Any]], count: int) -> None:
    """Measure a server, and print the results."""
    with serving() as server, httpx2.Client(base_url=server.url, timeout=600) as client:
        client.get("/version").raise_for_status()
        memory, cpu, began = server.memory(), server.cpu(), time.perf_counter()
        for number in range(count):
            client.post(CRDS, json=numbered(crds[number % len(crds)], number)).raise_for_status()
        wall = time.perf_counter() - began
        report(what="create", crds=count, wall_s=wall, cpu_s=server.cpu() - cpu, mb=server.memory() - memory)
        for path in ("/openapi/v2", "/openapi/v3"):
            began = time.perf_counter()
            size = len(client.get(path).raise_for_status().content)
            report(what=path, bytes=size, wall_s=time.perf_counter() - began)


def main() -> None:
    """Parse the command line and run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure CRDs in the embedded API server, and its start.")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="a folder with CRDs in YAML")
    options = parser.parse_args()
    starts = []
    for _ in range(5):
        began = time.perf_counter()
        with serving():
            starts.append(time.perf_counter() - began)
    report(what="start", wall_s=min(starts))
    measure(from_folder(options.folder) if options.folder else [generated()], options.count)


if __name__ == "__main__":
    main()
