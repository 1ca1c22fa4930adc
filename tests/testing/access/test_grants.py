"""Tests give and take permissions in one line each."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import InvalidInput, NoMatch, NotFound
from dynkube.meta import GVR
from dynkube.testing import APIServer

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def _codes(client: httpx2.AsyncClient, *paths: str) -> list[int]:
    return [(await client.get(path)).status_code for path in paths]


async def test_what_is_granted_is_allowed_until_it_is_revoked(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    before = await _codes(alice, PODS)
    guarded.grant("alice", verbs=["list"], resource="pods")
    between = await _codes(alice, PODS, "/api/v1/pods", f"{PODS}/a")
    gone = guarded.revoke("alice", "pods")

    assert (before, between, gone) == ([403], [200, 200, 403], 1)
    assert await _codes(alice, PODS) == [403]


async def test_a_grant_may_be_for_one_namespace(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    guarded.grant("alice", verbs=["list"], resource="deploy", namespace="default")

    assert await _codes(alice, DEPLOYMENTS, "/apis/apps/v1/deployments") == [200, 403]
    assert guarded.revoke("alice", "deployments.apps") == 0, "nothing was granted everywhere"
    assert guarded.revoke("alice", "deployments.apps", "default") == 1


async def test_a_grant_may_be_for_single_objects_and_for_subresources(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    guarded.grant("alice", verbs=["get"], resource="pods", names=["a"])
    guarded.grant("alice", verbs=["get"], resource="deployments.apps/scale")

    assert await _codes(alice, f"{PODS}/a", f"{PODS}/b", f"{DEPLOYMENTS}/x/scale", f"{DEPLOYMENTS}/x") == [
        404,
        403,
        404,
        403,
    ]


async def test_grants_add_up_and_are_roles_like_any_other(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    guarded.grant("alice", verbs=["list"], resource="pods")
    guarded.grant("alice", verbs=["get"], resource=GVR("", "v1", "pods"))

    assert await _codes(alice, PODS, f"{PODS}/a") == [200, 404]
    assert len(guarded.get("clusterroles", "grant:alice:pods")["rules"]) == 2
    assert guarded.get("clusterrolebindings", "grant:alice:pods")["subjects"][0]["name"] == "alice"


async def test_everything_a_user_was_granted_can_be_revoked_at_once(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    for user in ("alice", "bob"):
        for resource in ("pods", "*", "widgets.example.com"):
            guarded.grant(user, verbs=["*"], resource=resource)

    assert guarded.revoke("alice") == 3
    assert await _codes(alice, PODS) == [403]
    assert guarded.revoke("bob") == 3


async def test_service_accounts_are_granted_to_by_their_user_name(guarded: APIServer) -> None:
    bot = "system:serviceaccount:default:bot"
    guarded.grant(bot, verbs=["list"], resource="pods")

    async with httpx2.AsyncClient(transport=guarded.transport(bot), base_url=guarded.url) as client:
        assert await _codes(client, PODS) == [200]


async def test_what_makes_no_grant_is_refused(guarded: APIServer, server: APIServer) -> None:
    with pytest.raises(InvalidInput, match=r"grants require APIServer\(rbac=True\)"):
        server.grant("alice", verbs=["get"], resource="pods")
    with pytest.raises(InvalidInput, match="verbs is 'get': pass at least one"):
        guarded.grant("alice", verbs="get", resource="pods")
    with pytest.raises(NoMatch, match="does not serve 'widgets'"):
        guarded.grant("alice", verbs=["get"], resource="widgets")
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        guarded.grant("alice", verbs=["get"], resource="pods", namespace="nowhere")
