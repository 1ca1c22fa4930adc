"""Which requests the rules of roles allow."""

from __future__ import annotations

import pytest

from tests.contract.access.kit import GROUP, allow, binding, role, rule, user_of, wait_permission
from tests.contract.cluster import APPLY, Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import JSONObject, config

_NAMED = rule("get list watch", "pods", "", "a")


@pytest.mark.parametrize(
    ("granted", "path", "code"),
    [
        (rule("list", "pods"), "pods", 200),
        (rule("list", "pods"), "pods?watch=1", 403),
        (rule("watch", "pods"), "pods", 403),
        (rule("*", "*"), "pods/a/status", 404),
        (rule("get", "pods"), "pods/a/status", 403),
        (rule("get", "pods/status"), "pods/a/status", 404),
        (rule("get", "pods/status"), "pods/a", 403),
        (rule("get", "*/status"), "pods/a/status", 404),
        (rule("get", "pods/*"), "pods/a/status", 403),
        (rule("get", "pods"), "pods/a/log", 403),
        (rule("list", "*", "apps"), "pods", 403),
        (rule("list", "*", "*"), "pods", 200),
        (_NAMED, "pods/a", 404),
        (_NAMED, "pods/b", 403),
        (_NAMED, "pods", 403),
        (_NAMED, "pods?fieldSelector=metadata.name%3Da", 200),
        (_NAMED, "pods?fieldSelector=metadata.name%3Db", 403),
        (_NAMED, "pods?fieldSelector=metadata.name!%3Da", 403),
        (_NAMED, "pods?watch=1&timeoutSeconds=0&fieldSelector=metadata.name%3Db", 403),
    ],
)
async def test_a_rule_allows_only_its_verbs_resources_and_names(
    cluster: Cluster, granted: JSONObject, path: str, code: int
) -> None:
    user = user_of(cluster)
    await allow(cluster, user, granted)

    response = await cluster.acting_as(user).call("GET", f"/api/v1/namespaces/{cluster.namespace}/{path}")

    assert response.code == code


@pytest.mark.parametrize(("url", "code"), [("/foo/*", 404), ("/foo", 403), ("*", 404), ("/foo/bar", 404), ("/f*", 404)])
async def test_a_path_with_an_asterisk_allows_all_paths_with_its_prefix(cluster: Cluster, url: str, code: int) -> None:
    user = user_of(cluster)
    await allow(cluster, user, {"verbs": ["get"], "nonResourceURLs": [url]}, everywhere=True)

    assert (await cluster.acting_as(user).call("GET", "/foo/bar")).code == code


async def test_a_role_binding_grants_a_cluster_role_only_in_its_namespace(cluster: Cluster) -> None:
    user = user_of(cluster)
    await cluster.create("clusterroles", role(user, rule("list", "pods"), everywhere=True))
    await cluster.create("rolebindings", binding("readers", "ClusterRole", user, user))
    await wait_permission(cluster, user, rule("list", "pods"), namespace=cluster.namespace)

    alice = cluster.acting_as(user)
    codes = [
        (await alice.call("GET", cluster.path(resource, namespace=namespace))).code
        for resource, namespace in (("pods", None), ("pods", "kube-system"), ("pods", ""), ("secrets", None))
    ]

    assert codes == [200, 403, 403, 403]


async def test_a_403_mentions_a_binding_to_a_missing_role(cluster: Cluster) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule("get", "configmaps"))  # allow() waits; the writes before it are then seen, too
    await cluster.create("rolebindings", binding("odd", "Role", "nope", user))
    await allow(cluster, user, rule("get", "secrets"), everywhere=True)

    response = await cluster.acting_as(user).call("GET", cluster.path("pods"))

    assert response.body["message"] == (
        f'pods is forbidden: User "{user}" cannot list resource "pods" in API group "" in the namespace '
        f'"{cluster.namespace}": RBAC: role.{GROUP} "nope" not found'
    )


async def test_changed_roles_and_bindings_take_effect(cluster: Cluster) -> None:
    user, listing = user_of(cluster), rule("list", "pods")
    name = await allow(cluster, user, listing)
    alice = cluster.acting_as(user)
    codes = [(await alice.call("GET", cluster.path("pods"))).code]

    await cluster.update("roles", role(name, rule("get", "pods")))
    await wait_permission(cluster, user, listing, namespace=cluster.namespace, allowed=False)
    codes.append((await alice.call("GET", cluster.path("pods"))).code)
    await cluster.update("roles", role(name, listing))
    await wait_permission(cluster, user, listing, namespace=cluster.namespace)
    codes.append((await alice.call("GET", cluster.path("pods"))).code)
    await cluster.delete("rolebindings", name)
    await wait_permission(cluster, user, listing, namespace=cluster.namespace, allowed=False)
    codes.append((await alice.call("GET", cluster.path("pods"))).code)

    assert codes == [200, 403, 200, 403]


async def test_an_open_watch_continues_after_its_permission_is_revoked(cluster: Cluster) -> None:
    user, watching = user_of(cluster), rule("watch", "configmaps")
    name = await allow(cluster, user, watching)

    async with cluster.acting_as(user).watch("configmaps") as events:
        await cluster.delete("rolebindings", name)
        await wait_permission(cluster, user, watching, namespace=cluster.namespace, allowed=False)
        await cluster.create("configmaps", config("late"))
        received = await events.until("late")

    assert types_and_names(received)[-1] == ("ADDED", "late")
    response = await cluster.acting_as(user).call("GET", f"{cluster.path('configmaps')}?watch=1")
    assert response.code == 403


@pytest.mark.parametrize(("verbs", "code"), [("patch", 403), ("patch create", 201)])
async def test_an_apply_that_creates_an_object_requires_create(cluster: Cluster, verbs: str, code: int) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule(verbs, "configmaps"))

    response = await cluster.acting_as(user).call(
        "PATCH", cluster.path("configmaps", "a"), params={"fieldManager": "m"}, body=config(), content_type=APPLY
    )

    assert response.code == code
    if code == 403:
        why = (
            f'User "{user}" cannot create resource "configmaps" in API group "" in the namespace "{cluster.namespace}"'
            if cluster.version > (1, 20)
            else ""
        )
        assert response.body["message"] == f'configmaps "a" is forbidden: {why}'


@pytest.mark.parametrize(("verbs", "code"), [("update", 403), ("update create", 201)])
async def test_an_update_that_creates_an_object_requires_create(cluster: Cluster, verbs: str, code: int) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule(verbs, "leases", "coordination.k8s.io"))
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}

    response = await cluster.acting_as(user).call("PUT", cluster.path("leases", "l"), body=lease)

    assert response.code == code


async def test_an_unknown_path_is_a_403_without_permission(cluster: Cluster) -> None:
    for path in ("/api/v1/unicorns", "/apis/nope.example/v1/things"):
        assert (await cluster.acting_as(user_of(cluster)).call("GET", path)).code == 403
        assert (await cluster.call("GET", path)).code == 404


@pytest.mark.parametrize(("method", "path"), [("POST", "serviceaccounts/default//token"), ("GET", "pods/p//status")])
async def test_a_path_with_an_empty_segment_is_a_404(cluster: Cluster, method: str, path: str) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule("* create", "serviceaccounts pods"))
    await cluster.create("serviceaccounts", {"metadata": {"name": "default"}})

    place = f"/api/v1/namespaces/{cluster.namespace}/{path}"
    response = await cluster.acting_as(user).call(method, place, body={"spec": {}})

    assert response.code == 404
    assert response.body["message"] == "the server could not find the requested resource"
