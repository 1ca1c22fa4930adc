"""Deployments, ReplicaSets, StatefulSets, DaemonSets and related kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dynkube_testing._builtin.findings import IMMUTABLE, BuiltinFindings, fill, section, show_times
from dynkube_testing._builtin.podchecks import check_template
from dynkube_testing._builtin.podspecs import complete_claim_spec, complete_template
from dynkube_testing._builtin.podwarnings import template_warnings
from dynkube_testing._builtin.rules import POD_NAMES, BuiltinRules, may_warn
from dynkube_testing._builtin.selectors import check_selector, is_empty, selects
from dynkube_testing._builtin.volumewarnings import claim_warnings
from dynkube_testing._calls.api import JSONObject

_MISMATCH = "`selector` does not match template `labels`"
_PERCENT_HELP = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_STATEFUL_FIELDS = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}
_STATEFUL_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
# Fields in the status of a Deployment that count a part of its replicas.
_PARTS = ("updatedReplicas", "readyReplicas", "availableReplicas")
_OTHER_COUNTS = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
_ALL_REVISIONS = "a negative value retains all historical revisions; a value >= 0 is recommended"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

# ── defaults ──────────────────────────────────────────────────────────────────────────────────


def _complete_deployment(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = section(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), maxUnavailable="25%", maxSurge="25%")
    complete_template(spec)
    show_times(obj, "lastUpdateTime", "lastTransitionTime")


def _complete_replicas(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, replicas=1)
    complete_template(spec)
    show_times(obj, "lastTransitionTime")


def _complete_stateful_set(obj: JSONObject) -> None:
    _complete_replicas(obj)
    spec = obj["spec"]
    fill(spec, podManagementPolicy="OrderedReady", revisionHistoryLimit=10)
    fill(section(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    strategy = section(spec, "updateStrategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), partition=0)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"kind": "PersistentVolumeClaim", "apiVersion": "v1"})
        complete_claim_spec(section(claim, "spec"))
        fill(section(claim, "status"), phase="Pending")


def _complete_daemon_set(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, revisionHistoryLimit=10)
    strategy = section(spec, "updateStrategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        fill(section(strategy, "rollingUpdate"), maxUnavailable=1, maxSurge=0)
    complete_template(spec)
    show_times(obj, "lastTransitionTime")
    metadata = obj["metadata"]
    metadata["annotations"] = {_TEMPLATE_GENERATION: "1", **(metadata.get("annotations") or {})}


def _complete_controller(obj: JSONObject) -> None:
    spec, had_template = section(obj, "spec"), "template" in section(obj, "spec")
    show_times(obj, "lastTransitionTime")
    fill(spec, replicas=1)
    if not had_template:
        return
    complete_template(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels:
        spec["selector"] = spec.get("selector") or dict(labels)
        obj["metadata"]["labels"] = obj["metadata"].get("labels") or dict(labels)


# ── fields set by the server ──────────────────────────────────────────────────────────────────

_COUNTS: Mapping[str, JSONObject] = {
    "StatefulSet": {"replicas": 0, "availableReplicas": 0},
    "DaemonSet": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "Replicas": {"replicas": 0},
}


def _decide_status(obj: JSONObject, old: JSONObject | None, counts: JSONObject) -> None:
    fill(section(obj, "status"), **counts)


def _decide_daemon_set(obj: JSONObject, old: JSONObject | None) -> None:
    _decide_status(obj, old, _COUNTS["DaemonSet"])
    metadata, annotations = obj["metadata"], dict(obj["metadata"].get("annotations") or {})
    generation = 1
    if old is not None:
        generation = int(old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "1"))
        generation += obj["spec"]["template"] != old["spec"]["template"]
    metadata["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def check_count_or_percent(findings: BuiltinFindings, path: str, value: Any, *, limited: bool = True) -> None:
    """Check that ``value`` is a number >= 0 or a percentage.

    With ``limited``, a percentage must not exceed 100.
    """
    if isinstance(value, str):
        if not re.fullmatch("[0-9]+%", value):
            findings.invalid(path, value, _PERCENT_HELP)
        elif limited and int(value[:-1]) > 100:
            findings.invalid(path, value, "must not be greater than 100%")
    elif value < 0:
        findings.invalid(path, value, "must be greater than or equal to 0")


def _check_selection(findings: BuiltinFindings, spec: JSONObject, kind: str, *, required: bool = True) -> None:
    """Validate the selector, which must match the labels of the template."""
    selector = spec.get("selector")
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    if selector is None:
        if required:
            findings.required("spec.selector")
        findings.invalid("spec.template.metadata.labels", labels, _MISMATCH)
        return
    before = len(findings.causes)
    check_selector(findings, "spec.selector", selector)
    if len(findings.causes) > before:
        findings.invalid("spec.selector", selector, "invalid label selector")
    elif is_empty(selector):
        findings.invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    elif not selects(selector, labels or {}):
        findings.invalid("spec.template.metadata.labels", labels, _MISMATCH)


def _check_pods_stay(findings: BuiltinFindings, spec: JSONObject, kind: str = "ReplicaSet") -> None:
    pod = spec["template"]["spec"]
    check_template(findings, "spec.template", spec["template"])
    if pod.get("restartPolicy") in {"OnFailure", "Never"}:
        findings.one_of("spec.template.spec.restartPolicy", pod["restartPolicy"], ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        findings.forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def _check_deployment(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    findings.not_negative(spec, "spec", "replicas")
    _check_selection(findings, spec, "deployment")
    _check_pods_stay(findings, spec)
    strategy = spec["strategy"]
    if strategy["type"] not in {"Recreate", "RollingUpdate"}:
        shown = {"Type": strategy["type"], "RollingUpdate": None}
        findings.one_of("spec.strategy", shown, ("Recreate", "RollingUpdate"))
    elif strategy["type"] == "Recreate":
        if strategy.get("rollingUpdate") is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            findings.forbidden("spec.strategy.rollingUpdate", detail)
    else:
        _check_rolling(findings, "spec.strategy.rollingUpdate", strategy["rollingUpdate"])
    findings.not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    if 0 <= (deadline := spec["progressDeadlineSeconds"]) <= spec.get("minReadySeconds", 0):
        findings.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    _check_counts(findings, obj.get("status") or {})


def _check_counts(findings: BuiltinFindings, status: JSONObject) -> None:
    """Check that the numbers in the status of a Deployment are consistent."""
    findings.not_negative(status, "status", "observedGeneration", "replicas", *_PARTS, *_OTHER_COUNTS)
    counts = {name: status.get(name, 0) for name in ("replicas", *_PARTS)}
    for name in _PARTS:
        if counts[name] > counts["replicas"]:
            findings.invalid(f"status.{name}", counts[name], "cannot be greater than status.replicas")
    if counts["availableReplicas"] > counts["readyReplicas"]:
        why = "cannot be greater than readyReplicas"
        findings.invalid("status.availableReplicas", counts["availableReplicas"], why)


def _check_rolling(findings: BuiltinFindings, path: str, rolling: JSONObject) -> None:
    before = len(findings.causes)
    check_count_or_percent(findings, f"{path}.maxSurge", rolling["maxSurge"], limited=False)
    check_count_or_percent(findings, f"{path}.maxUnavailable", rolling["maxUnavailable"])
    none = {0, "0%"}
    if len(findings.causes) == before and rolling["maxUnavailable"] in none and rolling["maxSurge"] in none:
        detail = "may not be 0 when `maxSurge` is 0"
        findings.invalid(f"{path}.maxUnavailable", rolling["maxUnavailable"], detail)


def _check_replica_set(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    findings.not_negative(spec, "spec", "replicas", "minReadySeconds")
    _check_selection(findings, spec, "ReplicaSet")
    _check_pods_stay(findings, spec)


def _check_stateful_set(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    if (policy := spec["podManagementPolicy"]) not in {"OrderedReady", "Parallel"}:
        findings.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy = spec["updateStrategy"]
    if strategy["type"] not in {"RollingUpdate", "OnDelete"}:
        shown = {"Type": strategy["type"], "RollingUpdate": None}
        findings.invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
    findings.not_negative(spec, "spec", "replicas", "minReadySeconds")
    _check_selection(findings, spec, "StatefulSet")
    _check_pods_stay(findings, spec, "StatefulSet")


def _check_daemon_set(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    _check_selection(findings, spec, "DaemonSet", required=False)
    _check_pods_stay(findings, spec, "DaemonSet")
    findings.not_negative(spec, "spec", "minReadySeconds")
    if (kind := spec["updateStrategy"]["type"]) not in {"RollingUpdate", "OnDelete"}:
        shown = {"Type": kind, "RollingUpdate": None}
        findings.one_of("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))
    findings.not_negative(spec, "spec", "revisionHistoryLimit")


def _check_controller(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    findings.not_negative(spec, "spec", "minReadySeconds")
    if not spec.get("selector") and spec.get("template"):
        findings.required("spec.selector")
    findings.not_negative(spec, "spec", "replicas")
    if not isinstance(template := spec.get("template"), dict):
        findings.required("spec.template")
        return
    labels = template["metadata"].get("labels") or {}
    if not selects({"matchLabels": spec.get("selector")}, labels):
        findings.invalid("spec.template.metadata.labels", labels or None, _MISMATCH)
    _check_pods_stay(findings, spec, "ReplicationController")


def _keep_selector(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    selector = obj["spec"].get("selector")
    findings.immutable("spec.selector", selector, old["spec"].get("selector"), IMMUTABLE)


def _keep_stateful_set(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    new, before = ({k: v for k, v in each["spec"].items() if k not in _STATEFUL_FIELDS} for each in (obj, old))
    if new != before:
        findings.forbidden("spec", _STATEFUL_UPDATE)


def _keep_data(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    findings.immutable("data", obj.get("data"), old.get("data"))


def _caution(obj: JSONObject, old: JSONObject | None) -> list[str]:
    return template_warnings("spec.template", obj["spec"].get("template")) if may_warn(obj, old) else []


def _caution_daemon_set(obj: JSONObject, old: JSONObject | None) -> list[str]:
    same = old is not None and obj["spec"]["template"] == old["spec"]["template"]
    return [] if same else template_warnings("spec.template", obj["spec"]["template"])


def _caution_controller(obj: JSONObject, old: JSONObject | None) -> list[str]:
    """Return the warnings for the pod template.

    On an update, they are about the old object, because kube-apiserver 1.36 mixes up the old and the new object.
    """
    source = obj if old is None else old
    return template_warnings("spec.template", source["spec"].get("template")) if may_warn(obj, old) else []


def _caution_stateful_set(obj: JSONObject, old: JSONObject | None) -> list[str]:
    warnings, spec = _caution(obj, old), obj["spec"]
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        at = f"spec.volumeClaimTemplates[{index}]{'' if old is None else '.Spec'}"
        warnings += claim_warnings(at, claim["spec"])
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(f"spec.revisionHistoryLimit: {_ALL_REVISIONS}")
    return warnings


def _counting(kind: str) -> Any:
    return lambda obj, old: _decide_status(obj, old, _COUNTS[kind])


RULES: Mapping[str, BuiltinRules] = {
    "deployments.apps": BuiltinRules(
        defaults=_complete_deployment,
        decides=lambda obj, old: _decide_status(obj, old, {}),
        checks=_check_deployment,
        changes=_keep_selector,
        names=POD_NAMES,
        cautions=_caution,
    ),
    "replicasets.apps": BuiltinRules(
        defaults=_complete_replicas,
        decides=_counting("Replicas"),
        checks=_check_replica_set,
        changes=_keep_selector,
        names=POD_NAMES,
        cautions=_caution,
    ),
    "statefulsets.apps": BuiltinRules(
        defaults=_complete_stateful_set,
        decides=_counting("StatefulSet"),
        checks=_check_stateful_set,
        changes=_keep_stateful_set,
        cautions=_caution_stateful_set,
    ),
    "daemonsets.apps": BuiltinRules(
        defaults=_complete_daemon_set,
        decides=_decide_daemon_set,
        checks=_check_daemon_set,
        changes=_keep_selector,
        cautions=_caution_daemon_set,
    ),
    "replicationcontrollers": BuiltinRules(
        defaults=_complete_controller,
        decides=_counting("Replicas"),
        checks=_check_controller,
        names=POD_NAMES,
        cautions=_caution_controller,
    ),
    "controllerrevisions.apps": BuiltinRules(changes=_keep_data),
}
