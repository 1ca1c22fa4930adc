"""A server without RBAC allows everything, and access reviews say so."""

from __future__ import annotations

from typing import Any

import httpx2

from dynkube_testing import APIServer

_PATH = "/apis/authorization.k8s.io/v1"
_PODS = {"verb": "list", "resource": "pods", "namespace": "default"}


async def _create_review(client: httpx2.AsyncClient, resource: str, spec: object) -> Any:
    return (await client.post(f"{_PATH}/{resource}", json={"spec": spec})).json()


async def test_every_user_may_do_everything(server: APIServer) -> None:
    async with httpx2.AsyncClient(transport=server.transport("alice"), base_url=server.url) as client:
        assert (await client.get("/api/v1/secrets")).status_code == 200
        assert server.list("clusterroles") == [], "without RBAC there are no roles"


async def test_access_reviews_allow_everything_and_give_the_reason(client: httpx2.AsyncClient) -> None:
    response = await _create_review(client, "selfsubjectaccessreviews", {"resourceAttributes": _PODS})
    rules = await _create_review(client, "selfsubjectrulesreviews", {"namespace": "default"})

    assert response["status"] == {"allowed": True, "reason": "this server runs without RBAC and allows everything"}
    assert rules["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


async def test_access_reviews_are_not_stored(server: APIServer) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    before = server.revision

    response = server.create({**review, "spec": {"resourceAttributes": _PODS}})

    assert response["status"]["allowed"] is True
    assert server.revision == before
