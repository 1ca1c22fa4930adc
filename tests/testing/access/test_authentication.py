"""Authentication: tokens, transports that act as a user, and requests without a token."""

from __future__ import annotations

from typing import Any, cast

import httpx2
import pytest

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, User
from tests.testing.access.conftest import As

WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def _whoami(client: httpx2.AsyncClient, token: str | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = await client.post(WHO_AM_I, json={}, headers=headers)
    return response.json()["status"]["userInfo"] if response.status_code == 201 else response.json()


async def test_a_token_authenticates_its_user_with_uid_groups_and_extra(acting_as: As) -> None:
    assert await _whoami(acting_as(None), "alice-token") == {
        "username": "alice",
        "uid": "42",
        "groups": ["devs", "system:authenticated"],
        "extra": {"scopes": ["read", "write"]},
    }


async def test_a_transport_acts_as_the_user_passed_to_it(acting_as: As) -> None:
    assert await _whoami(acting_as("carol")) == {"username": "carol", "groups": ["system:authenticated"]}
    assert await _whoami(acting_as("system:serviceaccount:shop:bot")) == {
        "username": "system:serviceaccount:shop:bot",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    }


async def test_a_token_takes_precedence_over_the_user_of_the_transport(acting_as: As) -> None:
    user = await _whoami(acting_as("carol"), "bob-token")

    assert user == {"username": "bob", "groups": ["system:authenticated"]}


async def test_without_configured_tokens_every_request_is_the_administrators(client: httpx2.AsyncClient) -> None:
    admin = {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}

    assert await _whoami(client) == admin
    assert await _whoami(client, "whatever a kubeconfig has") == admin


async def test_the_token_of_the_server_is_the_administrators_in_addition_to_those_of_users() -> None:
    async with APIServer(token="root", users={"a": User("alice")}) as server:
        client = httpx2.AsyncClient(transport=server.transport(), base_url=server.url)
        async with client:
            names = [(await _whoami(client, token))["username"] for token in ("root", "a")]

            assert names == ["system:admin", "alice"]
            assert (await client.get("/api/v1/pods")).status_code == 401, "without RBAC, anonymous is rejected"


@pytest.mark.real_time
async def test_an_endpoint_can_have_the_token_of_a_user(guarded: APIServer) -> None:
    async with guarded.serve(token="alice-token") as endpoint, httpx2.AsyncClient(base_url=endpoint.url) as client:
        user = await _whoami(client, endpoint.token)

    assert user["username"] == "alice"


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ({"": User("a")}, "has the token ''"),
        ({"a b": User("a")}, "tokens must be ASCII without spaces"),
        ({"a": User("")}, "pass a name"),
        ({"a": User("alice", cast("Any", "devs"))}, "the groups of user 'alice' are 'devs': pass a list"),
    ],
)
def test_invalid_users_and_tokens_are_rejected_by_the_constructor(users: dict[str, User], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        APIServer(users=users)
