"""Responses to requests that are denied by RBAC or not authenticated."""

from __future__ import annotations

import pytest

from tests.contract.access.kit import allow, rule, user_of
from tests.contract.cluster import Cluster

_IN = 'in the namespace "{namespace}"'
_NS = "/api/v1/namespaces/{namespace}"


@pytest.mark.parametrize(
    ("request_line", "message", "details"),
    [
        (
            f"GET {_NS}/pods",
            f'pods is forbidden: User "{{user}}" cannot list resource "pods" in API group "" {_IN}',
            {"kind": "pods"},
        ),
        (
            f"GET {_NS}/pods?watch=1",
            f'pods is forbidden: User "{{user}}" cannot watch resource "pods" in API group "" {_IN}',
            {"kind": "pods"},
        ),
        (
            f"POST {_NS}/pods",
            f'pods is forbidden: User "{{user}}" cannot create resource "pods" in API group "" {_IN}',
            {"kind": "pods"},
        ),
        (
            f"PATCH {_NS}/pods/p/status",
            f'pods "p" is forbidden: User "{{user}}" cannot patch resource "pods/status" in API group "" {_IN}',
            {"name": "p", "kind": "pods"},
        ),
        (
            "GET /api/v1/nodes/y",
            'nodes "y" is forbidden: User "{user}" cannot get resource "nodes" in API group "" at the cluster scope',
            {"name": "y", "kind": "nodes"},
        ),
        (
            "POST /apis/foo.bar/v1/z/y/log",
            (
                'z.foo.bar "y" is forbidden: User "{user}" cannot create resource "z/log" in API group "foo.bar" '
                "at the cluster scope"
            ),
            {"name": "y", "group": "foo.bar", "kind": "z"},
        ),
        ("GET /foo/bar", 'forbidden: User "{user}" cannot get path "/foo/bar"', {}),
        ("DELETE /foo", 'forbidden: User "{user}" cannot delete path "/foo"', {}),
        ("GET /metrics", 'forbidden: User "{user}" cannot get path "/metrics"', {}),
        (
            "GET /api/v1/watch/pods",
            'pods is forbidden: User "{user}" cannot watch resource "pods" in API group "" at the cluster scope',
            {"kind": "pods"},
        ),
        (
            "GET /api/v1/pods?fieldSelector=metadata.name=a",
            'pods "a" is forbidden: User "{user}" cannot list resource "pods" in API group "" at the cluster scope',
            {"name": "a", "kind": "pods"},
        ),
        (
            "DELETE /apis/apps/v1/namespaces/{namespace}/deployments",
            (
                'deployments.apps is forbidden: User "{user}" cannot deletecollection resource "deployments" '
                f'in API group "apps" {_IN}'
            ),
            {"group": "apps", "kind": "deployments"},
        ),
        (
            f"GET {_NS}",
            (
                'namespaces "{namespace}" is forbidden: User "{user}" cannot get resource "namespaces" '
                f'in API group "" {_IN}'
            ),
            {"name": "{namespace}", "kind": "namespaces"},
        ),
        (
            f"PUT {_NS}/finalize",
            (
                'namespaces "{namespace}" is forbidden: User "{user}" cannot update resource "namespaces/finalize" '
                f'in API group "" {_IN}'
            ),
            {"name": "{namespace}", "kind": "namespaces"},
        ),
        (
            f"GET {_NS}/pods/a/b/c/d",
            f'pods "a" is forbidden: User "{{user}}" cannot get resource "pods/b" in API group "" {_IN}',
            {"name": "a", "kind": "pods"},
        ),
        (
            f"GET {_NS}/unicorns",
            f'unicorns is forbidden: User "{{user}}" cannot list resource "unicorns" in API group "" {_IN}',
            {"kind": "unicorns"},
        ),
    ],
)
async def test_a_403_names_the_user_the_verb_and_the_resource(
    cluster: Cluster, request_line: str, message: str, details: dict[str, str]
) -> None:
    user = user_of(cluster)
    names = {"user": user, "namespace": cluster.namespace}
    method, _, target = request_line.format(**names).partition(" ")

    response = await cluster.acting_as(user).call(method, target)

    assert (response.code, response.body["reason"]) == (403, "Forbidden")
    assert response.body["message"] == message.format(**names)
    assert response.body["details"] == {key: value.format(**names) for key, value in details.items()}


async def test_an_unknown_token_is_a_401(cluster: Cluster) -> None:
    response = await cluster.call("GET", "/version", headers={"Authorization": "Bearer guessed"})

    assert response.code == 401
    assert response.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "Nonsense"])
async def test_a_request_without_a_bearer_token_is_anonymous(cluster: Cluster, header: str) -> None:
    denied = await cluster.call("GET", "/api/v1/pods", headers={"Authorization": header})
    public = await cluster.call("GET", "/version", headers={"Authorization": header})

    assert denied.code == 403
    assert denied.body["message"] == (
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope'
    )
    assert public.code == 200


async def test_only_authenticated_users_can_read_discovery(cluster: Cluster) -> None:
    paths = ("/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/version", "/healthz")

    named = {path: (await cluster.acting_as(user_of(cluster)).call("GET", path)).code for path in paths}
    anonymous = {path: (await cluster.call("GET", path, headers={"Authorization": ""})).code for path in paths}

    assert named == dict.fromkeys(paths, 200)
    assert anonymous == {**dict.fromkeys(paths, 403), "/version": 200, "/healthz": 200}


@pytest.mark.since("1.35", "connecting by GET requires the verb create since 1.35")
@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
@pytest.mark.parametrize(
    ("verbs", "code", "message"),
    [("get", 403, 'pods "p" is forbidden: '), ("get create", 400, "pod p does not have a host assigned")],
)
async def test_connecting_by_get_requires_the_permission_to_create(
    cluster: Cluster, subresource: str, verbs: str, code: int, message: str
) -> None:
    await cluster.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "x"}]}})
    user = user_of(cluster)
    await allow(cluster, user, rule(verbs, f"pods/{subresource}"))

    response = await cluster.call(
        "GET", f"{cluster.path('pods', 'p')}/{subresource}?stdout=1", headers={"Impersonate-User": user}
    )

    assert (response.code, response.body["message"]) == (code, message)
