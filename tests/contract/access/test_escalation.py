"""Privilege escalation: a user can grant only permissions that they have, unless they may escalate or bind."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Forbidden, NotFound
from tests.contract.access.kit import GROUP, allow, binding, role, rule, user_of
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject


@pytest.fixture
async def delegate(cluster: Cluster) -> Cluster:
    """The cluster as a user that may write roles and bindings in the namespace, and read pods there."""
    user = user_of(cluster)
    await allow(cluster, user, rule("create get update patch", "roles rolebindings", GROUP), rule("get list", "pods"))
    return cluster.acting_as(user, "devs")


async def test_a_role_with_permissions_that_its_author_has_is_created(delegate: Cluster) -> None:
    created = await delegate.create("roles", role("r", rule("get", "pods")))

    assert created["rules"] == [rule("get", "pods")]


_MORE = {"verbs": ["get", "create"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments/scale"]}


@pytest.mark.parametrize(
    ("rules", "listed"),
    [
        (
            [_MORE, rule("get", "secrets", "", "a", "b")],
            [
                '{APIGroups:[""], Resources:["deployments/scale"], Verbs:["get" "create"]}',
                '{APIGroups:[""], Resources:["pods"], Verbs:["create"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
                '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get" "create"]}',
                '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "create"]}',
            ],
        ),
        ([rule("*", "*", "*")], ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}']),
    ],
)
async def test_creating_a_role_with_more_permissions_is_a_403_that_lists_them(
    cluster: Cluster, delegate: Cluster, rules: list[JSONObject], listed: list[str]
) -> None:
    with pytest.raises(Forbidden) as caught:
        await delegate.create("roles", role("r", *rules))

    assert caught.value.status.message == (
        f'roles.rbac.authorization.k8s.io "r" is forbidden: user "{user_of(cluster)}" '
        '(groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        + "\n".join(listed)
    )


async def test_an_update_is_checked_only_if_it_changes_the_rules(cluster: Cluster, delegate: Cluster) -> None:
    await cluster.create("roles", role("wide", rule("get", "secrets")))

    same = await delegate.patch("roles", "wide", {"metadata": {"finalizers": ["example.com/held"]}})

    assert same["metadata"]["finalizers"] == ["example.com/held"]
    with pytest.raises(Forbidden):
        await delegate.patch("roles", "wide", {"rules": [rule("list", "secrets")]})


async def test_a_binding_to_a_role_with_more_permissions_is_a_403(delegate: Cluster) -> None:
    with pytest.raises(Forbidden) as caught:
        await delegate.create("rolebindings", binding("b", "ClusterRole", "system:monitoring"))

    message = caught.value.status.message
    assert message.startswith(f'rolebindings.{GROUP} "b" is forbidden: user "alice.')
    assert '\n{NonResourceURLs:["/metrics"], Verbs:["get"]}' in message


async def test_a_binding_to_a_missing_role_is_a_404(cluster: Cluster, delegate: Cluster) -> None:
    with pytest.raises(NotFound) as missing:
        await delegate.create("rolebindings", binding("b", "ClusterRole", "nope"))

    resource = "rolebindings" if cluster.version > (1, 20) else "clusterroles"
    assert missing.value.status.message == f'{resource}.{GROUP} "nope" not found'


async def test_a_user_who_may_escalate_or_bind_can_grant_any_permission(cluster: Cluster, delegate: Cluster) -> None:
    permissions = [rule("escalate", "roles", GROUP), rule("bind", "clusterroles", GROUP)]
    await allow(cluster, user_of(cluster), *permissions, everywhere=True)

    await delegate.create("roles", role("r", rule("*", "*", "*")))
    bound = await delegate.create("rolebindings", binding("b", "ClusterRole", "cluster-admin"))

    assert bound["roleRef"]["name"] == "cluster-admin"


async def test_the_permission_to_bind_can_be_limited_to_single_roles(cluster: Cluster, delegate: Cluster) -> None:
    await allow(cluster, user_of(cluster), rule("bind", "clusterroles", GROUP, "cluster-admin"), everywhere=True)

    await delegate.create("rolebindings", binding("b", "ClusterRole", "cluster-admin"))

    with pytest.raises(Forbidden):
        await delegate.create("rolebindings", binding("c", "ClusterRole", "system:monitoring"))


@pytest.mark.parametrize("verb", ["create", "patch"])
async def test_an_aggregation_rule_requires_all_permissions(cluster: Cluster, verb: str) -> None:
    user = user_of(cluster)
    await allow(cluster, user, rule(verb, "clusterroles", GROUP), everywhere=True)
    selector = {"matchLabels": {"nobody": cluster.group}}
    collecting: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [selector]}}
    alice, plain = cluster.acting_as(user), role(user, everywhere=True)

    if verb == "create":
        response = await alice.call("POST", alice.path("clusterroles"), body={**plain, **collecting})
    else:
        await cluster.create("clusterroles", plain)
        path = alice.path("clusterroles", user)
        response = await alice.call("PATCH", path, body=collecting, content_type=MERGE)

    why = "must have cluster-admin privileges to use the aggregationRule"
    assert response.code == 403
    assert response.body["message"] == f'clusterroles.{GROUP} "{user}" is forbidden: {why}'


@pytest.mark.parametrize("permissions", ["escalate", "everything"])
async def test_a_user_with_all_permissions_or_escalate_can_write_an_aggregation_rule(
    cluster: Cluster, permissions: str
) -> None:
    user = user_of(cluster)
    urls = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    held = (
        [rule("create escalate", "clusterroles", GROUP)] if permissions == "escalate" else [rule("*", "*", "*"), urls]
    )
    await allow(cluster, user, *held, everywhere=True)
    selector = {"matchLabels": {"nobody": cluster.group}}

    collecting = {**role(user, everywhere=True), "aggregationRule": {"clusterRoleSelectors": [selector]}}
    created = await cluster.acting_as(user).create("clusterroles", collecting)

    assert created["aggregationRule"] == {"clusterRoleSelectors": [selector]}


async def test_the_administrator_can_grant_everything(cluster: Cluster) -> None:
    bound = await cluster.create("rolebindings", binding("b", "ClusterRole", "cluster-admin"))

    assert bound["roleRef"] == {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}
