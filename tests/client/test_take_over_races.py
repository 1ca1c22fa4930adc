"""Taking ownership of paths during concurrent writes: read, dry run and write are of one state of the object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import dynkube
from dynkube import Change, fields_of
from dynkube.errors import ApplyConflict, Conflict, Forbidden
from dynkube_testing import APIServer, User
from tests.client.hooked_transport import HookedTransport


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


async def test_a_write_between_reading_and_taking_leads_to_another_read(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    def meanwhile(request: str) -> None:
        if request == "PATCH force" and "PATCH force" not in wire.requests[:-1]:
            server.apply(config(c="1"), field_manager="third")

    wire.before = meanwhile
    applied = await client.resource("configmaps").apply(config(a="2"), force=[".data.a"])

    assert wire.requests == ["GET", *["PATCH", "GET", "PATCH force dryRun", "PATCH force"] * 2]
    assert applied["data"] == {"a": "2", "b": "1", "c": "1"}


async def test_a_field_that_another_manager_takes_in_between_is_not_taken_back(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    def meanwhile(request: str) -> None:
        if request == "PATCH force":
            server.apply(config(c="theirs"), field_manager="third")

    wire.before = meanwhile
    with pytest.raises(ApplyConflict) as caught:
        await client.resource("configmaps").apply(config(a="2", c="mine"), force=[".data.a"])

    assert [(each.path, each.manager) for each in caught.value.conflicts] == [(".data.c", "third")]
    assert server.get("configmaps", "a")["data"] == {"a": "1", "b": "1", "c": "theirs"}


async def test_constant_writes_end_in_a_conflict(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    numbers = iter(range(100))

    def meanwhile(request: str) -> None:
        if request == "PATCH force":
            server.apply(config(c=str(next(numbers))), field_manager="third")

    wire.before = meanwhile
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.resource("configmaps").apply(config(a="2"), force=[".data.a"])

    assert wire.requests.count("PATCH force") == 5
    assert server.get("configmaps", "a")["data"]["a"] == "1"


async def test_an_object_deleted_in_between_is_created(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    def meanwhile(request: str) -> None:
        if wire.requests == ["GET", "PATCH", "GET"]:
            server.delete("configmaps", "a")

    wire.before = meanwhile
    applied = await client.resource("configmaps").apply(config(a="2"), force=[".data.a"])

    assert (applied["data"], applied.change) == ({"a": "2"}, Change.CREATED)


async def test_taking_by_path_needs_the_permission_to_read(server: APIServer) -> None:
    async with APIServer(rbac=True) as guarded:
        guarded.apply(config(a="1"), field_manager="first")
        guarded.grant("writer", verbs=["patch", "create"], resource="configmaps", namespace="default")
        async with dynkube.connect(transport=guarded.transport(User("writer"))) as client:
            with pytest.raises(Forbidden, match='cannot get resource "configmaps"'):
                await client.resource("configmaps").apply(config(a="2"), force=[".data.a"])

        assert guarded.get("configmaps", "a")["data"] == {"a": "1"}


async def test_a_conflict_with_a_later_write_has_its_owner(
    server: APIServer, wire: HookedTransport, client: dynkube.Client
) -> None:
    def meanwhile(request: str) -> None:
        if request == "PATCH":
            server.apply(config(c="theirs"), field_manager="third")

    wire.before = meanwhile
    with pytest.raises(ApplyConflict) as caught:
        await client.resource("configmaps").apply(config(c="mine"))

    (conflict,) = caught.value.conflicts
    assert (conflict.manager, conflict.ours, conflict.live) == ("third", "mine", "theirs")
    assert conflict.time is not None
    assert wire.requests == ["GET", "PATCH", "GET"]


async def test_a_manager_that_was_forced_out_owns_none_of_the_fields(client: dynkube.Client) -> None:
    applied = await client.resource("configmaps").apply(config(a="2", b="2"), force=True)

    assert not fields_of(applied, "first")
