"""With RBAC, a server starts with the default roles of a cluster, and aggregated roles follow their selectors."""

from __future__ import annotations

from typing import Any

from dynkube_testing import APIServer

RBAC = "rbac.authorization.k8s.io/v1"


def _rules(server: APIServer, name: str) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = server.get("clusterroles", name).get("rules") or []
    return rules


def _contribute(server: APIServer, *, to: str) -> dict[str, Any]:
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{to}": "true"}
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}
    metadata = {"name": "widget-viewer", "labels": labels}
    return server.create({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]})


async def test_the_default_roles_and_bindings_exist(guarded: APIServer) -> None:
    roles = {role["metadata"]["name"] for role in guarded.list("clusterroles")}
    bindings = {binding["metadata"]["name"] for binding in guarded.list("clusterrolebindings")}

    assert roles >= {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"}
    assert bindings >= {"cluster-admin", "system:discovery", "system:basic-user", "system:public-info-viewer"}


async def test_admin_includes_edit_which_includes_view(guarded: APIServer) -> None:
    view, edit, admin = (_rules(guarded, name) for name in ("view", "edit", "admin"))

    assert view
    assert all(rule in edit for rule in view)
    assert all(rule in admin for rule in edit)
    assert len(view) < len(edit) < len(admin)


async def test_a_role_labelled_for_view_is_aggregated_at_once_into_view_edit_and_admin(guarded: APIServer) -> None:
    contributed = _contribute(guarded, to="view")

    assert all(contributed["rules"][0] in _rules(guarded, name) for name in ("view", "edit", "admin"))


async def test_the_rules_of_a_deleted_role_leave_the_aggregated_roles(guarded: APIServer) -> None:
    contributed = _contribute(guarded, to="edit")

    guarded.delete("clusterroles", "widget-viewer")

    assert all(contributed["rules"][0] not in _rules(guarded, name) for name in ("edit", "admin"))


async def test_an_aggregation_selector_may_have_expressions(guarded: APIServer) -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    for name, labels in (("one", {"team": "a"}), ("two", {"team": "c"})):
        rules = [{**rule, "resourceNames": [name]}]
        metadata = {"name": name, "labels": labels}
        guarded.create({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata, "rules": rules})

    aggregation = {"clusterRoleSelectors": [selector]}
    metadata = {"name": "all"}
    guarded.create({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": metadata, "aggregationRule": aggregation})

    assert _rules(guarded, "all") == [{**rule, "resourceNames": ["one"]}]
