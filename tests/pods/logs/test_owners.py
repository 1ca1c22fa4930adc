"""Logs of an owner's pods, while the owners between cannot be read, are created again, or adopted later."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import AlreadyExists, APIError, DynkubeError
from dynkube_testing import APIServer, Refuse, User
from tests.informers.kit import crd, widget
from tests.pods.logs.kubelet import Clock
from tests.pods.logs.test_many import TEMPLATE, Reading, config_map, owned, start
from tests.suite.transient import TRANSIENT

OWNER = "widgets.example.com/web"
UNAUTHENTICATED = {"401 Status": Refuse(401)}
SPEC = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def widget_owner(server: APIServer) -> dict[str, Any]:
    """Create an object of a kind that does not select its pods, so that they are found by their owners."""
    with suppress(AlreadyExists):
        server.create(crd())
    return server.create(widget("web"))


def replica_set(server: APIServer, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    references = [] if owner is None else owned("Widget", "example.com/v1", owner)
    metadata = {"name": "web-x", "labels": {"app": "web"}, "ownerReferences": references}
    return server.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": SPEC})


@asynccontextmanager
async def following(client: dynkube.Client, selector: str = OWNER) -> AsyncIterator[Reading]:
    async with client.logs(selector) as stream, trio.open_nursery() as nursery:
        yield Reading(stream, nursery)
        nursery.cancel_scope.cancel()


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """A server that keeps pods whose owners are gone."""
    async with APIServer(now=Clock(), garbage_collection=False) as server:
        yield server


@pytest.mark.parametrize("answer", TRANSIENT | UNAUTHENTICATED)
async def test_an_owner_that_cannot_be_read_for_a_moment_hides_no_pod_that_is_followed(
    client: dynkube.Client, server: APIServer, answer: str
) -> None:
    replicas = replica_set(server, widget_owner(server))
    start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replicas)).write("one")
    server.inject((TRANSIENT | UNAUTHENTICATED)[answer], verb="get", resource="replicasets", duration=60)

    async with following(client) as reading:
        await trio.sleep(30)
        pending = [(each.pod, each.state) for each in reading._stream.containers]
        await trio.sleep(90)

    assert pending == [("web-1", "waiting")]
    assert reading.lines == {"web-1/app": ["one"]}


@pytest.mark.parametrize("times", [1, None])
@pytest.mark.parametrize("answer", TRANSIENT | UNAUTHENTICATED)
async def test_an_owner_that_cannot_be_read_is_no_silent_end(
    client: dynkube.Client, server: APIServer, answer: str, times: int | None
) -> None:
    replicas = replica_set(server, widget_owner(server))
    start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replicas)).write("one")
    server.inject((TRANSIENT | UNAUTHENTICATED)[answer], verb="get", resource="replicasets", times=times)
    lines, error = [], None
    async with client.logs(OWNER, follow=False) as stream:
        try:
            lines = [str(line) async for line in stream]
        except DynkubeError as exc:
            error = exc

    reported = [(each.state, "its owner ReplicaSet" in each.reason) for each in stream.containers]
    if times == 1:
        assert (lines, error) == (["one"], None)
    else:
        assert error is not None or answer == "403 Status"
        assert reported == [("failed", True)]


@pytest.mark.parametrize("follow", [True, False])
async def test_a_kind_that_cannot_be_read_hides_no_pods_of_other_owners(
    client: dynkube.Client, server: APIServer, follow: bool
) -> None:
    server.create(crd())
    owner = server.create(widget("a"))
    start(server, "a-1", ownerReferences=owned("ConfigMap", "v1", server.create(config_map("broken"))))
    start(server, "b-1", ownerReferences=owned("Widget", "example.com/v1", owner)).write("one")
    server.inject(Refuse(500), verb="get", resource="configmaps")

    async with client.logs("widgets.example.com/a", follow=follow) as stream:
        assert str(await anext(stream)) == "one"
        if not follow:
            with pytest.raises(APIError):
                await anext(stream)


async def test_a_replica_set_that_is_adopted_later_brings_its_pods(client: dynkube.Client, server: APIServer) -> None:
    replicas, owner = replica_set(server), widget_owner(server)
    start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replicas)).write("one")
    references = {"metadata": {"ownerReferences": owned("Widget", "example.com/v1", owner)}}

    async with following(client) as reading:
        await trio.sleep(5)
        await client["replicasets"].patch("web-x", references)
        await trio.sleep(40)

    assert reading.lines == {"web-1/app": ["one"]}


async def test_a_pod_that_is_adopted_later_is_read(client: dynkube.Client, server: APIServer) -> None:
    replicas = replica_set(server, widget_owner(server))
    start(server, "web-1").write("one")

    async with following(client) as reading:
        await trio.sleep(5)
        references = {"metadata": {"ownerReferences": owned("ReplicaSet", "apps/v1", replicas)}}
        await client["pods"].patch("web-1", references)
        await trio.sleep(5)

    assert reading.lines == {"web-1/app": ["one"]}


async def test_an_owner_that_is_created_again_is_followed(client: dynkube.Client, server: APIServer) -> None:
    first = widget_owner(server)

    async with following(client) as reading:
        server.delete("widgets", "web")
        again = widget_owner(server)
        replicas = replica_set(server, again)
        start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replicas)).write("one")
        await trio.sleep(5)

    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert reading.lines == {"web-1/app": ["one"]}


async def test_pods_of_other_owners_cost_two_requests_a_minute_for_each_owner(
    client: dynkube.Client, server: APIServer
) -> None:
    widget_owner(server)
    other = replica_set(server)
    for number in range(20):
        start(server, f"web-{number}", ownerReferences=owned("ReplicaSet", "apps/v1", other))

    async with following(client) as reading:
        await trio.sleep(1)
        before = len(server.requests)
        await trio.sleep(600)
        requests = [each for each in server.requests[before:] if each.verb == "get"]

    assert reading.lines == {}
    assert 18 <= len(requests) <= 20


async def test_an_owner_that_is_gone_has_no_owners(client: dynkube.Client, server: APIServer) -> None:
    widget_owner(server)
    gone = {"metadata": {"name": "gone", "uid": "00000000-0000-0000-0000-000000000001"}}
    start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", gone))

    async with client.logs(OWNER, follow=False) as stream:
        assert [str(line) async for line in stream] == []
        assert stream.containers == ()


async def test_an_owner_that_the_user_may_not_read_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with APIServer(rbac=True, now=Clock()) as server:
        replicas = replica_set(server, widget_owner(server))
        start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replicas)).write("one")
        for resource in ("pods", "pods/log", "widgets.example.com"):
            server.grant("alice", verbs=["get", "list"], resource=resource, namespace="default")
        async with dynkube.connect(url=server.url, transport=server.transport(User("alice"))) as client:
            with caplog.at_level(logging.WARNING, "dynkube.pods"):
                async with client.logs(OWNER, follow=False) as stream:
                    assert [str(line) async for line in stream] == []

    assert [each.state for each in stream.containers] == ["failed"]
    assert "ReplicaSet 'web-x', an owner of pods, cannot be read" in caplog.text


@pytest.mark.parametrize("answer", TRANSIENT)
@pytest.mark.parametrize("skip", range(4))
async def test_a_transient_answer_ends_no_log_that_is_followed(
    client: dynkube.Client, server: APIServer, answer: str, skip: int
) -> None:
    kubelet = start(server, "web-1")
    async with client.pod("web-1").logs(follow=True) as stream:
        kubelet.write("one")
        assert str(await anext(stream)) == "one"
        server.inject(TRANSIENT[answer], path_prefix="/api/v1/namespaces/default/pods", skip=skip, times=2)
        kubelet.exit(1)
        kubelet.crash_loop()
        with trio.move_on_after(60):
            await anext(stream, None)
        kubelet.start()
        kubelet.write("two")
        with trio.fail_after(600):
            assert str(await anext(stream)) == "two"


@pytest.mark.parametrize(("status", "most"), [(403, 121), (500, 121)])
async def test_owners_that_cannot_be_read_are_requested_at_most_twice_a_second_in_all(
    client: dynkube.Client, server: APIServer, status: int, most: int
) -> None:
    widget_owner(server)
    for number in range(60):
        other = server.create(config_map(f"owner-{number}"))
        start(server, f"web-{number}", ownerReferences=owned("ConfigMap", "v1", other))
    server.inject(Refuse(status), verb="get", resource="configmaps")

    async with following(client):
        await trio.sleep(1)
        before = len(server.requests)
        await trio.sleep(60)
        requests = [each for each in server.requests[before:] if each.verb == "get"]

    assert 60 <= len(requests) <= most


async def test_an_owner_that_the_user_may_not_read_is_requested_at_long_intervals(
    client: dynkube.Client, server: APIServer
) -> None:
    start(server, "web-1", ownerReferences=owned("ReplicaSet", "apps/v1", replica_set(server, widget_owner(server))))
    server.inject(TRANSIENT["403 Status"], verb="get", resource="replicasets")

    async with following(client):
        await trio.sleep(62)
        requests = [each for each in server.requests if each.verb == "get" and "/replicasets/" in each.path]

    assert 3 <= len(requests) <= 5
