"""Reading: the requests, and their namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube.client import ResourceClient
from dynkube.errors import InvalidInput, InvalidSelector, NotFound, ProtocolError, WrongScope
from tests.client.wire import ScriptedServer, connect, error_response, ok, pod, pods, stream

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


async def test_one_object_is_read_from_the_contexts_namespace() -> None:
    server = ScriptedServer(ok(pod("a", 3)))

    found = await connect(server, namespace="shop").resource("pods").get("a")

    assert (found.name, found.resource_version) == ("a", "3")
    assert server.request_lines == ["GET /api/v1/namespaces/shop/pods/a"]


async def test_a_given_namespace_takes_precedence() -> None:
    server = ScriptedServer(ok(pod("a", namespace="other")))

    await connect(server).resource("pods").get("a", namespace="other", resource_version="0")

    assert server.request_lines == ["GET /api/v1/namespaces/other/pods/a rv=0"]


async def test_a_collection_is_read_in_all_namespaces_unless_one_is_given() -> None:
    server = ScriptedServer(pods(1), pods(1))
    resource = connect(server).resource("pods")

    await resource.list()
    await resource.list(namespace="shop", label_selector={"app": "web"}, field_selector="status.phase=Running")

    assert server.request_lines == ["GET /api/v1/pods limit=500", "GET /api/v1/namespaces/shop/pods limit=500"]
    assert server.requests[1].url.params["labelSelector"] == "app=web"
    assert server.requests[1].url.params["fieldSelector"] == "status.phase=Running"


async def test_cluster_scoped_objects_have_no_namespace() -> None:
    server = ScriptedServer(ok(NAMESPACE))

    await connect(server, namespace="shop").resource("namespaces").get("shop")

    assert server.request_lines == ["GET /api/v1/namespaces/shop"]


Call = Callable[[ResourceClient], Any]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda r: r.get("a", namespace="shop"), id="get"),
        pytest.param(lambda r: r.list(namespace="shop"), id="list"),
        pytest.param(lambda r: anext(r.iterate(namespace="shop")), id="iterate"),
        pytest.param(lambda r: r.delete("a", namespace="shop"), id="delete"),
        pytest.param(lambda r: r.delete_collection(namespace="shop"), id="delete_collection"),
        pytest.param(lambda r: r.patch("a", {}, namespace="shop"), id="patch"),
        pytest.param(lambda r: r.wait_for("a", "create", namespace="shop"), id="wait_for"),
        pytest.param(lambda r: r.subresource("status").get("a", namespace="shop"), id="subresource"),
        pytest.param(lambda r: r.create({**NAMESPACE, "metadata": {"name": "a", "namespace": "b"}}), id="create"),
    ],
)
async def test_a_namespace_for_a_cluster_scoped_resource_is_an_error_without_a_request(call: Call) -> None:
    server = ScriptedServer()

    with pytest.raises(WrongScope, match=r"namespaces\.v1 are cluster-scoped"):
        await call(connect(server).resource("namespaces"))

    assert server.requests == []


async def test_a_namespaced_object_needs_a_namespace() -> None:
    with pytest.raises(WrongScope, match="pass namespace="):
        await connect(ScriptedServer(), namespace="").resource("pods").get("a")


@pytest.mark.parametrize("namespace", ["", "*"])
async def test_other_clients_values_for_all_namespaces_are_rejected(namespace: str) -> None:
    with pytest.raises(InvalidInput, match=r"leave it out \(None\) for all namespaces"):
        await connect(ScriptedServer()).resource("pods").list(namespace=namespace)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.get(""), "name is empty"),
        (lambda r: r.get("a/b"), "name 'a/b'"),
        (lambda r: r.get("a", timeout=0), "timeout must be a positive number"),
        (lambda r: r.list(limit=0), "limit must be at least 1"),
        (lambda r: r.list(page_size=-1), "page_size must be at least 1"),
        (lambda r: r.list(resource_version_match="Exact"), "requires a resource_version: pass both"),
        (lambda r: r.list(resource_version="0", resource_version_match="Exact"), "'0' means any"),
        (lambda r: r.list(resource_version="5", resource_version_match="Newer"), "one of 'NotOlderThan', 'Exact'"),
        (lambda r: r.list(resource_version="5", continue_token="x"), "mutually exclusive"),
    ],
)
async def test_invalid_arguments_are_rejected_before_any_request(call: Call, message: str) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidInput, match=message):
        await call(connect(server).resource("pods"))

    assert server.requests == []


def test_an_invalid_selector_is_rejected_by_the_call_itself() -> None:
    resource = connect(ScriptedServer()).resource("pods")

    with pytest.raises(InvalidSelector):
        resource.watch(label_selector="a in (")
    with pytest.raises(InvalidSelector):
        resource.iterate(field_selector="nonsense")


async def test_a_404_without_an_object_name_makes_the_mapper_read_discovery_again() -> None:
    missing_object = error_response(404, "NotFound", details={"name": "a", "kind": "pods"})
    server = ScriptedServer(missing_object, error_response(404, "NotFound"), ok(pod("a")))
    resource = connect(server).resource("pods")

    with pytest.raises(NotFound):
        await resource.get("a")
    assert server.discoveries == 4

    assert (await resource.get("a")).name == "a"  # by its second request
    assert server.discoveries > 4


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda r: r.list(), id="list"),
        pytest.param(lambda r: anext(r.iterate()), id="iterate"),
        pytest.param(lambda r: r.watch().__aenter__(), id="watch"),
    ],
)
async def test_a_404_for_a_collection_makes_the_mapper_read_discovery_again(use: Call) -> None:
    server = ScriptedServer(*[error_response(404, "NotFound") for _ in range(2)])
    resource = connect(server).resource("pods")
    await resource.resolve()
    before = server.discoveries

    with pytest.raises(NotFound):
        await use(resource)

    assert server.discoveries > before


async def test_the_error_for_a_response_that_is_not_an_object_names_client_raw() -> None:
    server = ScriptedServer(stream(b"plain log lines"))

    with pytest.raises(ProtocolError, match=r"client\.raw\(\)"):
        await connect(server).resource("pods").subresource("log").get("a")
