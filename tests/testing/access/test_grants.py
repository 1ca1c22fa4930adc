"""``grant`` and ``revoke``: change a user's permissions with one call."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import InvalidInput, NoMatch, NotFound
from dynkube.meta import GVR
from dynkube_testing import APIServer

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def _codes(client: httpx2.AsyncClient, *paths: str) -> list[int]:
    return [(await client.get(path)).status_code for path in paths]


async def test_a_granted_permission_lasts_until_it_is_revoked(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    before = await _codes(alice, PODS)
    guarded.grant("alice", verbs=["list"], resource="pods")
    between = await _codes(alice, PODS, "/api/v1/pods", f"{PODS}/a")
    gone = guarded.revoke("alice", "pods")

    assert (before, between, gone) == ([403], [200, 200, 403], 1)
    assert await _codes(alice, PODS) == [403]


async def test_a_grant_may_be_limited_to_one_namespace(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    guarded.grant("alice", verbs=["list"], resource="deploy", namespace="default")

    assert await _codes(alice, DEPLOYMENTS, "/apis/apps/v1/deployments") == [200, 403]
    assert guarded.revoke("alice", "deployments.apps") == 0, "there was no cluster-wide grant"
    assert guarded.revoke("alice", "deployments.apps", "default") == 1


async def test_a_grant_may_be_limited_to_single_objects_and_to_subresources(
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


async def test_grants_add_up_and_are_stored_as_roles_and_bindings(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    guarded.grant("alice", verbs=["list"], resource="pods")
    guarded.grant("alice", verbs=["get"], resource=GVR("", "v1", "pods"))

    assert await _codes(alice, PODS, f"{PODS}/a") == [200, 404]
    assert len(guarded.get("clusterroles", "grant:alice:pods")["rules"]) == 2
    assert guarded.get("clusterrolebindings", "grant:alice:pods")["subjects"][0]["name"] == "alice"


async def test_all_grants_of_a_user_can_be_revoked_at_once(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    for user in ("alice", "bob"):
        for resource in ("pods", "*", "widgets.example.com"):
            guarded.grant(user, verbs=["*"], resource=resource)

    assert guarded.revoke("alice") == 3
    assert await _codes(alice, PODS) == [403]
    assert guarded.revoke("bob") == 3


async def test_a_service_account_is_granted_permissions_by_its_user_name(guarded: APIServer) -> None:
    bot = "system:serviceaccount:default:bot"
    guarded.grant(bot, verbs=["list"], resource="pods")

    async with httpx2.AsyncClient(transport=guarded.transport(bot), base_url=guarded.url) as client:
        assert await _codes(client, PODS) == [200]


async def test_invalid_grants_are_rejected(guarded: APIServer, server: APIServer) -> None:
    with pytest.raises(InvalidInput, match=r"grants require APIServer\(rbac=True\)"):
        server.grant("alice", verbs=["get"], resource="pods")
    with pytest.raises(InvalidInput, match="verbs is 'get': pass at least one"):
        guarded.grant("alice", verbs="get", resource="pods")
    with pytest.raises(NoMatch, match="does not serve 'widgets'"):
        guarded.grant("alice", verbs=["get"], resource="widgets")
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        guarded.grant("alice", verbs=["get"], resource="pods", namespace="nowhere")
