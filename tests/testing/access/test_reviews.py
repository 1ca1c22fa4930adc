"""Questions about access are answered by what decides in earnest."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from dynkube.testing import APIServer
from tests.testing.access.test_authorization import allow

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
PODS = {"verb": "list", "resource": "pods", "namespace": "default"}
NEITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


async def _ask(client: httpx2.AsyncClient, resource: str, spec: object) -> dict[str, Any]:
    answer: dict[str, Any] = (await client.post(f"{AUTHORIZATION}/{resource}", json={"spec": spec})).json()
    return answer


async def test_whether_i_may_is_answered_with_the_binding_that_says_so(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    before = await _ask(alice, "selfsubjectaccessreviews", {"resourceAttributes": PODS})
    allow(guarded, "alice", {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}, "default")
    after = await _ask(alice, "selfsubjectaccessreviews", {"resourceAttributes": PODS})

    assert before["status"] == {"allowed": False}
    assert after["spec"] == {"resourceAttributes": PODS}
    assert after["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "role-of-alice/default" of Role "role-of-alice" to User "alice"',
    }


async def test_paths_can_be_asked_for_too(alice: httpx2.AsyncClient) -> None:
    seen = await _ask(alice, "selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/api"}})
    hidden = await _ask(alice, "selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/logs"}})

    binding = 'ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"'
    assert seen["status"] == {"allowed": True, "reason": f'RBAC: allowed by {binding} to Group "system:authenticated"'}
    assert hidden["status"] == {"allowed": False}


async def test_the_administrator_may_ask_about_others(guarded: APIServer, admin: httpx2.AsyncClient) -> None:
    allow(guarded, "system:serviceaccount:default:bot", {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]})

    for subject, allowed in (
        ({"user": "system:serviceaccount:default:bot"}, True),
        ({"user": "alice"}, False),
        ({"groups": ["system:masters"]}, True),
    ):
        spec = {**subject, "resourceAttributes": PODS}
        assert (await _ask(admin, "subjectaccessreviews", spec))["status"]["allowed"] is allowed
        local = await _ask(admin, "namespaces/default/localsubjectaccessreviews", spec)
        assert local["status"]["allowed"] is allowed


async def test_the_rules_of_a_user_are_listed(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}
    allow(guarded, "alice", rule, "default")

    inside = await _ask(alice, "selfsubjectrulesreviews", {"namespace": "default"})
    outside = await _ask(alice, "selfsubjectrulesreviews", {"namespace": "kube-system"})

    assert rule in inside["status"]["resourceRules"]
    assert rule not in outside["status"]["resourceRules"]
    assert inside["status"]["incomplete"] is False
    assert any("/api/*" in rule["nonResourceURLs"] for rule in inside["status"]["nonResourceRules"])


@pytest.mark.parametrize(
    ("resource", "spec", "code", "message"),
    [
        ("selfsubjectaccessreviews", {}, 422, f"spec.resourceAttributes: Invalid value: null: {NEITHER}"),
        (
            "selfsubjectaccessreviews",
            {"resourceAttributes": PODS, "nonResourceAttributes": {"verb": "get", "path": "/"}},
            422,
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            "subjectaccessreviews",
            {"resourceAttributes": PODS},
            422,
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods"}},
            422,
            'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
        ),
        (
            "namespaces/default/localsubjectaccessreviews",
            {"user": "a", "nonResourceAttributes": {"verb": "get", "path": "/"}},
            422,
            "disallowed on this kind of request",
        ),
        ("selfsubjectrulesreviews", {}, 400, "no namespace on request"),
    ],
)
async def test_a_question_that_contradicts_itself_is_refused(
    admin: httpx2.AsyncClient, resource: str, spec: object, code: int, message: str
) -> None:
    status = await _ask(admin, resource, spec)

    assert (status["kind"], status["code"]) == ("Status", code)
    assert message in status["message"]


async def test_without_rbac_everything_is_allowed_and_says_so(client: httpx2.AsyncClient) -> None:
    answer = await _ask(client, "selfsubjectaccessreviews", {"resourceAttributes": PODS})
    rules = await _ask(client, "selfsubjectrulesreviews", {"namespace": "default"})

    assert answer["status"] == {"allowed": True, "reason": "this server runs without RBAC and allows everything"}
    assert rules["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


async def test_reviews_are_answered_and_never_stored(server: APIServer) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    before = server.revision

    answer = server.create({**review, "spec": {"resourceAttributes": PODS}})

    assert answer["status"]["allowed"] is True
    assert server.revision == before


@pytest.mark.parametrize(
    ("path", "kind", "spec", "why"),
    [
        (
            f"{AUTHORIZATION}/subjectaccessreviews",
            "SubjectAccessReview",
            {"user": "a", "extra": {"a": 1}, "resourceAttributes": {"verb": "get"}},
            "number into Go struct field SubjectAccessReviewSpec.spec.extra of type",
        ),
        (
            f"{AUTHORIZATION}/subjectaccessreviews",
            "SubjectAccessReview",
            {"user": "a", "resourceAttributes": {"verb": "get"}, "nonResourceAttributes": "x"},
            "string into Go struct field SubjectAccessReviewSpec.spec.nonResourceAttributes of type",
        ),
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "TokenReview",
            {"token": "a", "audiences": 5},
            "number into Go struct field TokenReviewSpec.spec.audiences of type []string",
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts/robot/token",
            "TokenRequest",
            {"audiences": 5},
            "number into Go struct field TokenRequestSpec.spec.audiences of type []string",
        ),
    ],
)
async def test_a_question_of_wrong_types_is_a_400(
    guarded: APIServer, admin: httpx2.AsyncClient, path: str, kind: str, spec: object, why: str
) -> None:
    guarded.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})

    answer = await admin.post(path, json={"spec": spec})

    handled = f'{kind} in version "v1" cannot be handled as a {kind}'
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(f"{handled}: json: cannot unmarshal {why}")
