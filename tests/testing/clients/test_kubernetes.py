"""The official Python client: typed objects, custom objects, the dynamic client, watches and its informer."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from dynkube_testing import APIServer
from tests.testing.clients.conftest import ServerThread, config_map, in_thread, widget

kubernetes = pytest.importorskip("kubernetes")

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # The client leaves sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

GVP = ("example.com", "v1", "default", "widgets")


def api_client(kubeconfig: Path) -> Any:
    return kubernetes.config.new_client_from_config(str(kubeconfig))


async def test_typed_objects_are_created_patched_listed_and_deleted(server: APIServer, kubeconfig: Path) -> None:
    def work() -> Any:
        core = kubernetes.client.CoreV1Api(api_client(kubeconfig))
        body = kubernetes.client.V1ConfigMap(metadata={"name": "a", "labels": {"x": "y"}}, data={"k": "v"})
        core.create_namespaced_config_map("default", body)
        core.patch_namespaced_config_map("a", "default", {"data": {"k": "w"}})
        found = core.list_config_map_for_all_namespaces(label_selector="x=y")
        core.delete_namespaced_config_map("a", "default")
        return found.items

    (found,) = await in_thread(work)

    assert found.data == {"k": "w"}
    assert server.list("configmaps", "default") == []


async def test_an_error_response_is_raised_with_its_status(kubeconfig: Path) -> None:
    def work() -> Any:
        core = kubernetes.client.CoreV1Api(api_client(kubeconfig))
        with pytest.raises(kubernetes.client.ApiException) as caught:
            core.read_namespaced_config_map("nothing", "default")
        return caught.value

    error = await in_thread(work)

    assert error.status == 404
    assert '"reason":"NotFound"' in error.body


async def test_custom_objects_are_created_replaced_patched_and_scaled(server: APIServer, kubeconfig: Path) -> None:
    def work() -> Any:
        api = kubernetes.client.CustomObjectsApi(api_client(kubeconfig))
        created = api.create_namespaced_custom_object(*GVP, widget("a", size=1))
        created["spec"]["size"] = 2
        api.replace_namespaced_custom_object(*GVP, "a", created)
        api.patch_namespaced_custom_object(*GVP, "a", {"spec": {"colour": "red"}})
        api.patch_namespaced_custom_object_status(*GVP, "a", {"status": {"ready": True}})
        api.patch_namespaced_custom_object_scale(*GVP, "a", {"spec": {"replicas": 5}})
        return api.list_cluster_custom_object("example.com", "v1", "widgets")

    (found,) = (await in_thread(work))["items"]

    assert found["spec"] == {"size": 5, "colour": "red"}
    assert found["status"] == {"ready": True}
    assert found == server.get("widgets", "a")


async def test_the_dynamic_client_discovers_and_applies(server: APIServer, kubeconfig: Path, tmp_path: Path) -> None:
    def work() -> Any:
        client = kubernetes.dynamic.DynamicClient(api_client(kubeconfig), cache_file=str(tmp_path / "cache"))
        widgets = client.resources.get(api_version="example.com/v1", kind="Widget")
        widgets.server_side_apply(widget("a", size=1), namespace="default", field_manager="one")
        with pytest.raises(kubernetes.dynamic.exceptions.ConflictError) as caught:
            widgets.server_side_apply(widget("a", size=2), namespace="default", field_manager="two")
        client.resources.get(api_version="v1", kind="ConfigMap").create(body=config_map("b"), namespace="default")
        return caught.value, [item.metadata.name for item in widgets.get().items]

    conflict, names = await in_thread(work)

    assert 'conflict with \\"one\\"' in conflict.body
    assert names == ["a"]
    assert [entry["manager"] for entry in server.get("widgets", "a")["metadata"]["managedFields"]] == ["one"]


async def test_a_watch_that_the_server_ended_is_resumed(
    server: APIServer, kubeconfig: Path, server_thread: ServerThread
) -> None:
    server.create(config_map("a"))

    def work() -> list[tuple[str, str]]:
        events = []
        core = kubernetes.client.CoreV1Api(api_client(kubeconfig))
        watch = kubernetes.watch.Watch()
        for event in watch.stream(core.list_namespaced_config_map, "default"):
            events.append((event["type"], event["object"].metadata.name))
            if len(events) == 2:
                watch.stop()
            server_thread.call(server.end_watches)
            core.create_namespaced_config_map("default", config_map(f"b{len(events)}"))
        return events

    assert await in_thread(work) == [("ADDED", "a"), ("ADDED", "b1")]


async def test_a_watch_from_a_compacted_version_raises_410(server: APIServer, kubeconfig: Path) -> None:
    server.create(config_map("a"))
    server.compact()

    def work() -> Any:
        core = kubernetes.client.CoreV1Api(api_client(kubeconfig))
        with pytest.raises(kubernetes.client.ApiException) as caught:
            list(kubernetes.watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version="1"))
        return caught.value

    error = await in_thread(work)

    assert error.status == 410
    assert "too old resource version: 1" in error.reason


async def test_its_informer_lists_again_after_a_compaction(
    server: APIServer, kubeconfig: Path, server_thread: ServerThread
) -> None:
    informers = pytest.importorskip("kubernetes.informer")
    handled: list[tuple[str, str]] = []
    events = {name: threading.Event() for name in ("added a", "added b", "deleted a")}

    def note(kind: str, name: str) -> None:
        handled.append((kind, name))
        if event := events.get(f"{kind} {name}"):
            event.set()

    def forget() -> None:
        server.end_watches()
        server.create(config_map("b"))
        server.compact()

    def work() -> None:
        core = kubernetes.client.CoreV1Api(api_client(kubeconfig))
        # Its watches last as long as its resync period, and stop() waits for the current watch.
        informer = informers.SharedInformer(core.list_namespaced_config_map, namespace="default", resync_period=1)
        informer.add_event_handler(informers.ADDED, lambda obj: note("added", obj.metadata.name))
        informer.add_event_handler(informers.DELETED, lambda obj: note("deleted", obj.metadata.name))
        informer.start()
        core.create_namespaced_config_map("default", config_map("a"))
        assert events["added a"].wait(20)
        server_thread.call(forget)
        assert events["added b"].wait(20)
        core.delete_namespaced_config_map("a", "default")
        assert events["deleted a"].wait(20)
        informer.stop()

    await in_thread(work)

    assert handled == [("added", "a"), ("added", "b"), ("deleted", "a")]
