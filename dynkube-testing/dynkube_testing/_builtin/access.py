"""Roles, ClusterRoles and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin.findings import BuiltinFindings, fill, indexed, items, section
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._calls.api import JSONObject

_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def _decide_role(obj: JSONObject, old: JSONObject | None) -> None:
    obj["rules"] = obj.get("rules") or None  # as in a real server, an empty list is stored as null


def _check_role(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None, *, namespaced: bool) -> None:
    for at, rule in indexed(obj, "", "rules"):
        _check_rule(findings, at, rule, namespaced)


def _check_rule(findings: BuiltinFindings, at: str, rule: JSONObject, namespaced: bool) -> None:
    urls = rule.get("nonResourceURLs")
    if not rule.get("verbs"):
        findings.required(f"{at}.verbs", "verbs must contain at least one value")
    if urls:
        if namespaced:
            findings.invalid(f"{at}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            findings.invalid(f"{at}.nonResourceURLs", urls, detail)
        return
    if not rule.get("apiGroups"):
        findings.required(f"{at}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        findings.required(f"{at}.resources", "resource rules must supply at least one resource")


def _complete_binding(obj: JSONObject) -> None:
    fill(section(obj, "roleRef"), apiGroup=_GROUP)
    for subject in items(obj, "subjects"):
        if subject.get("kind") in {"User", "Group"}:
            fill(subject, apiGroup=_GROUP)


def _check_binding(
    findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None, *, kinds: tuple[str, ...]
) -> None:
    role = obj["roleRef"]
    findings.one_of("roleRef.apiGroup", role["apiGroup"], (_GROUP,))
    findings.one_of("roleRef.kind", role.get("kind"), kinds)
    if not role.get("name"):
        findings.required("roleRef.name")
    for at, subject in indexed(obj, "", "subjects"):
        _check_subject(findings, at, subject, needs_namespace=len(kinds) == 1)


def _check_subject(findings: BuiltinFindings, at: str, subject: JSONObject, *, needs_namespace: bool) -> None:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        findings.required(f"{at}.name")
    match subject.get("kind"):
        case "ServiceAccount":
            findings.name(f"{at}.name", name)
            if group:
                findings.one_of(f"{at}.apiGroup", group, ("",))
            if needs_namespace and not subject.get("namespace"):
                findings.required(f"{at}.namespace")
        case "User" | "Group":
            findings.one_of(f"{at}.apiGroup", group, (_GROUP,))
        case kind:
            findings.one_of(f"{at}.kind", kind, _SUBJECTS)


def _keep_role(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    new, before = obj["roleRef"], old["roleRef"]
    if new != before:
        shown = {"APIGroup": new.get("apiGroup", ""), "Kind": new.get("kind", ""), "Name": new.get("name", "")}
        findings.invalid("roleRef", shown, "cannot change roleRef")


def _binding_rules(*kinds: str) -> BuiltinRules:
    return BuiltinRules(defaults=_complete_binding, checks=partial(_check_binding, kinds=kinds), changes=_keep_role)


RULES: Mapping[str, BuiltinRules] = {
    f"roles.{_GROUP}": BuiltinRules(decides=_decide_role, checks=partial(_check_role, namespaced=True)),
    f"clusterroles.{_GROUP}": BuiltinRules(decides=_decide_role, checks=partial(_check_role, namespaced=False)),
    f"rolebindings.{_GROUP}": _binding_rules("Role", "ClusterRole"),
    f"clusterrolebindings.{_GROUP}": _binding_rules("ClusterRole"),
}
