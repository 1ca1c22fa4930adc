"""CPU and memory of a list or a watch with another Python client, on the byte server.

    python -m benchmarks.python_clients CLIENT [--mode list|watch] [--objects 20000] [--events 20000] [--python PATH]

``CLIENT`` is lightkube, kr8s, kubernetes_asyncio or cloudcoil. Prints one line of JSON. Each client is used as its
documentation suggests for a custom resource: lightkube and kr8s return objects around dicts, kubernetes_asyncio dicts,
and cloudcoil models of pydantic. Only cloudcoil has informers, and they store 10,000 objects at most (0.6.0), so lists
and watches are compared. dynkube depends on none of them: install them anywhere, and pass that interpreter as
``--python``.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from benchmarks import objects
from benchmarks.measure import MB, ROOT, Meter, byte_server, cpu, report

_API_VERSION = f"{objects.GROUP}/{objects.VERSION}"
_FROM = "1"  # the resourceVersion from which watches begin
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: bench
clusters: [{{name: bench, cluster: {{server: "{url}"}}}}]
users: [{{name: bench, user: {{token: any}}}}]
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
"""


class Client(Protocol):
    """A list and a watch of one client. Untyped, as the packages may be missing."""

    async def list(self) -> list[Any]:
        """List all objects of all namespaces."""
        ...

    def watch(self) -> AsyncGenerator[str]:
        """Watch all namespaces; yields the name of the object of each event."""
        ...


class _Lightkube:
    """lightkube's generic resource; its client is synchronous."""

    def __init__(self, url: str, _: Path) -> None:
        lightkube, models = import_module("lightkube"), import_module("lightkube.config.models")
        generic = import_module("lightkube.generic_resource")
        # lightkube requires a user, even an empty one.
        config = lightkube.KubeConfig.from_one(cluster=models.Cluster(server=url), user=models.User())
        self._widget = generic.create_namespaced_resource(objects.GROUP, objects.VERSION, objects.KIND, objects.PLURAL)
        self._client = lightkube.Client(config=config)

    async def list(self) -> list[Any]:
        return list(self._client.list(self._widget, namespace="*"))

    async def watch(self) -> AsyncGenerator[str]:
        for _, obj in self._client.watch(self._widget, namespace="*", resource_version=_FROM):
            yield obj.metadata.name


class _Kr8s:
    """kr8s, its asyncio form, with a class of its own for the resource, so that it does not look for it."""

    def __init__(self, _: str, kubeconfig: Path) -> None:
        self._kr8s, kinds = import_module("kr8s.asyncio"), import_module("kr8s.asyncio.objects")
        self._all = import_module("kr8s").ALL
        self._kubeconfig = str(kubeconfig)
        self._widget = kinds.new_class(
            objects.KIND, version=_API_VERSION, asyncio=True, namespaced=True, plural=objects.PLURAL
        )

    async def list(self) -> list[Any]:
        api = await self._kr8s.api(kubeconfig=self._kubeconfig)
        return [each async for each in api.get(self._widget, namespace=self._all)]

    async def watch(self) -> AsyncGenerator[str]:
        api = await self._kr8s.api(kubeconfig=self._kubeconfig)
        async for _, obj in api.watch(self._widget, namespace=self._all, since=_FROM):
            yield obj.name


class _KubernetesAsyncio:
    """The custom objects API of kubernetes_asyncio."""

    def __init__(self, url: str, _: Path) -> None:
        self._client, self._watch = (
            import_module("kubernetes_asyncio.client"),
            import_module("kubernetes_asyncio.watch"),
        )
        self._url = url

    def _api(self) -> tuple[Any, Callable[..., Any]]:
        client = self._client.ApiClient(self._client.Configuration(host=self._url))
        return client, self._client.CustomObjectsApi(client).list_cluster_custom_object

    async def list(self) -> list[Any]:
        client, read = self._api()
        async with client:
            items: list[Any] = (await read(objects.GROUP, objects.VERSION, objects.PLURAL))["items"]
        return items

    async def watch(self) -> AsyncGenerator[str]:
        client, read = self._api()
        where = (objects.GROUP, objects.VERSION, objects.PLURAL)
        async with client, self._watch.Watch().stream(read, *where, resource_version=_FROM) as stream:
            async for event in stream:
                yield event["object"]["metadata"]["name"]


class _Cloudcoil:
    """cloudcoil, with a model whose spec and status are dicts."""

    def __init__(self, url: str, kubeconfig: Path) -> None:
        resources, pydantic = import_module("cloudcoil.resources"), import_module("pydantic")
        config = import_module("cloudcoil.client").Config(kubeconfig=kubeconfig, server=url)
        fields: dict[str, Any] = {
            "api_version": (Annotated[Literal[_API_VERSION], pydantic.Field(alias="apiVersion")], _API_VERSION),
            "kind": (Literal[objects.KIND], objects.KIND),
            "spec": (dict[str, Any], {}),
            "status": (dict[str, Any], {}),
        }
        widget = pydantic.create_model("Widget", __base__=resources.Resource, **fields)
        self._client = config.client_for(widget, sync=False)

    async def list(self) -> list[Any]:
        return [each async for each in await self._client.list(all_namespaces=True)]

    async def watch(self) -> AsyncGenerator[str]:
        async for _, obj in self._client.watch(all_namespaces=True, resource_version=_FROM):
            yield obj.metadata.name


CLIENTS: dict[str, Callable[[str, Path], Client]] = {
    "lightkube": _Lightkube,
    "kr8s": _Kr8s,
    "kubernetes_asyncio": _KubernetesAsyncio,
    "cloudcoil": _Cloudcoil,
}


async def measure_list(name: str, client: Client, expected: int) -> None:
    """List all objects, and print the result."""
    meter = Meter()
    items = await client.list()
    measured = meter.read()
    held = meter.held()
    assert len(items) == expected, len(items)
    each = held * MB / expected
    report(client=name, mode="list", objects=expected, **measured, held_mb=held, bytes_per_object=each)


async def measure_watch(name: str, client: Client, events: int) -> None:
    """Read all events of a watch, and print the result."""
    seen, began = 0, 0.0
    async with aclosing(client.watch()) as names:
        async for each in names:
            if not seen:
                began = cpu()
            seen += bool(each)
            if seen == events:
                break
    used = cpu() - began
    report(client=name, mode="watch", events=events, events_cpu_s=used, events_per_cpu_s=(events - 1) / used)


async def measure(options: argparse.Namespace) -> None:
    """Measure a client on a running server."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.format(url=options.url), encoding="utf-8")
        client = CLIENTS[options.client](options.url, kubeconfig)
        if options.mode == "list":
            await measure_list(options.client, client, options.objects)
        else:
            await measure_watch(options.client, client, options.events)


def main() -> None:
    """Parse the command line, start a server unless there is a URL, and run once, with the interpreter ``--python``."""
    parser = argparse.ArgumentParser(description="Measure a list or a watch with another Python client.")
    parser.add_argument("client", choices=sorted(CLIENTS))
    parser.add_argument("--mode", choices=("list", "watch"), default="list")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the client")
    parser.add_argument("--url", help="a running byte server with the same numbers of objects and events")
    options = parser.parse_args()
    if options.url is None:
        events = options.events if options.mode == "watch" else 0
        count = min(options.objects, 5_000) if options.mode == "watch" else options.objects
        with byte_server(objects=count, events=events) as url:
            again = ["--mode", options.mode, "--objects", str(count), "--events", str(events), "--url", url]
            command = [options.python, "-m", "benchmarks.python_clients", options.client, *again]
            sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
    if find_spec(options.client) is None:
        sys.exit(f"{options.client} is not installed for {sys.executable}: pip install it, or pass --python")
    asyncio.run(measure(options))


if __name__ == "__main__":
    main()
