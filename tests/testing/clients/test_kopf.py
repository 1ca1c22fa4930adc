"""An operator written with kopf, on the embedded server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest
import trio

from dynkube_testing import APIServer
from tests.testing.clients.conftest import config_map, in_thread, widget

kopf = pytest.importorskip("kopf")

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # The client leaves sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


Condition: TypeAlias = Callable[[str, dict[str, Any]], bool]


def operator() -> tuple[Any, list[str]]:
    """Return an operator for widgets, and the list of its handlers' calls."""
    registry: Any = kopf.OperatorRegistry()
    calls: list[str] = []
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)

    @kopf.on.startup(registry=registry)
    def settle(settings: Any, **_: Any) -> None:
        settings.posting.enabled = False

    @kopf.on.create("example.com", "v1", "widgets", id="created", registry=registry)
    def created(spec: Any, name: str, **_: Any) -> dict[str, Any]:
        calls.append(f"created {name}")
        return {"area": spec["size"] ** 2}

    @kopf.on.update("example.com", "v1", "widgets", id="resized", registry=registry)
    def resized(old: Any, new: Any, name: str, **_: Any) -> dict[str, Any]:
        calls.append(f"resized {name} {old['spec']['size']}->{new['spec']['size']}")
        return {"area": new["spec"]["size"] ** 2}

    @kopf.on.delete("example.com", "v1", "widgets", id="deleted", registry=registry)
    def deleted(name: str, **_: Any) -> None:
        calls.append(f"deleted {name}")

    return registry, calls


@asynccontextmanager
async def wait_event(server: APIServer, condition: Condition) -> AsyncIterator[None]:
    """Watch widgets; leave the block after an event for which ``condition`` is true."""
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url, timeout=None) as client:
        watch = "/apis/example.com/v1/widgets?watch=1&resourceVersion=0"
        async with client.stream("GET", watch) as response:
            yield
            async for line in response.aiter_lines():
                event = json.loads(line)
                if condition(event["type"], event["object"]):
                    return


def status(field: str, value: object) -> Condition:
    return lambda _, obj: obj.get("status", {}).get(field) == value


async def test_an_operator_handles_creates_updates_and_deletes(server: APIServer, kubeconfig: Path) -> None:
    stop = threading.Event()
    registry, calls = operator()

    def run() -> None:
        asyncio.run(kopf.operator(registry=registry, namespaces=["default"], standalone=True, stop_flag=stop))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(in_thread, run)
        async with wait_event(server, status("created", {"area": 9})):
            server.create(widget("a", size=3))
        server.create(config_map("later"))
        server.compact()  # so that the cut watch cannot be resumed
        server.end_watches(how="cut")
        async with wait_event(server, status("resized", {"area": 16})):
            server.update({**server.get("widgets", "a"), "spec": {"size": 4}})
        finalizers = server.get("widgets", "a")["metadata"]["finalizers"]
        async with wait_event(server, lambda kind, obj: kind == "DELETED"):
            server.delete("widgets", "a")
        stop.set()

    assert finalizers == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert calls == ["created a", "resized a 3->4", "deleted a"]
