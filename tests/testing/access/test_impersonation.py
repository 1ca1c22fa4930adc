"""Requests in somebody else's name, where their sender may act for them: the old way and the constrained one."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.testing import APIServer
from tests.testing.access.test_authentication import WHO_AM_I
from tests.testing.access.test_authorization import PODS, allow

BOB = {"Impersonate-User": "bob"}
IDENTITIES = "authentication.k8s.io"


async def test_the_administrator_acts_as_anybody(admin: httpx2.AsyncClient) -> None:
    headers = [("Impersonate-User", "u"), ("Impersonate-Uid", "7"), ("Impersonate-Extra-a%2fB", "c")]
    headers += [("Impersonate-Group", "g"), ("Impersonate-Group", "h")]

    answer = await admin.post(WHO_AM_I, json={}, headers=headers)

    assert answer.json()["status"]["userInfo"] == {
        "username": "u",
        "uid": "7",
        "groups": ["g", "h", "system:authenticated"],
        "extra": {"a/b": ["c"]},
    }


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
async def test_groups_follow_from_the_name(admin: httpx2.AsyncClient, user: str, groups: list[str]) -> None:
    answer = await admin.post(WHO_AM_I, json={}, headers={"Impersonate-User": user})

    assert answer.json()["status"]["userInfo"] == {"username": user, "groups": groups}


async def test_who_is_impersonated_has_their_own_rights_and_no_others(
    guarded: APIServer, admin: httpx2.AsyncClient
) -> None:
    refused = await admin.get(PODS, headers=BOB)
    allow(guarded, "bob", {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]})
    allowed = await admin.get(PODS, headers=BOB)

    assert 'pods is forbidden: User "bob" cannot list' in refused.json()["message"]
    assert allowed.status_code == 200
    record = guarded.audit[-1]
    assert record.user is not None
    assert record.impersonator is not None
    assert (record.user.name, record.impersonator.name) == ("bob", "admin")


async def test_nobody_acts_as_somebody_else_just_so(alice: httpx2.AsyncClient) -> None:
    answer = await alice.get("/api/v1/pods", headers=BOB)

    assert answer.status_code == 403
    assert answer.json()["message"] == (
        'pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" in API group "" '
        "at the cluster scope"
    )


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (BOB, 200),
        ({"Impersonate-User": "carol"}, 403),
        ({**BOB, "Impersonate-Group": "devs"}, 403),
        ({**BOB, "Impersonate-Uid": "7", "Impersonate-Extra-Scopes": "a"}, 200),
        ({**BOB, "Impersonate-Extra-Other": "a"}, 403),
    ],
)
async def test_the_verb_impersonate_is_for_what_its_rules_name(
    guarded: APIServer, alice: httpx2.AsyncClient, headers: dict[str, str], code: int
) -> None:
    allow(
        guarded,
        "alice",
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]},
    )
    role = guarded.get("clusterroles", "clusterrole-of-alice")
    extra = {"verbs": ["impersonate"], "apiGroups": [IDENTITIES], "resources": ["userextras/scopes", "uids"]}
    guarded.update({**role, "rules": [*role["rules"], extra]})
    allow(guarded, "bob", {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]})

    assert (await alice.get(PODS, headers=headers)).status_code == code


@pytest.mark.parametrize(("path", "code"), [(PODS, 200), (f"{PODS}?watch=1", 403), ("/api/v1/secrets", 403)])
async def test_constrained_impersonation_is_for_some_requests_only(
    guarded: APIServer, alice: httpx2.AsyncClient, path: str, code: int
) -> None:
    users = {"verbs": ["impersonate:user-info"], "apiGroups": [IDENTITIES], "resources": ["users"]}
    allow(guarded, "alice", users)
    onward = {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["pods"]}
    allow(guarded, "alice", onward, "default")
    allow(guarded, "bob", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})

    answer = await alice.get(path, headers=BOB)

    assert answer.status_code == code


async def test_groups_without_a_user_are_a_400(alice: httpx2.AsyncClient) -> None:
    answer = await alice.get(PODS, headers={"Impersonate-Group": "devs"})

    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert answer.json()["message"] == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} '
        "without impersonating a user name"
    )
