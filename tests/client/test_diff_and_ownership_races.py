"""Differences and changes of ownership during concurrent writes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import dynkube
from dynkube import Change, fields_of
from dynkube.errors import Conflict, InvalidInput, InvalidObject
from dynkube_testing import APIServer
from tests.client.hooked_transport import HookedTransport
from tests.client.wire import ScriptedServer, connect, ok, pod


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.fixture
def wire(server: APIServer) -> HookedTransport:
    server.apply(config(a="1", b="1"), field_manager="first")
    return HookedTransport(server.transport())


@pytest.fixture
async def client(wire: HookedTransport) -> AsyncIterator[dynkube.Client]:
    async with dynkube.connect(transport=wire) as client:
        yield client


def writing(server: APIServer, wire: HookedTransport, request: str, times: int) -> Callable[[str], None]:
    """Write with another manager before each of the first ``times`` such requests."""

    def meanwhile(coming: str) -> None:
        if coming == request and wire.requests.count(request) <= times:
            server.apply(config(c=str(len(wire.requests))), field_manager="third")

    return meanwhile


async def test_a_diff_is_of_one_resource_version(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    wire.before = writing(server, wire, "PATCH force dryRun", 1)

    diff = await client.resource("configmaps").diff(config(a="2"))

    assert wire.requests == ["GET", "PATCH force dryRun"] * 2
    assert [str(each) for each in diff.changes] == ['.data.a: "1" -> "2"']


async def test_under_constant_writes_a_diff_includes_them(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    wire.before = writing(server, wire, "PATCH force dryRun", 100)

    diff = await client.resource("configmaps").diff(config(a="2"))

    assert wire.requests == ["GET", "PATCH force dryRun"] * 4
    assert [str(each.path) for each in diff.changes] == [".data.a", ".data.c"]


async def test_an_object_created_in_between_is_compared(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    server.delete("configmaps", "a")
    wire.before = writing(server, wire, "PATCH force dryRun", 1)

    diff = await client.resource("configmaps").diff(config(a="2"))

    assert diff.before is not None
    assert [str(each) for each in diff.changes] == ['.data.a:  -> "2"']


async def test_ownership_is_computed_again_after_a_concurrent_write(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    wire.before = writing(server, wire, "PATCH", 2)

    released = await client.resource("configmaps").release_fields("a", iter([".data.a"]), "first")

    assert wire.requests == ["GET", "PATCH"] * 3
    assert set(map(str, fields_of(released, "first"))) == {".data.b"}
    assert ".data.c" in fields_of(released, "third")


async def test_under_constant_writes_nothing_is_released(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    wire.before = writing(server, wire, "PATCH", 100)

    with pytest.raises(Conflict, match="the object has been modified"):
        await client.resource("configmaps").release_fields("a", ".data.a", "first")

    assert wire.requests == ["GET", "PATCH"] * 5
    assert ".data.a" in fields_of(server.get("configmaps", "a"), "first")


@pytest.mark.parametrize(
    ("obj", "paths", "manager", "error", "message"),
    [
        (None, ".data.a", "first", InvalidInput, "None is not an object: pass an object, or its name"),
        ("", ".data.a", "first", InvalidInput, "name"),
        ({"kind": "ConfigMap", "apiVersion": "v1"}, ".data.a", "first", InvalidObject, r"no metadata\.name"),
        ("a", ".data[", "first", InvalidInput, "invalid path"),
        ("a", [], "first", InvalidInput, "paths is empty"),
        ("a", ".data.a", "", InvalidInput, "^manager must be the name of a field manager, not ''"),
    ],
)
async def test_invalid_arguments_are_rejected(
    client: dynkube.Client, obj: Any, paths: Any, manager: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await client.resource("configmaps").release_fields(obj, paths, manager)


@pytest.mark.parametrize("to", ["", "x" * 129, "line\nbreak"])
async def test_an_invalid_new_manager_is_rejected(client: dynkube.Client, to: str) -> None:
    with pytest.raises(InvalidInput, match=r"^to (must be the name of a field manager|'.* must be printable)"):
        await client.resource("configmaps").transfer_fields("a", "first", to)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.release_fields("a", ".data["),
        lambda c: c.release_fields("a", ".data.a", operation="apply"),
        lambda c: c.release_fields("a", ".data.a", subresource=3),
        lambda c: c.transfer_fields("a", "", "team-b"),
        lambda c: c.transfer_fields("a", "first", "team-b", ".data["),
        lambda c: c.transfer_fields("a", "first", "team-b", subresource="a/b"),
        lambda c: c.upgrade_managed_fields("a", subresource=3),
    ],
)
async def test_invalid_arguments_are_rejected_before_any_request(call: Callable[[Any], Any]) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidInput):
        await call(connect(server).resource("configmaps"))

    assert server.requests == []


OWNED = {"manager": "first", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}


def owned_pod(version: int, fields: list[Any]) -> dict[str, Any]:
    found = pod("a", version)
    return {**found, "metadata": {**found["metadata"], "managedFields": fields}}


@pytest.mark.parametrize(("moved_to", "change"), [(1, Change.UNCHANGED), (2, Change.CHANGED)])
async def test_a_release_is_a_change_only_if_the_resource_version_changed(moved_to: int, change: Change) -> None:
    entry = {**OWNED, "fieldsV1": {"f:spec": {"f:nodeName": {}}}}
    live = ok(owned_pod(1, [entry]))
    server = ScriptedServer(live, ok(owned_pod(moved_to, [entry])))

    released = await connect(server).resource("pods").release_fields("a", ".spec.nodeName", "first")

    assert released.change is change
    assert json.loads(server.requests[1].content) == [
        {"op": "replace", "path": "/metadata/managedFields", "value": [{}]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
    ]
