"""What roles and bindings have to look like, whether or not anybody evaluates them."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject

_SUBJECTS = ("ServiceAccount", "User", "Group")


def rule_causes(role: JSONObject, *, namespaced: bool) -> list[StatusCause]:
    """What is wrong with the rules of a role."""
    rules = role.get("rules") or ()
    return [
        cause
        for index, rule in enumerate(rules)
        if isinstance(rule, dict)
        for cause in _rule_causes(rule, f"rules[{index}]", namespaced=namespaced)
    ]


def _rule_causes(rule: JSONObject, path: str, *, namespaced: bool) -> Iterator[StatusCause]:
    if not rule.get("verbs"):
        yield refuse.required(f"{path}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            yield refuse.bad_value(f"{path}.nonResourceURLs", urls, detail)
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield refuse.bad_value(f"{path}.nonResourceURLs", urls, detail)
        return
    if not rule.get("apiGroups"):
        yield refuse.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield refuse.required(f"{path}.resources", "resource rules must supply at least one resource")


def binding_causes(binding: JSONObject, old: JSONObject | None, *, namespaced: bool) -> list[StatusCause]:
    """What is wrong with a binding; one that is there stays with its role, whoever else its subjects become."""
    role = _role_ref(binding)
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    causes = []
    if role["Kind"] not in kinds:
        causes.append(refuse.not_supported("roleRef.kind", role["Kind"], kinds))
    if not role["Name"]:
        causes.append(refuse.required("roleRef.name"))
    subjects = (subject for subject in binding.get("subjects") or () if isinstance(subject, dict))
    for index, subject in enumerate(subjects):
        causes += _subject_causes(subject, f"subjects[{index}]", namespaced=namespaced)
    if old is not None and role != _role_ref(old):
        causes.append(refuse.bad_value("roleRef", role, "cannot change roleRef"))
    return causes


def _role_ref(binding: JSONObject) -> JSONObject:
    """A reference as the real server shows it: by the names of its own fields."""
    ref = binding.get("roleRef")
    ref = ref if isinstance(ref, dict) else {}
    return {"APIGroup": ref.get("apiGroup") or "", "Kind": ref.get("kind") or "", "Name": ref.get("name") or ""}


def _subject_causes(subject: JSONObject, path: str, *, namespaced: bool) -> Iterator[StatusCause]:
    if not subject.get("name"):
        yield refuse.required(f"{path}.name")
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        yield refuse.not_supported(f"{path}.kind", kind, _SUBJECTS)
    elif kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
        yield refuse.required(f"{path}.namespace")
