"""Access reviews give the decisions of the authorizer that also decides on requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.access.kit import allow, rule, user_of
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject

_PATH = "/apis/authorization.k8s.io/v1"
_NEITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


async def _create_review(cluster: Cluster, resource: str, spec: object, **metadata: str) -> Any:
    path = resource.format(namespace=cluster.namespace)
    return (await cluster.call("POST", f"{_PATH}/{path}", body={"metadata": metadata, "spec": spec})).body


def _pods(cluster: Cluster, verb: str = "list") -> JSONObject:
    return {"namespace": cluster.namespace, "verb": verb, "resource": "pods"}


async def test_a_self_subject_access_review_names_the_binding_that_allows(cluster: Cluster) -> None:
    user = user_of(cluster)
    alice, spec = cluster.acting_as(user), {"resourceAttributes": _pods(cluster)}
    before = await _create_review(alice, "selfsubjectaccessreviews", spec)
    name = await allow(cluster, user, rule("list", "pods"))

    after = await _create_review(alice, "selfsubjectaccessreviews", spec)

    assert before["status"] == {"allowed": False}
    assert after["spec"] == spec
    assert after["status"] == {
        "allowed": True,
        "reason": f'RBAC: allowed by RoleBinding "{name}/{cluster.namespace}" of Role "{name}" to User "{user}"',
    }


async def test_a_self_subject_access_review_of_a_path(cluster: Cluster) -> None:
    alice = cluster.acting_as(user_of(cluster))

    allowed_path = await _create_review(
        alice, "selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/api"}}
    )
    denied_path = await _create_review(
        alice, "selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/logs"}}
    )

    binding = 'ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"'
    assert allowed_path["status"] == {
        "allowed": True,
        "reason": f'RBAC: allowed by {binding} to Group "system:authenticated"',
    }
    assert denied_path["status"] == {"allowed": False}


async def test_the_administrator_can_review_the_access_of_other_users(cluster: Cluster) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule("list", "pods"))

    for subject, allowed in (
        ({"user": user}, True),
        ({"user": "nobody.at.all"}, False),
        ({"user": "x", "groups": ["system:masters"]}, True),
        ({"groups": ["system:masters"]}, True),
        ({"user": user, "uid": "7", "extra": {"a": ["b"]}}, True),
    ):
        spec = {**subject, "resourceAttributes": _pods(cluster)}
        assert (await _create_review(cluster, "subjectaccessreviews", spec))["status"]["allowed"] is allowed
        place = "namespaces/{namespace}/localsubjectaccessreviews"
        local = await _create_review(
            cluster, place, spec, namespace=cluster.namespace
        )  # old versions do not default the namespace
        assert local["status"]["allowed"] is allowed


async def test_reviewing_the_access_of_other_users_requires_permission(cluster: Cluster) -> None:
    status = await _create_review(cluster.acting_as(user_of(cluster)), "subjectaccessreviews", {"user": "a"})

    assert (status["code"], status["details"]["kind"]) == (403, "subjectaccessreviews")


async def test_a_self_subject_rules_review_lists_the_rules_of_the_user(cluster: Cluster) -> None:
    user, granted = user_of(cluster), rule("get", "secrets", "", "a")
    await allow(cluster, user, granted)
    alice = cluster.acting_as(user)

    inside = await _create_review(alice, "selfsubjectrulesreviews", {"namespace": cluster.namespace})
    outside = await _create_review(alice, "selfsubjectrulesreviews", {"namespace": "kube-system"})

    assert granted in inside["status"]["resourceRules"]
    assert granted not in outside["status"]["resourceRules"]
    assert inside["status"]["incomplete"] is False
    assert any("/api/*" in each["nonResourceURLs"] for each in inside["status"]["nonResourceRules"])


@pytest.mark.parametrize(
    ("resource", "spec", "code", "message"),
    [
        ("selfsubjectaccessreviews", {}, 422, _NEITHER),
        (
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get", "path": "/"}},
            422,
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            "subjectaccessreviews",
            {"resourceAttributes": {"verb": "get"}},
            422,
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "namespaces/{namespace}/localsubjectaccessreviews",
            {"user": "a", "nonResourceAttributes": {"verb": "get", "path": "/"}},
            422,
            "disallowed on this kind of request",
        ),
        ("selfsubjectrulesreviews", {}, 400, "no namespace on request"),
    ],
)
async def test_an_incomplete_or_contradictory_review_is_an_error(
    cluster: Cluster, resource: str, spec: object, code: int, message: str
) -> None:
    status = await _create_review(cluster, resource, spec)

    assert (status["kind"], status["code"]) == ("Status", code)
    assert message in status["message"]


async def test_a_local_review_must_be_of_its_own_namespace(cluster: Cluster) -> None:
    spec = {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods"}}

    status = await _create_review(cluster, "namespaces/{namespace}/localsubjectaccessreviews", spec)

    if cluster.version > (1, 20):
        why = 'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace'
        assert (status["code"], why in status["message"]) == (422, True)
    else:
        why = f"spec.resourceAttributes.namespace must match namespace: {cluster.namespace}"
        assert (status["code"], status["message"]) == (400, why)


@pytest.mark.since("1.22", "decoding errors have Go's types since 1.22")
@pytest.mark.parametrize(
    ("path", "kind", "spec", "why"),
    [
        (
            f"{_PATH}/subjectaccessreviews",
            "SubjectAccessReview",
            {"user": "a", "extra": {"a": 1}, "resourceAttributes": {"verb": "get"}},
            "number into Go struct field SubjectAccessReviewSpec.spec.extra of type",
        ),
        (
            f"{_PATH}/subjectaccessreviews",
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
            "/api/v1/namespaces/{namespace}/serviceaccounts/bot/token",
            "TokenRequest",
            {"audiences": 5},
            "number into Go struct field TokenRequestSpec.spec.audiences of type []string",
        ),
    ],
)
async def test_a_field_of_the_wrong_type_in_a_review_is_a_400(
    cluster: Cluster, path: str, kind: str, spec: object, why: str
) -> None:
    await cluster.create("serviceaccounts", {"metadata": {"name": "bot"}})

    response = await cluster.call("POST", path.format(namespace=cluster.namespace), body={"spec": spec})

    handled = f'{kind} in version "v1" cannot be handled as a {kind}'
    assert response.code == 400
    assert response.body["message"].startswith(f"{handled}: json: cannot unmarshal {why}")
