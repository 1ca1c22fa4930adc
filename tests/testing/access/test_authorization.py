"""Stored roles decide who may do what, and refusals are worded as by kube-apiserver."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.testing import APIServer

RBAC = "rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"


def allow(server: APIServer, user: str, rule: dict[str, list[str]], namespace: str | None = None) -> None:
    """Write a role with one rule, and a binding of it to ``user``."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": f"{kind.lower()}-of-{user}", **({"namespace": namespace} if namespace else {})}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    server.create({"apiVersion": RBAC, "kind": kind, "metadata": metadata, "rules": [rule]})
    server.create(
        {"apiVersion": RBAC, "kind": f"{kind}Binding", "metadata": metadata, "roleRef": ref, "subjects": [subject]}
    )


@pytest.mark.parametrize(
    ("method", "path", "message", "details"),
    [
        (
            "GET",
            "/api/v1/namespaces/x/pods",
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "x"',
            {"kind": "pods"},
        ),
        (
            "GET",
            "/api/v1/nodes/y",
            'nodes "y" is forbidden: User "alice" cannot get resource "nodes" in API group "" at the cluster scope',
            {"name": "y", "kind": "nodes"},
        ),
        (
            "POST",
            "/apis/foo.bar/v1/z/y/log",
            (
                'z.foo.bar "y" is forbidden: User "alice" cannot create resource "z/log" in API group "foo.bar" '
                "at the cluster scope"
            ),
            {"name": "y", "group": "foo.bar", "kind": "z"},
        ),
        ("GET", "/foo/bar", 'forbidden: User "alice" cannot get path "/foo/bar"', {}),
        ("DELETE", "/foo", 'forbidden: User "alice" cannot delete path "/foo"', {}),
        (
            "GET",
            "/api/v1/watch/pods",
            'pods is forbidden: User "alice" cannot watch resource "pods" in API group "" at the cluster scope',
            {"kind": "pods"},
        ),
        (
            "GET",
            "/api/v1/pods?fieldSelector=metadata.name=a",
            'pods "a" is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope',
            {"name": "a", "kind": "pods"},
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/x/deployments",
            (
                'deployments.apps is forbidden: User "alice" cannot deletecollection resource "deployments" '
                'in API group "apps" in the namespace "x"'
            ),
            {"group": "apps", "kind": "deployments"},
        ),
        (
            "GET",
            "/api/v1/namespaces/x",
            (
                'namespaces "x" is forbidden: User "alice" cannot get resource "namespaces" in API group "" '
                'in the namespace "x"'
            ),
            {"name": "x", "kind": "namespaces"},
        ),
        (
            "PUT",
            "/api/v1/namespaces/x/finalize",
            (
                'namespaces "x" is forbidden: User "alice" cannot update resource "namespaces/finalize" '
                'in API group "" in the namespace "x"'
            ),
            {"name": "x", "kind": "namespaces"},
        ),
        (
            "GET",
            "/api/v1/namespaces/x/pods/a/b/c/d",
            'pods "a" is forbidden: User "alice" cannot get resource "pods/b" in API group "" in the namespace "x"',
            {"name": "a", "kind": "pods"},
        ),
    ],
)
async def test_a_refusal_says_who_may_not_do_what(
    alice: httpx2.AsyncClient, method: str, path: str, message: str, details: object
) -> None:
    answer = await alice.request(method, path)

    status = answer.json()
    assert (answer.status_code, status["reason"], status["message"]) == (403, "Forbidden", message)
    assert status.get("details") == details


@pytest.mark.parametrize(
    ("rule", "method", "path", "code"),
    [
        ({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}, "GET", PODS, 200),
        ({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}, "GET", f"{PODS}?watch=1", 403),
        ({"verbs": ["*"], "apiGroups": [""], "resources": ["*"]}, "GET", f"{PODS}/a/status", 404),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, "GET", f"{PODS}/a/status", 403),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/status"]}, "GET", f"{PODS}/a/status", 404),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/status"]}, "GET", f"{PODS}/a", 403),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["*/status"]}, "GET", f"{PODS}/a/status", 404),
        ({"verbs": ["list"], "apiGroups": ["apps"], "resources": ["*"]}, "GET", PODS, 403),
        ({"verbs": ["list"], "apiGroups": ["*"], "resources": ["*"]}, "GET", PODS, 200),
        (
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            "GET",
            f"{PODS}/a",
            404,
        ),
        (
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            "GET",
            f"{PODS}/b",
            403,
        ),
        (
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            "GET",
            PODS,
            403,
        ),
        (
            {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            "GET",
            f"{PODS}?fieldSelector=metadata.name%3Da",
            200,
        ),
        ({"verbs": ["get"], "nonResourceURLs": ["/foo/*"]}, "GET", "/foo/bar", 404),
        ({"verbs": ["get"], "nonResourceURLs": ["/foo"]}, "GET", "/foo/bar", 403),
        ({"verbs": ["get"], "nonResourceURLs": ["*"]}, "GET", "/foo/bar", 404),
    ],
)
async def test_a_rule_allows_what_it_names_and_nothing_else(
    guarded: APIServer, alice: httpx2.AsyncClient, rule: dict[str, list[str]], method: str, path: str, code: int
) -> None:
    allow(guarded, "alice", rule)

    answer = await alice.request(method, path)

    assert answer.status_code == code


async def test_a_role_binding_gives_what_a_cluster_role_says_in_its_namespace_only(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}
    metadata = {"name": "readers", "namespace": "default"}
    guarded.create(
        {"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata, "roleRef": ref, "subjects": [subject]}
    )

    codes = [(await alice.get(path)).status_code for path in (PODS, "/api/v1/namespaces/kube-system/pods")]

    assert codes == [200, 403]
    assert (await alice.get("/api/v1/namespaces/default/secrets")).status_code == 403, "viewers see no secrets"


async def test_a_binding_to_a_role_that_is_not_there_is_hinted_at(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nope"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    guarded.create(
        {
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "a"},
            "roleRef": ref,
            "subjects": [subject],
        }
    )

    answer = await alice.get(PODS)

    assert answer.json()["message"] == (
        'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default": '
        'RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found'
    )


async def test_what_is_written_counts_from_the_next_request_on(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
    codes = [(await alice.get(PODS)).status_code]

    allow(guarded, "alice", rule, "default")
    codes.append((await alice.get(PODS)).status_code)
    role = guarded.get("roles", "role-of-alice")
    guarded.update({**role, "rules": [{**rule, "verbs": ["get"]}]})
    codes.append((await alice.get(PODS)).status_code)
    guarded.update({**guarded.get("roles", "role-of-alice"), "rules": [rule]})
    codes.append((await alice.get(PODS)).status_code)
    guarded.delete("rolebindings", "role-of-alice")
    codes.append((await alice.get(PODS)).status_code)

    assert codes == [403, 200, 403, 200, 403]


async def test_who_may_do_nothing_does_not_learn_which_paths_there_are(
    alice: httpx2.AsyncClient, admin: httpx2.AsyncClient
) -> None:
    for path in ("/api/v1/unicorns", "/apis/nope.example/v1/things"):
        assert (await alice.get(path)).status_code == 403
        assert (await admin.get(path)).status_code == 404


async def test_everybody_with_a_token_sees_discovery(alice: httpx2.AsyncClient) -> None:
    codes = {path: (await alice.get(path)).status_code for path in ("/api", "/apis", "/apis/apps/v1", "/openapi/v3")}

    assert set(codes.values()) == {200}


async def test_without_rbac_everybody_may_do_everything(server: APIServer) -> None:
    async with httpx2.AsyncClient(transport=server.transport("alice"), base_url=server.url) as client:
        assert (await client.get("/api/v1/secrets")).status_code == 200
        assert server.list("clusterroles") == [], "and there are no roles that nobody would look at"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/default/serviceaccounts/default//token"),
        ("GET", "/api/v1/namespaces/default/pods/p//status"),
    ],
)
async def test_a_subresource_is_not_reached_by_an_empty_part_in_its_path(
    guarded: APIServer, alice: httpx2.AsyncClient, method: str, path: str
) -> None:
    allow(guarded, "alice", {"verbs": ["*"], "apiGroups": [""], "resources": ["serviceaccounts", "pods"]})
    guarded.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})

    answer = await alice.request(method, path, json={"spec": {}})

    assert answer.status_code == 404
    assert answer.json()["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize(("verbs", "status"), [(["patch"], 403), (["patch", "create"], 201)])
async def test_an_apply_that_creates_takes_the_right_to_create(
    guarded: APIServer, alice: httpx2.AsyncClient, verbs: list[str], status: int
) -> None:
    allow(guarded, "alice", {"verbs": verbs, "apiGroups": [""], "resources": ["configmaps"]})
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}

    answer = await alice.patch(
        "/api/v1/namespaces/default/configmaps/c?fieldManager=m",
        json=applied,
        headers={"Content-Type": "application/apply-patch+yaml"},
    )

    assert answer.status_code == status
    assert status == 201 or answer.json()["message"] == (
        'configmaps "c" is forbidden: User "alice" cannot create resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


@pytest.mark.parametrize(("verbs", "status"), [(["update"], 403), (["update", "create"], 201)])
async def test_an_update_that_creates_takes_it_too(
    guarded: APIServer, alice: httpx2.AsyncClient, verbs: list[str], status: int
) -> None:
    allow(guarded, "alice", {"verbs": verbs, "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]})
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}

    answer = await alice.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l", json=lease)

    assert answer.status_code == status
