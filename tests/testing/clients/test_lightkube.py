"""lightkube: typed and generic resources, patches, chunked lists and watches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynkube_testing import APIServer, Ending
from tests.testing.clients.conftest import ServerThread, config_map, in_thread, widget

lightkube = pytest.importorskip("lightkube")

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # The client leaves sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def new_client() -> Any:
    return lightkube.Client(config=lightkube.KubeConfig.from_env(), field_manager="lightkube")


def widgets() -> Any:
    from lightkube.generic_resource import create_namespaced_resource

    return create_namespaced_resource("example.com", "v1", "Widget", "widgets")


async def test_objects_are_created_listed_patched_and_deleted(server: APIServer, kubeconfig: Path) -> None:
    from lightkube.resources.core_v1 import ConfigMap

    def work() -> Any:
        client = new_client()
        client.create(ConfigMap.from_dict(config_map("a", colour="blue")))
        client.patch(ConfigMap, "a", {"data": {"size": "big"}})
        found = list(client.list(ConfigMap, namespace="*"))
        client.delete(ConfigMap, "a")
        return [(item.metadata.name, item.data) for item in found]

    assert await in_thread(work) == [("a", {"colour": "blue", "size": "big"})]
    assert server.list("configmaps", "default") == []


async def test_custom_resources_are_applied_with_conflicts_and_status(server: APIServer, kubeconfig: Path) -> None:
    from lightkube.types import PatchType

    def work() -> Any:
        client, kind = new_client(), widgets()
        client.apply(kind.from_dict(widget("a", size=1)))
        with pytest.raises(lightkube.ApiError) as caught:
            client.apply(kind.from_dict(widget("a", size=2)), field_manager="two")
        client.apply(kind.from_dict(widget("a", size=2)), field_manager="two", force=True)
        client.patch(kind.Status, "a", {"status": {"ready": True}}, patch_type=PatchType.MERGE)
        return caught.value.status

    status = await in_thread(work)

    assert (status.code, status.reason) == (409, "Conflict")
    assert [cause.field for cause in status.details.causes] == [".spec.size"]
    assert server.get("widgets", "a")["spec"] == {"size": 2}
    assert server.get("widgets", "a")["status"] == {"ready": True}


async def test_long_lists_are_read_in_chunks(server: APIServer, kubeconfig: Path) -> None:
    from lightkube.resources.core_v1 import ConfigMap

    for number in range(25):
        server.create(config_map(f"a{number:02}"))

    names = await in_thread(lambda: [item.metadata.name for item in new_client().list(ConfigMap, chunk_size=10)])

    assert names == [f"a{number:02}" for number in range(25)]
    assert [request.params["limit"] for request in server.requests if request.verb == "list"] == ["10"] * 3


@pytest.mark.parametrize("how", ["clean", "cut"])
async def test_an_ended_watch_is_resumed(
    server: APIServer, kubeconfig: Path, server_thread: ServerThread, how: Ending
) -> None:
    from lightkube.resources.core_v1 import ConfigMap
    from lightkube.types import OnErrorAction, OnErrorResult

    server.create(config_map("a"))

    def work() -> list[tuple[str, str]]:
        client, events = new_client(), []
        retry = OnErrorResult(OnErrorAction.RETRY)
        for kind, obj in client.watch(ConfigMap, namespace="default", on_error=lambda error, count: retry):
            events.append((kind, obj.metadata.name))
            if len(events) == 2:
                return events
            server_thread.call(lambda: server.end_watches(how=how))
            client.create(ConfigMap.from_dict(config_map("b")))
        return events

    assert await in_thread(work) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_from_a_compacted_version_raises_410(server: APIServer, kubeconfig: Path) -> None:
    from lightkube.resources.core_v1 import ConfigMap

    server.create(config_map("a"))
    server.compact()

    def work() -> Any:
        with pytest.raises(lightkube.ApiError) as caught:
            list(new_client().watch(ConfigMap, namespace="default", resource_version="1"))
        return caught.value.status

    status = await in_thread(work)

    assert (status.code, status.reason) == (410, "Expired")
