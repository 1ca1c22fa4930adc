"""Nodes, Leases, classes, quotas and other kinds for clusters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
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


def _check_limit(limit: Field) -> None:
    for resource, least in (limit.get("min") or {}).items():
        for name, word in (("max", "max"), ("defaultRequest", "default request"), ("default", "default")):
            value = limit.get(name, resource)
            if value is not None and value_of(least) > value_of(value):
                field = limit.at("min" if name == "max" else name).key(resource)
                detail = f"min value {least} is greater than {word} value {value}"
                field.invalid(detail, value if name == "defaultRequest" else least)


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
    "core.v1.LimitRangeItem": (("type", checks.qualified_name), _check_limit),
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
