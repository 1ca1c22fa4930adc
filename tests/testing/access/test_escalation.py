"""Nobody gives away by RBAC what they do not have, unless they may escalate or bind."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from dynkube.testing import APIServer
from tests.testing.access.test_authorization import allow

GROUP = "rbac.authorization.k8s.io"
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"


def _rule(verbs: list[str], groups: list[str], resources: list[str], *names: str) -> dict[str, list[str]]:
    rule = {"verbs": verbs, "apiGroups": groups, "resources": resources}
    return {**rule, "resourceNames": list(names)} if names else rule


def _binding(role: str, kind: str = "ClusterRole") -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": []}


@pytest.fixture
def delegate(guarded: APIServer) -> None:
    """Alice may write roles and bindings in ``default``, and read pods there."""
    allow(guarded, "alice", _rule(["create", "get", "update", "patch"], [GROUP], ["roles", "rolebindings"]), "default")
    role = guarded.get("roles", "role-of-alice")
    guarded.update({**role, "rules": [*role["rules"], _rule(["get", "list"], [""], ["pods"])]})


@pytest.mark.usefixtures("delegate")
async def test_a_role_of_what_its_writer_holds_is_written(alice: httpx2.AsyncClient) -> None:
    answer = await alice.post(ROLES, json={"metadata": {"name": "r"}, "rules": [_rule(["get"], [""], ["pods"])]})

    assert answer.status_code == 201


@pytest.mark.usefixtures("delegate")
@pytest.mark.parametrize(
    ("rules", "listed"),
    [
        (
            [
                _rule(["get", "create"], ["", "apps"], ["pods", "deployments/scale"]),
                _rule(["get"], [""], ["secrets"], "a", "b"),
            ],
            [
                '{APIGroups:[""], Resources:["deployments/scale"], Verbs:["get" "create"]}',
                '{APIGroups:[""], Resources:["pods"], Verbs:["create"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
                '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get" "create"]}',
                '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "create"]}',
            ],
        ),
        ([_rule(["*"], ["*"], ["*"])], ['{APIGroups:["*"], Resources:["*"], Verbs:["*"]}']),
    ],
)
async def test_a_role_of_more_is_refused_with_all_that_is_missing(
    alice: httpx2.AsyncClient, rules: list[object], listed: list[str]
) -> None:
    answer = await alice.post(ROLES, json={"metadata": {"name": "r"}, "rules": rules})

    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
    assert answer.json()["message"] == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n" + "\n".join(listed)
    )


@pytest.mark.usefixtures("delegate")
async def test_an_update_is_checked_unless_it_leaves_the_rules_alone(
    guarded: APIServer, alice: httpx2.AsyncClient
) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    role = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "secrets"}}
    guarded.create({**role, "rules": [_rule(["get"], [""], ["secrets"])]})

    finalizers = {"metadata": {"finalizers": ["example.com/held"]}}
    same = await alice.patch(f"{ROLES}/secrets", json=finalizers, headers=headers)
    wider = await alice.patch(f"{ROLES}/secrets", json={"rules": [_rule(["list"], [""], ["secrets"])]}, headers=headers)

    assert (same.status_code, wider.status_code) == (200, 403)


@pytest.mark.usefixtures("delegate")
async def test_a_binding_to_a_role_of_more_is_refused(alice: httpx2.AsyncClient) -> None:
    answer = await alice.post(BINDINGS, json=_binding("system:monitoring"))

    assert answer.status_code == 403
    assert answer.json()["message"].startswith('rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "alice"')
    assert '{NonResourceURLs:["/metrics"], Verbs:["get"]}' in answer.json()["message"]


@pytest.mark.usefixtures("delegate")
async def test_a_binding_to_a_role_that_is_not_there_is_a_404(alice: httpx2.AsyncClient) -> None:
    answer = await alice.post(BINDINGS, json=_binding("nope"))

    assert answer.status_code == 404
    assert answer.json()["message"] == 'rolebindings.rbac.authorization.k8s.io "nope" not found'


@pytest.mark.usefixtures("delegate")
async def test_who_may_escalate_or_bind_needs_to_hold_nothing(guarded: APIServer, alice: httpx2.AsyncClient) -> None:
    allow(guarded, "alice", _rule(["escalate", "bind"], [GROUP], ["roles", "clusterroles"]))

    role = await alice.post(ROLES, json={"metadata": {"name": "r"}, "rules": [_rule(["*"], ["*"], ["*"])]})
    binding = await alice.post(BINDINGS, json=_binding("cluster-admin"))

    assert (role.status_code, binding.status_code) == (201, 201)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_only_who_holds_everything_may_collect_the_rules_of_other_roles(
    guarded: APIServer, alice: httpx2.AsyncClient, method: str
) -> None:
    allow(guarded, "alice", _rule(["create", "patch"], [GROUP], ["clusterroles"]))
    path, headers = f"/apis/{GROUP}/v1/clusterroles", {"Content-Type": "application/merge-patch+json"}
    guarded.create({"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "old"}})
    everything: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [{}]}}

    if method == "POST":
        answer = await alice.post(path, json={"metadata": {"name": "old"}, **everything})
    else:
        answer = await alice.patch(f"{path}/old", json=everything, headers=headers)

    why = "must have cluster-admin privileges to use the aggregationRule"
    assert answer.status_code == 403
    assert answer.json()["message"] == f'clusterroles.rbac.authorization.k8s.io "old" is forbidden: {why}'


@pytest.mark.parametrize("rights", ["escalate", "everything"])
async def test_who_holds_everything_or_may_escalate_may_aggregate(
    guarded: APIServer, alice: httpx2.AsyncClient, rights: str
) -> None:
    if rights == "escalate":
        allow(guarded, "alice", _rule(["create", "escalate"], [GROUP], ["clusterroles"]))
    else:
        subject = {"apiGroup": GROUP, "kind": "User", "name": "alice"}
        binding = {**_binding("cluster-admin"), "subjects": [subject]}
        guarded.create({"apiVersion": f"{GROUP}/v1", "kind": "ClusterRoleBinding", **binding})
    role = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}

    answer = await alice.post(f"/apis/{GROUP}/v1/clusterroles", json=role)

    assert answer.status_code == 201


async def test_the_administrator_may_give_everything(admin: httpx2.AsyncClient) -> None:
    assert (await admin.post(BINDINGS, json=_binding("cluster-admin"))).status_code == 201
