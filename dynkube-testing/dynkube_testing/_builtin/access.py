"""Roles, ClusterRoles and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._calls.api import JSONObject

_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def _decide_role(obj: JSONObject, old: JSONObject | None) -> None:
    obj["rules"] = obj.get("rules") or None  # as in a real server, an empty list is stored as null


def _check_urls(rule: Field) -> None:
    """Check a rule for URLs, or the groups and resources of another rule."""
    urls = rule.at("nonResourceURLs")
    if not urls.value:
        checks.required("resource rules must supply at least one api group")(rule.at("apiGroups"))
        checks.required("resource rules must supply at least one resource")(rule.at("resources"))
        return
    if rule.owner is not None and rule.owner.type.endswith("v1.Role"):
        urls.invalid("namespaced rules cannot apply to non-resource URLs")
    if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
        urls.invalid("rules cannot apply to both regular resources and non-resource URLs")


def _complete_subject(subject: JSONObject) -> None:
    if subject.get("kind") in {"User", "Group"} and not subject.get("apiGroup"):
        subject["apiGroup"] = _GROUP


def _check_subject(subject: Field) -> None:
    group, namespaced = subject.at("apiGroup"), subject.owner is None or subject.owner.type.endswith("v1.RoleBinding")
    match subject.get("kind"):
        case "ServiceAccount":
            if subject.get("name"):
                checks.subdomain(subject.at("name"))
            if group.value:
                group.one_of(("",))
            if not namespaced and not subject.get("namespace"):
                subject.at("namespace").required()
        case "User" | "Group":
            group.one_of((_GROUP,))
        case _:
            subject.at("kind").one_of(_SUBJECTS)


def _check_role_kind(role: Field) -> None:
    namespaced = role.owner is not None and role.owner.type.endswith("v1.RoleBinding")
    role.at("kind").one_of(("Role", "ClusterRole") if namespaced else ("ClusterRole",))


def _keep_role(binding: Field, old: JSONObject) -> None:
    role = binding.at("roleRef")
    if role.value != old["roleRef"]:
        shown = {"APIGroup": role.get("apiGroup"), "Kind": role.get("kind"), "Name": role.get("name")}
        role.invalid("cannot change roleRef", {name: value or "" for name, value in shown.items()})


DEFAULTS: typedefaults.Table = {
    "rbac.v1.RoleRef": ({"apiGroup": _GROUP},),
    "rbac.v1.Subject": (_complete_subject,),
}
CHECKS: typechecks.Table = {
    "rbac.v1.Role": ("rules",),
    "rbac.v1.ClusterRole": ("rules",),
    "rbac.v1.PolicyRule": (("verbs", checks.required("verbs must contain at least one value")), _check_urls),
    "rbac.v1.RoleBinding": ("roleRef", "subjects"),
    "rbac.v1.ClusterRoleBinding": ("roleRef", "subjects"),
    "rbac.v1.RoleRef": (("apiGroup", checks.one_of(_GROUP)), _check_role_kind, "name!"),
    "rbac.v1.Subject": ("name!", _check_subject),
}
RULES: Mapping[str, Factory] = {
    f"roles.{_GROUP}": partial(BuiltinRules, decides=_decide_role),
    f"clusterroles.{_GROUP}": partial(BuiltinRules, decides=_decide_role),
    f"rolebindings.{_GROUP}": partial(BuiltinRules, changes=_keep_role),
    f"clusterrolebindings.{_GROUP}": partial(BuiltinRules, changes=_keep_role),
}
