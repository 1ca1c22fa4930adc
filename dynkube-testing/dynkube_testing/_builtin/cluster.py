"""Nodes, Leases, classes, quotas and other kinds for clusters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dynkube_testing._builtin import checks, resourcechecks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import complete_pair, section
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import each, value_of

_NODE_FACTS = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_LIMIT_TYPES = {"Container", "PersistentVolumeClaim", "Pod"}
_HIGHEST_PRIORITY = 1_000_000_000
_SCOPES = {
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
}

# ── Node ──────────────────────────────────────────────────────────────────────────────────────


def _complete_node(obj: JSONObject) -> None:
    complete_pair(section(obj, "spec"), "podCIDR", "podCIDRs")
    section(section(obj, "status"), "nodeInfo")


def _complete_node_status(status: JSONObject) -> None:
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])


def _decide_node(obj: JSONObject, old: JSONObject | None) -> None:
    """Add a taint to a new node, so that pods are not scheduled before it is ready."""
    taints = obj["spec"].get("taints") or []
    if old is None and not any(taint.get("key") == _NOT_READY["key"] for taint in taints):
        obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]


def _check_taints(node: Field) -> None:
    """Check the taints; as in a real server, causes have another path."""
    node.at("spec", "taints").renamed("metadata.taints").check()


# ── scheduling, quotas ────────────────────────────────────────────────────────────────────────


def _check_priority(priority: Field) -> None:
    name, value = priority.at("metadata", "name"), priority.at("value")
    text = name.value or ""
    if text.startswith("system-") and text not in {"system-node-critical", "system-cluster-critical"}:
        name.forbidden(
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{text} is not a known system priority class"
        )
    elif value.value > _HIGHEST_PRIORITY and not text.startswith("system-"):
        value.forbidden(f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}")


def _keep_priority(priority: Field, old: JSONObject) -> None:
    if priority.get("value") != old.get("value", 0):
        priority.at("value").forbidden("may not be changed in an update.")


def _complete_limit(limit: JSONObject) -> None:
    if limit.get("type") == "Container":
        default = {**each(limit, "max"), **each(limit, "default")}
        request = {**each(limit, "min"), **default, **each(limit, "defaultRequest")}
        limit.update({name: value for name, value in (("default", default), ("defaultRequest", request)) if value})


_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# Pairs of limits, of which the first must not be greater, as LimitRanges name them in messages; then the field that is
# named, and the one whose value is shown.
_ORDERED = (
    (("min", "min"), ("max", "max"), "min", "min"),
    (("min", "min"), ("defaultRequest", "default request"), "defaultRequest", "defaultRequest"),
    (("defaultRequest", "default request"), ("max", "max"), "defaultRequest", "defaultRequest"),
    (("defaultRequest", "default request"), ("default", "default limit"), "defaultRequest", "defaultRequest"),
    (("min", "min"), ("default", "default"), "default", "min"),
    (("default", "default"), ("max", "max"), "default", "max"),
)


def _check_limit(limit: Field) -> None:
    _check_limit_type(limit.at("type"), {each.get("type") for each in limit.earlier()})
    of_pods, of_containers = limit.get("type") == "Pod", limit.get("type") in {"Pod", "Container"}
    checking = resourcechecks.check_container_resource if of_containers else resourcechecks.check_resource
    names: dict[str, None] = {}
    for field in _LIMITS:
        given = limit.get(field) or {}
        if of_pods and field.startswith("default"):
            if given:
                limit.at(field).forbidden("may not be specified when `type` is 'Pod'")
            continue
        for name in given:
            checking(limit.at(field).key(name), name)
            names[name] = None
        stored = {*each(limit.value, "min"), *each(limit.value, "max")}
        if field == "defaultRequest" and limit.get("type") == "PersistentVolumeClaim" and "storage" not in stored:
            detail = "either minimum or maximum storage value is required, but neither was provided"
            limit.at("limits").required(detail)
    for name in names:
        _check_limits_of(limit, name, {field: limit.get(field, name) for field in _LIMITS})


def _check_limit_type(of: Field, earlier: set[object]) -> None:
    before = len(of.causes)
    checks.qualified_name(of)
    if len(of.causes) == before and "/" not in of.value and of.value not in _LIMIT_TYPES:
        of.invalid("must be a standard limit type or fully qualified")
    if of.value in earlier:
        of.duplicate()


def _check_limits_of(limit: Field, name: str, given: Mapping[str, Any]) -> None:
    """Compare the limits of one resource."""
    for (less, its_word), (more, word), named, shown in _ORDERED:
        one, other = given[less], given[more]
        if one is not None and other is not None and value_of(one) > value_of(other):
            detail = f"{its_word} value {one} is greater than {word} value {other}"
            limit.at(named).key(name).invalid(detail, given[shown])
    ratio, least, most = given["maxLimitRequestRatio"], given["min"], given["max"]
    field = limit.at("maxLimitRequestRatio").key(name)
    if ratio is not None and value_of(ratio) < 1:
        field.invalid(f"ratio {ratio} is less than 1")
    if ratio is not None and least is not None and most is not None and value_of(least):
        highest = float(value_of(most)) / float(value_of(least))
        if float(value_of(ratio)) > highest:
            field.invalid(f"ratio {ratio} is greater than max/min = {highest:f}")
    default, request = given["default"], given["defaultRequest"]
    both = default is not None and request is not None
    if both and value_of(default) != value_of(request) and not resourcechecks.overcommits(name):
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        limit.at("defaultRequest").key(name).invalid(detail)


def _check_quota(spec: Field) -> None:
    for name, quantity in (spec.get("hard") or {}).items():
        field = spec.at("hard").key(name)
        if problem := naming.qualified_name_problem(name):
            field.invalid(problem, name)
            field.invalid("must be a standard resource for quota", name)
        if value_of(quantity) < 0:
            field.invalid(checks.NOT_NEGATIVE_DETAIL)
    if not set(spec.get("scopes") or ()) <= _SCOPES:
        spec.at("scopes").invalid("unsupported scope")


def _complete_device(request: JSONObject) -> None:
    request["allocationMode"] = request.get("allocationMode") or "ExactCount"
    if request["allocationMode"] == "ExactCount":
        request["count"] = request.get("count") or 1


DEFAULTS: typedefaults.Table = {
    "core.v1.Node": (_complete_node,),
    "core.v1.NodeStatus": (_complete_node_status,),
    "core.v1.NodeSystemInfo": (dict.fromkeys(_NODE_FACTS, ""),),
    "core.v1.DaemonEndpoint": ({"Port": 0},),
    "core.v1.NodeCondition": ({"lastHeartbeatTime": None, "lastTransitionTime": None},),
    "core.v1.NamespaceCondition": ({"lastTransitionTime": None},),
    # Conditions of Services, PodDisruptionBudgets and others; Go encodes these fields also if they are not set.
    "meta.v1.Condition": ({"status": "", "lastTransitionTime": None, "reason": "", "message": ""},),
    "scheduling.v1.PriorityClass": ({"value": 0, "preemptionPolicy": "PreemptLowerPriority"},),
    "core.v1.LimitRangeItem": (_complete_limit,),
    "apiregistration.v1.ServiceReference": ({"port": 443},),
    "resource.v1.ExactDeviceRequest": (_complete_device,),
    "resource.v1.DeviceSubRequest": (_complete_device,),
}
CHECKS: typechecks.Table = {
    "core.v1.Node": (_check_taints,),
    "core.v1.LimitRange": ("spec",),
    "core.v1.LimitRangeSpec": ("limits",),
    "core.v1.LimitRangeItem": (_check_limit,),
    "core.v1.ResourceQuota": ("spec",),
    "core.v1.ResourceQuotaSpec": (_check_quota,),
    "coordination.v1.Lease": ("spec",),
    "coordination.v1.LeaseSpec": (
        ("leaseDurationSeconds", checks.at_least(1, "must be greater than 0")),
        ("leaseTransitions", checks.not_negative),
    ),
    "scheduling.v1.PriorityClass": (
        _check_priority,
        ("preemptionPolicy", checks.one_of("PreemptLowerPriority", "Never")),
    ),
    "node.v1.RuntimeClass": (("handler!", checks.label),),
}


RULES: Mapping[str, Factory] = {
    "nodes": partial(BuiltinRules, decides=_decide_node),
    "priorityclasses.scheduling.k8s.io": partial(BuiltinRules, flat=True, changes=_keep_priority),
    "runtimeclasses.node.k8s.io": partial(BuiltinRules, fixed=("handler",)),
}
