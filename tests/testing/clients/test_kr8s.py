"""kr8s: objects looked up by name, classes for custom resources, and watches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dynkube_testing import APIServer, Ending
from tests.testing.clients.conftest import ServerThread, config_map, in_thread, widget

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # The client leaves sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings(
        "ignore:Kubernetes version:UserWarning"
    ),  # kr8s warns of server versions it was not tested with
]

kr8s = pytest.importorskip("kr8s.asyncio")
httpx = pytest.importorskip("httpx")  # the HTTP library of kr8s


async def run(work: Callable[[Any], Awaitable[Any]], kubeconfig: Path) -> Any:
    """Call ``work`` with a kr8s API object, in a thread with its own event loop, and return its result."""

    async def connected() -> Any:
        return await work(await kr8s.api(kubeconfig=str(kubeconfig)))

    return await in_thread(lambda: asyncio.run(connected()))


async def test_objects_are_created_listed_patched_and_deleted(server: APIServer, kubeconfig: Path) -> None:
    async def work(api: Any) -> Any:
        from kr8s.asyncio.objects import ConfigMap

        settings = await ConfigMap(config_map("a", colour="blue"), api=api)
        await settings.create()
        await settings.patch({"data": {"size": "big"}})
        await settings.label({"tier": "front"})
        found = [item async for item in api.get("configmaps", namespace=kr8s_all(), label_selector={"tier": "front"})]
        await settings.delete()
        return [dict(item.data) for item in found]

    assert await run(work, kubeconfig) == [{"colour": "blue", "size": "big"}]
    assert server.list("configmaps", "default") == []


def kr8s_all() -> Any:
    import kr8s as top

    return top.ALL


async def test_custom_resources_are_scaled_and_have_a_status(server: APIServer, kubeconfig: Path) -> None:
    async def work(api: Any) -> Any:
        from kr8s.asyncio.objects import new_class

        kind = new_class("Widget.example.com/v1", namespaced=True, asyncio=True, scalable=True, scalable_spec="size")
        obj = await kind(widget("a", size=1), api=api)
        await obj.create()
        await obj.patch({"status": {"ready": True}}, subresource="status")
        await obj.refresh()
        return dict(obj.raw)

    found = await run(work, kubeconfig)

    assert found["status"] == {"ready": True}
    assert server.get("widgets", "a")["spec"] == {"size": 1}


@pytest.mark.parametrize("how", ["clean", "cut"])
async def test_an_ended_watch_is_resumed_from_the_last_version(
    server: APIServer, kubeconfig: Path, server_thread: ServerThread, how: Ending
) -> None:
    server.create(config_map("a"))

    async def work(api: Any) -> list[tuple[str, str]]:
        events: list[tuple[str, str]] = []
        since = None
        while len(events) < 2:  # kr8s ends its watch when the response ends
            try:
                async for kind, obj in api.watch("configmaps", namespace="default", since=since):
                    events.append((kind, obj.name))
                    since = obj.metadata.resourceVersion
                    if len(events) < 2:
                        server_thread.call(lambda: server.end_watches(how=how))
                        server_thread.call(lambda: server.create(config_map("b")))
                    else:
                        break
            except httpx.RemoteProtocolError:
                assert how == "cut"
        return events

    assert await run(work, kubeconfig) == [("ADDED", "a"), ("ADDED", "b")]
