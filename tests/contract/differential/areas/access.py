"""Roles and bindings, and requests of the users that they allow."""

from __future__ import annotations

from itertools import count
from typing import Any

import trio
from hypothesis import strategies as st

from tests.contract.cluster import MERGE, Cluster
from tests.contract.differential.areas.values import Draw, Values, mostly
from tests.contract.differential.requests import Request
from tests.contract.differential.side_by_side import Setup
from tests.contract.objects import JSONObject

_API = "rbac.authorization.k8s.io"
_USERS = ("ann-{ns}", "ben-{ns}")
_RULES: Values = st.lists(
    st.fixed_dictionaries(
        {
            "apiGroups": mostly([[""], ["*"], ["", "apps"]], [[], None]),
            "resources": mostly([["configmaps"], ["*"], ["configmaps", "roles"], ["pods/log"], ["*/scale"]], [[]]),
            "verbs": mostly(
                [["get", "list"], ["*"], ["create", "update"], ["get", "delete", "escalate", "bind"]], [[]]
            ),
        },
        optional={"resourceNames": st.sampled_from([["a"], ["b"], []])},
    ),
    max_size=2,
)
_OTHER_RULES: Values = st.sampled_from(
    [[{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}], [{"nonResourceURLs": ["x"], "verbs": []}]]
)
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_KINDS = {
    "roles": "Role",
    "clusterroles": "ClusterRole",
    "rolebindings": "RoleBinding",
    "clusterrolebindings": "ClusterRoleBinding",
}


def _metadata(draw: Draw) -> JSONObject:
    return {"name": draw(st.sampled_from(["a.{ns}", "b.{ns}"])), "labels": {"owner": "{ns}"}}


@st.composite
def _role(draw: Draw) -> Request:
    plural = draw(st.sampled_from(_ROLES))
    body = {
        "apiVersion": f"{_API}/v1",
        "kind": _KINDS[plural],
        "metadata": _metadata(draw),
        "rules": draw(_OTHER_RULES if draw(st.integers(0, 9)) == 9 else _RULES),
    }
    return _written(draw, plural, body)


@st.composite
def _binding(draw: Draw) -> Request:
    plural = draw(st.sampled_from(_BINDINGS))
    user = {"kind": "User", "apiGroup": _API, "name": draw(st.sampled_from(_USERS))}
    subject = draw(
        mostly(
            [user, {"kind": "Group", "apiGroup": _API, "name": "system:authenticated"}],
            [
                {"kind": "ServiceAccount", "name": "default"},
                {"kind": "Bogus", "name": "x"},
                {**user, "apiGroup": "x"},
                {**user, "name": ""},
            ],
        )
    )
    kind = draw(mostly(["Role", "ClusterRole"], ["Bogus", ""]))
    reference = {"apiGroup": _API, "kind": kind, "name": draw(mostly(["a.{ns}", "b.{ns}"], ["view", ""]))}
    body = {
        "apiVersion": f"{_API}/v1",
        "kind": _KINDS[plural],
        "metadata": _metadata(draw),
        "subjects": [subject] if subject["kind"] != "Group" else [subject, user],
        "roleRef": reference,
    }
    return _written(draw, plural, body)


def _written(draw: Draw, plural: str, body: JSONObject) -> Request:
    name, user = body["metadata"]["name"], draw(st.sampled_from(["", "", "", *_USERS]))
    match draw(st.sampled_from(["POST", "POST", "POST", "PUT", "PATCH", "DELETE"])):
        case "POST":
            return Request(method="POST", target=plural, body=body, user=user)
        case "PUT":
            return Request(method="PUT", target=f"{plural}/{name}", body=body, user=user)
        case "PATCH":
            patch = {field: body[field] for field in ("rules", "subjects") if field in body}
            return Request(method="PATCH", target=f"{plural}/{name}", body=patch, content_type=MERGE, user=user)
        case _:
            return Request(method="DELETE", target=f"{plural}/{name}", user=user)


@st.composite
def _access(draw: Draw) -> Request:
    user, name = draw(st.sampled_from(_USERS)), draw(st.sampled_from(["a", "b"]))
    config = {"metadata": {"name": name}}
    requests_of_user: list[Request] = [
        Request(method="GET", target=f"configmaps/{name}", user=user),
        Request(method="GET", target="configmaps", user=user),
        Request(method="GET", target="pods", user=user, params={"labelSelector": "x=y"}),
        Request(method="POST", target="configmaps", body=config, user=user),
        Request(method="PUT", target=f"configmaps/{name}", body=config, user=user),
        Request(method="DELETE", target=f"configmaps/{name}", user=user),
        Request(method="GET", target="clusterroles/a.{ns}", user=user),
        Request(method="GET", target="roles/a.{ns}", user=user),
    ]
    return draw(st.sampled_from(requests_of_user))


@st.composite
def _review(draw: Draw) -> Request:
    attributes: dict[str, Any] = {
        "namespace": draw(st.sampled_from(["{ns}", "", "default"])),
        "verb": draw(st.sampled_from(["get", "list", "create", "*", "escalate"])),
        "group": draw(st.sampled_from(["", "apps", "*"])),
        "resource": draw(st.sampled_from(["configmaps", "roles", "deployments", "pods", "*"])),
        "subresource": draw(st.sampled_from(["", "", "log", "scale"])),
        "name": draw(st.sampled_from(["", "a"])),
    }
    spec: JSONObject = {"resourceAttributes": {field: value for field, value in attributes.items() if value}}
    if draw(st.integers(0, 5)) == 5:
        spec = {"nonResourceAttributes": {"path": draw(st.sampled_from(["/metrics", "/x"])), "verb": "get"}}
    user = draw(st.sampled_from(_USERS))
    match draw(st.sampled_from(["subjectaccessreviews", "selfsubjectaccessreviews"])):
        case "subjectaccessreviews":
            return _review_request("SubjectAccessReview", {**spec, "user": user})
        case _:
            return _review_request("SelfSubjectAccessReview", spec, user)


def _review_request(kind: str, spec: JSONObject, user: str = "") -> Request:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    return Request(method="POST", target=f"{kind.lower()}s", body=body, user=user)


requests = st.one_of(_role(), _role(), _binding(), _binding(), _access(), _access(), _review())
_NUMBERS = count()
_SEEN_BY = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]


async def settle(cluster: Cluster) -> None:
    """Wait until the authorizer has seen all writes: it has a cache for each kind.

    So a role and a binding are written in both scopes, and reviews are sent until these allow access.
    """
    name = f"settled-{next(_NUMBERS)}.{cluster.namespace}"
    metadata = {"name": name, "labels": {"owner": cluster.namespace}}
    for plural, in_namespace in zip(_SEEN_BY, (True, True, False, False), strict=True):
        if plural in _ROLES:
            content: JSONObject = {"rules": [{"apiGroups": ["e.com"], "resources": [plural], "verbs": ["get"]}]}
        else:
            kind = "Role" if in_namespace else "ClusterRole"
            subject = {"kind": "User", "apiGroup": _API, "name": name}
            content = {"subjects": [subject], "roleRef": {"apiGroup": _API, "kind": kind, "name": name}}
        body = {"apiVersion": f"{_API}/v1", "kind": _KINDS[plural], "metadata": metadata, **content}
        await cluster.request("POST", cluster.path(plural), body=body)
    for plural, namespace in (("roles", cluster.namespace), ("clusterroles", "")):
        attributes = {"verb": "get", "group": "e.com", "resource": plural, "namespace": namespace}
        await _until_allowed(cluster, {"spec": {"user": name, "resourceAttributes": attributes}})
    for plural in _SEEN_BY:
        await cluster.delete(plural, name)


async def _until_allowed(cluster: Cluster, review: JSONObject) -> None:
    for _ in range(1000):
        if (await cluster.request("POST", cluster.path("subjectaccessreviews"), body=review))["status"]["allowed"]:
            return
        await trio.sleep(0.01)
    raise AssertionError("the authorizer has not seen all writes")


SETUP = Setup(
    owned=dict.fromkeys(_SEEN_BY, "owner={ns}") | {"configmaps": ""},
    settle=settle,
)
