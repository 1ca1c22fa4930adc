"""Impersonation: which user a request has, and which permissions its sender needs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.access.kit import account, allow, rule, user_of
from tests.contract.cluster import Cluster

_IDENTITIES = "authentication.k8s.io"
_WHO_AM_I = f"/apis/{_IDENTITIES}/v1/selfsubjectreviews"


async def _whoami(cluster: Cluster, **headers: str) -> Any:
    named = {f"Impersonate-{key.replace('_', '-')}": value for key, value in headers.items()}
    response = await cluster.call("POST", _WHO_AM_I, body={}, headers=named)
    return response.body["status"]["userInfo"]


@pytest.mark.since("1.28", "SelfSubjectReview came with 1.28")
async def test_the_administrator_can_impersonate_any_user(cluster: Cluster) -> None:
    user = await _whoami(cluster, User="u", Uid="7", Group="g", **{"Extra-a%2fB": "c"})

    assert user == {"username": "u", "uid": "7", "groups": ["g", "system:authenticated"], "extra": {"a/b": ["c"]}}


@pytest.mark.since("1.28", "SelfSubjectReview came with 1.28")
@pytest.mark.parametrize(
    ("user", "groups"),
    [
        (
            "system:serviceaccount:shop:bot",
            ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
        ),
        ("system:serviceaccount:odd", ["system:authenticated"]),
    ],
)
async def test_an_impersonated_service_account_gets_its_groups(cluster: Cluster, user: str, groups: list[str]) -> None:
    assert await _whoami(cluster, User=user) == {"username": user, "groups": groups}


async def test_a_request_has_only_the_permissions_of_the_impersonated_user(cluster: Cluster) -> None:
    user = user_of(cluster, "bob")
    denied = await cluster.acting_as(user).call("GET", cluster.path("pods"))
    await allow(cluster, user, rule("list", "pods"))

    allowed = await cluster.acting_as(user).call("GET", cluster.path("pods"))

    assert (denied.code, allowed.code) == (403, 200)
    assert denied.body["message"].startswith(f'pods is forbidden: User "{user}" cannot list')


async def test_impersonation_without_permission_is_a_403(cluster: Cluster) -> None:
    bot, name = await account(cluster)

    response = await bot.call("GET", "/api/v1/pods", headers={"Impersonate-User": "bob"})

    constrained = 'impersonate-on:user-info:list resource "pods"'
    plain = 'impersonate resource "users"'
    subject, action = ("pods", constrained) if cluster.version >= (1, 36) else ('users "bob"', plain)
    assert response.code == 403
    assert response.body["message"] == (
        f'{subject} is forbidden: User "{name}" cannot {action} in API group "" at the cluster scope'
    )


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 200),
        ({"Impersonate-User": "carol"}, 403),
        ({"Impersonate-Group": "devs"}, 403),
        ({"Impersonate-Extra-Scopes": "a"}, 200),
        ({"Impersonate-Extra-Other": "a"}, 403),
    ],
)
async def test_the_verb_impersonate_allows_only_users_and_extras_that_rules_name(
    cluster: Cluster, headers: dict[str, str], code: int
) -> None:
    bob = user_of(cluster, "bob")
    bot, name = await account(cluster)
    await allow(cluster, bob, rule("list", "pods"))
    rules = [rule("impersonate", "users", "", bob), rule("impersonate", "userextras/scopes", _IDENTITIES)]
    await allow(cluster, name, *rules, everywhere=True)

    response = await bot.call("GET", cluster.path("pods"), headers={"Impersonate-User": bob, **headers})

    assert response.code == code


@pytest.mark.since("1.22", "impersonated UIDs came with 1.22")
@pytest.mark.parametrize(("uid", "code"), [("7", 200), ("8", 403)])
async def test_impersonating_a_uid_requires_a_permission_for_uids(cluster: Cluster, uid: str, code: int) -> None:
    bob = user_of(cluster, "bob")
    bot, name = await account(cluster)
    await allow(cluster, bob, rule("list", "pods"))
    rules = [rule("impersonate", "users", "", bob), rule("impersonate", "uids", _IDENTITIES, "7")]
    await allow(cluster, name, *rules, everywhere=True)

    response = await bot.call("GET", cluster.path("pods"), headers={"Impersonate-User": bob, "Impersonate-Uid": uid})

    assert response.code == code


@pytest.mark.since("1.36", "constrained impersonation is enabled since 1.36")
@pytest.mark.parametrize(("path", "code"), [("pods", 200), ("pods?watch=1", 403), ("secrets", 403)])
async def test_constrained_impersonation_allows_only_the_listed_requests(
    cluster: Cluster, path: str, code: int
) -> None:
    bob = user_of(cluster, "bob")
    bot, name = await account(cluster)
    await allow(cluster, bob, rule("*", "*", "*"))
    await allow(cluster, name, rule("impersonate:user-info", "users", _IDENTITIES), everywhere=True)
    await allow(cluster, name, rule("impersonate-on:user-info:list", "pods"))

    place = f"/api/v1/namespaces/{cluster.namespace}/{path}"
    response = await bot.call("GET", place, headers={"Impersonate-User": bob})

    assert response.code == code
