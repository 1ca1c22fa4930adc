"""Users and service accounts of one test, and RBAC permissions for them."""

from __future__ import annotations

from dataclasses import replace

import trio

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject

GROUP = "rbac.authorization.k8s.io"


def user_of(cluster: Cluster, name: str = "alice") -> str:
    """Return the name of a user that only this test has, without permissions."""
    return f"{name}.{cluster.group}"


def rule(verbs: str, resources: str, group: str = "", *names: str) -> JSONObject:
    """Return a rule of a role; ``verbs`` and ``resources`` are separated by spaces."""
    made = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return {**made, "resourceNames": list(names)} if names else made


def role(name: str, *rules: JSONObject, everywhere: bool = False) -> JSONObject:
    """Return a Role, or a ClusterRole if ``everywhere``."""
    kind = "ClusterRole" if everywhere else "Role"
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "rules": list(rules)}


def binding(name: str, kind: str, role: str, *users: str, everywhere: bool = False) -> JSONObject:
    """Return a RoleBinding, or a ClusterRoleBinding if ``everywhere``."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding" if everywhere else "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user} for user in users],
    }


async def allow(cluster: Cluster, user: str, *rules: JSONObject, everywhere: bool = False) -> str:
    """Give ``user`` permissions, in the test's namespace or everywhere; returns the name of both role and binding."""
    kinds = ("clusterroles", "clusterrolebindings") if everywhere else ("roles", "rolebindings")
    kind = "ClusterRole" if everywhere else "Role"
    name = f"{kind.lower()}-of-{user}-{len(cluster.leftovers)}" if everywhere else f"role-of-{user}"
    await cluster.create(kinds[0], role(name, *rules, everywhere=everywhere))
    await cluster.create(kinds[1], binding(name, kind, name, user, everywhere=everywhere))
    for each in rules:
        await wait_permission(cluster, user, each, namespace="" if everywhere else cluster.namespace)
    return name


async def wait_permission(
    cluster: Cluster, user: str, permission: JSONObject, *, namespace: str, allowed: bool = True
) -> None:
    """Wait until the server allows or denies ``user`` what the rule ``permission`` describes.

    A real server watches roles and bindings, and has no event for having seen a change.
    """
    spec = {"user": user, **_attributes(permission, namespace)}
    for _ in range(1000):
        review = await cluster.create("subjectaccessreviews", {"spec": spec})
        if review["status"]["allowed"] is allowed:
            return
        await trio.sleep(0.01)
    raise AssertionError(f"the server does not use the changed permissions: {spec}")


def _attributes(permission: JSONObject, namespace: str) -> JSONObject:
    verb = permission["verbs"][0]
    if "nonResourceURLs" in permission:
        return {"nonResourceAttributes": {"verb": verb, "path": permission["nonResourceURLs"][0]}}
    resource, _, subresource = permission["resources"][0].partition("/")
    about = {"verb": verb, "group": permission["apiGroups"][0], "resource": resource, "subresource": subresource}
    names = permission.get("resourceNames") or [""]
    return {"resourceAttributes": {**about, "namespace": namespace, "name": names[0]}}


async def account(cluster: Cluster, name: str = "bot") -> tuple[Cluster, str]:
    """Create a service account; returns the cluster with the account's token, and its user name."""
    await cluster.create("serviceaccounts", {"metadata": {"name": name}})
    request = await cluster.create("serviceaccounts/token", {"spec": {}}, name)
    headers = {"Authorization": f"Bearer {request['status']['token']}"}
    return replace(cluster, headers=headers), f"system:serviceaccount:{cluster.namespace}:{name}"
