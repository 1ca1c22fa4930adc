"""F14, F24: permissions that are partial, granted or revoked, and credentials that are replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import DEGRADED, LIVE, Client
from dynkube_testing import APIServer, Refuse, RequestFacts
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget

READ = ["get", "list", "watch"]


@asynccontextmanager
async def alice() -> AsyncIterator[tuple[APIServer, Client]]:
    """A cluster with widgets on which Alice has no permissions, and her client."""
    settings = dynkube.InformerSettings(random=Random(7))
    async with APIServer(rbac=True) as server:
        server.create(crd())
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
        server.create(widget("a"))
        server.create(widget("b", namespace="other"))
        async with dynkube.connect(transport=server.transport(user="alice"), settings=settings) as client:
            yield server, client


def count_requests(server: APIServer, resource: str) -> int:
    return sum(r.resource is not None and r.resource.resource == resource for r in server.requests)


@pytest.mark.scenario("F14", "P8")
async def test_permissions_in_one_namespace_suffice_for_an_informer_of_it() -> None:
    async with alice() as (server, client):
        server.grant("alice", verbs=READ, resource="widgets.example.com", namespace="other")
        async with client.informer(WIDGETS, namespace="other") as mine, client.informer(WIDGETS) as everywhere:
            await mine.wait_state(LIVE)
            assert (await everywhere.wait_state(DEGRADED)).reason == "Forbidden"
            server.forget_requests()
            await trio.sleep(3600)

            assert (names(mine.list()), everywhere.list(), everywhere.has_synced) == (["b"], [], False)
            assert count_requests(server, "widgets") <= 110
            assert count_requests(server, "customresourcedefinitions") <= 100


@pytest.mark.scenario("F14", "P8", "P13")
async def test_permissions_that_are_revoked_and_granted_again_cost_no_event() -> None:
    recorder = Recorder()
    async with alice() as (server, client):
        server.grant("alice", verbs=READ, resource="*")
        async with client.informer(WIDGETS) as widgets:
            recorder.attach(widgets)
            await widgets.wait_state(LIVE)
            await recorder.drain()
            server.revoke("alice")
            server.end_watches("widgets")
            assert (await widgets.wait_state(DEGRADED)).reason == "Forbidden"
            server.create(widget("c"))
            server.delete("widgets", "a")
            await trio.sleep(3600)
            assert (names(widgets.list()), await recorder.drain()) == (["a", "b"], [])

            server.grant("alice", verbs=READ, resource="*")
            with trio.fail_after(65):
                await widgets.wait_state(LIVE)

            assert (names(widgets.list()), await recorder.drain()) == (["b", "c"], ["delete/a", "add/c"])


def kubeconfig(user: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://embedded.invalid"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


@pytest.mark.scenario("F24", "P13")
async def test_after_a_401_every_informer_uses_the_replaced_token(server: APIServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    expired: list[str] = []

    def is_expired(request: RequestFacts) -> bool:
        return request.headers["authorization"] in expired

    server.inject(Refuse(401), when=is_expired)
    server.create(crd())
    connection = dynkube.connect(kubeconfig=kubeconfig({"tokenFile": str(token)}), transport=server.transport())
    async with connection as client, AsyncExitStack() as stack:
        informers = [client.informer(WIDGETS, label_selector=f"n!=x{number}") for number in range(40)]
        for informer in informers:
            await stack.enter_async_context(informer)
        await trio.sleep(100)
        since = [informer.state.since for informer in informers]

        token.write_text("new\n")
        expired.append("Bearer old")
        server.forget_requests()
        server.end_watches(how="cut")
        server.create(widget("a"))
        await trio.sleep(5)
        await quiet()

        assert [len(informer) for informer in informers] == [1] * 40
        assert [informer.state.since for informer in informers] == since, "no change of state"
        statuses = [request.status for request in server.requests if request.verb == "watch"]
        assert 1 <= statuses.count(401) <= 41
        assert statuses.count(200) == 41


@pytest.mark.scenario("F24", "P8")
async def test_an_expired_token_is_retried_slowly_until_it_is_replaced(server: APIServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    server.create(crd())
    server.create(widget("a"))
    connection = dynkube.connect(kubeconfig=kubeconfig({"tokenFile": str(token)}), transport=server.transport())
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.inject(Refuse(401), when=lambda request: request.headers["authorization"] == "Bearer old")
        server.end_watches("widgets", how="cut")
        assert (await widgets.wait_state(DEGRADED)).reason == "Unauthorized"
        server.forget_requests()
        await trio.sleep(3600)
        assert (names(widgets.list()), count_requests(server, "widgets") <= 110) == (["a"], True)

        token.write_text("new")
        server.create(widget("b"))
        with trio.fail_after(65):
            await widgets.wait_state(LIVE)

        assert names(widgets.list()) == ["a", "b"]
