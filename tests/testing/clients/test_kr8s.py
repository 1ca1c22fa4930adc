"""kr8s: objects found by name, new classes for custom resources, watches, waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dynkube.testing import APIServer, Ending
from tests.testing.clients.conftest import ServerThread, config_map, in_thread, widget

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # Sockets and loops that the client leaves to the garbage collector are its own affair.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),  # it names the versions its authors have tried
]

kr8s = pytest.importorskip("kr8s.asyncio")
httpx = pytest.importorskip("httpx")  # what kr8s is made with


async def run(work: Callable[[Any], Awaitable[Any]], kubeconfig: Path) -> Any:
    """What ``work`` returns when it is given an API object, in a thread with an event loop of its own."""

    async def connected() -> Any:
        return await work(await kr8s.api(kubeconfig=str(kubeconfig)))

    return await in_thread(lambda: asyncio.run(connected()))


async def test_objects_are_created_found_patched_and_deleted(server: APIServer, kubeconfig: Path) -> None:
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
async def test_a_watch_is_taken_up_where_it_ended(
    server: APIServer, kubeconfig: Path, server_thread: ServerThread, how: Ending
) -> None:
    server.create(config_map("a"))

    async def work(api: Any) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []
        since = None
        while len(seen) < 2:  # its watch ends with the server's answer
            try:
                async for kind, obj in api.watch("configmaps", namespace="default", since=since):
                    seen.append((kind, obj.name))
                    since = obj.metadata.resourceVersion
                    if len(seen) < 2:
                        server_thread.call(lambda: server.end_watches(how=how))
                        server_thread.call(lambda: server.create(config_map("b")))
                    else:
                        break
            except httpx.RemoteProtocolError:
                assert how == "cut"
        return seen

    assert await run(work, kubeconfig) == [("ADDED", "a"), ("ADDED", "b")]
