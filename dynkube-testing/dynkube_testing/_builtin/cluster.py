"""Nodes, Leases, Events, classes, quotas, webhooks and other kinds for clusters."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._builtin.findings import BuiltinFindings, fill, indexed, items, section
from dynkube_testing._builtin.pairs import complete_pair
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import each, normalize, value_of

_NODE_FACTS = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
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
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# ── Node ──────────────────────────────────────────────────────────────────────────────────────


def _complete_node(obj: JSONObject) -> None:
    complete_pair(section(obj, "spec"), "podCIDR", "podCIDRs")
    status = section(obj, "status")
    normalize(status, "capacity", "allocatable")
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])
    section(status, "daemonEndpoints", "kubeletEndpoint").setdefault("Port", 0)
    facts = section(status, "nodeInfo")
    for name in _NODE_FACTS:
        facts.setdefault(name, "")


def _decide_node(obj: JSONObject, old: JSONObject | None) -> None:
    """Add a taint to a new node, so that pods are not scheduled before it is ready."""
    taints = obj["spec"].get("taints") or []
    if old is None and not any(taint.get("key") == _NOT_READY["key"] for taint in taints):
        obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]


def _check_node(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    for at, taint in indexed(obj["spec"], "metadata", "taints"):
        key = taint.get("key") or ""
        findings.text(f"{at}.key", naming.qualified_name_problem(key), key)
        findings.one_of(f"{at}.effect", taint.get("effect"), _EFFECTS)


# ── Lease, Event ──────────────────────────────────────────────────────────────────────────────


def _check_lease(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        findings.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    findings.not_negative(spec, "spec", "leaseTransitions")


def _complete_event(obj: JSONObject) -> None:
    section(obj, "involvedObject")
    section(obj, "source")
    for time in ("firstTimestamp", "lastTimestamp", "eventTime"):
        obj.setdefault(time, None)
    for text in ("reportingComponent", "reportingInstance"):
        obj.setdefault(text, "")


def _check_event(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    _check_event_namespace(findings, obj, "involvedObject")


def _check_event_namespace(findings: BuiltinFindings, obj: JSONObject, field: str) -> None:
    reference = obj[field]
    namespace = reference.get("namespace") or ""
    # An event in the namespace "default" may be about a cluster-scoped object, which has no namespace.
    expected = {obj["metadata"].get("namespace", "")}
    if "default" in expected:
        expected.add("")
    if namespace not in expected:
        findings.invalid(f"{field}.namespace", namespace, "does not match event.namespace")


def _complete_new_event(obj: JSONObject) -> None:
    section(obj, "regarding")
    obj.setdefault("eventTime", None)
    obj.setdefault("deprecatedSource", {})
    for time in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        obj.setdefault(time, None)


def _check_new_event(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    _check_event_namespace(findings, obj, "regarding")
    if not obj.get("eventTime"):
        findings.required("eventTime")
    if obj.get("type") not in {"Normal", "Warning"}:
        kind = obj.get("type") or ""
        findings.invalid("type", kind, f"has invalid value: {kind}")


# ── scheduling, quotas ────────────────────────────────────────────────────────────────────────


def _complete_priority(obj: JSONObject) -> None:
    obj.setdefault("value", 0)
    fill(obj, preemptionPolicy="PreemptLowerPriority")


def _check_priority(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    name = obj["metadata"].get("name", "")
    if name.startswith("system-") and name not in {"system-node-critical", "system-cluster-critical"}:
        detail = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        findings.forbidden("metadata.name", detail)
    elif obj["value"] > _HIGHEST_PRIORITY and not name.startswith("system-"):
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        findings.forbidden("value", detail)
    findings.one_of("preemptionPolicy", obj["preemptionPolicy"], ("PreemptLowerPriority", "Never"))


def _keep_priority(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    if obj["value"] != old.get("value", 0):
        findings.forbidden("value", "may not be changed in an update.")


_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _complete_limits(obj: JSONObject) -> None:
    for limit in items(section(obj, "spec"), "limits"):
        normalize(limit, *_LIMITS)
        if limit.get("type") != "Container":
            continue
        most, least = each(limit, "max"), each(limit, "min")
        default = {**most, **each(limit, "default")}
        request = {**least, **default, **each(limit, "defaultRequest")}
        limit.update({name: value for name, value in (("default", default), ("defaultRequest", request)) if value})


def _check_limits(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    for at, limit in indexed(obj["spec"], "spec", "limits"):
        kind = limit.get("type") or ""
        findings.text(f"{at}.type", naming.qualified_name_problem(kind), kind)
        for resource, least in each(limit, "min").items():
            for name, word in (("max", "max"), ("defaultRequest", "default request"), ("default", "default")):
                value = each(limit, name).get(resource)
                if value is not None and value_of(least) > value_of(value):
                    field, shown = ("min" if name == "max" else name), (value if name == "defaultRequest" else least)
                    detail = f"min value {least} is greater than {word} value {value}"
                    findings.invalid(f"{at}.{field}[{resource}]", shown, detail)


def _complete_quota(obj: JSONObject) -> None:
    normalize(section(obj, "spec"), "hard")
    normalize(section(obj, "status"), "hard", "used")


def _check_quota(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    for name, quantity in each(obj["spec"], "hard").items():
        at = f"spec.hard[{name}]"
        if problem := naming.qualified_name_problem(name):
            findings.invalid(at, name, problem)
            findings.invalid(at, name, "must be a standard resource for quota")
        if value_of(quantity) < 0:
            findings.invalid(at, quantity, "must be greater than or equal to 0")
    scopes = obj["spec"].get("scopes") or []
    if not set(scopes) <= _SCOPES:
        findings.invalid("spec.scopes", scopes, "unsupported scope")


def _check_runtime_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    findings.label("handler", obj.get("handler"))


def _keep_runtime_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    findings.immutable("handler", obj.get("handler"), old.get("handler"))


# ── webhooks and other extensions ─────────────────────────────────────────────────────────────


def _complete_webhooks(obj: JSONObject, *, mutating: bool) -> None:
    for webhook in items(obj, "webhooks"):
        fill(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
        section(webhook, "namespaceSelector")
        section(webhook, "objectSelector")
        if isinstance(service := (webhook.get("clientConfig") or {}).get("service"), dict):
            fill(service, port=443)
        for rule in items(webhook, "rules"):
            fill(rule, scope="*")
        if mutating:
            fill(webhook, reinvocationPolicy="Never")


def _check_webhooks(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    for at, webhook in indexed(obj, "", "webhooks"):
        name = webhook.get("name") or ""
        if name.count(".") < 2:
            findings.invalid(f"{at}.name", name, "should be a domain with at least three segments separated by dots")
        if webhook.get("sideEffects") not in {"None", "NoneOnDryRun"}:
            findings.required(f"{at}.sideEffects", "must specify one of None, NoneOnDryRun")
        client = webhook.get("clientConfig") or {}
        if (client.get("url") is None) == (client.get("service") is None):
            findings.required(f"{at}.clientConfig", "exactly one of url or service is required")
        if not webhook.get("admissionReviewVersions"):
            findings.required(f"{at}.admissionReviewVersions", "must specify one of v1, v1beta1")


def _complete_api_service(obj: JSONObject) -> None:
    if isinstance(service := section(obj, "spec").get("service"), dict):
        fill(service, port=443)


def _complete_claim(obj: JSONObject) -> None:
    for request in items(section(section(obj, "spec"), "devices"), "requests"):
        if isinstance(exactly := request.get("exactly"), dict):
            fill(exactly, allocationMode="ExactCount")
            if exactly["allocationMode"] == "ExactCount":
                fill(exactly, count=1)


def _complete_flow_schema(obj: JSONObject) -> None:
    fill(section(obj, "spec"), matchingPrecedence=1000)


def _decide_empty_status(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "status")


RULES: Mapping[str, BuiltinRules] = {
    "nodes": BuiltinRules(defaults=_complete_node, decides=_decide_node, checks=_check_node),
    "leases.coordination.k8s.io": BuiltinRules(defaults=lambda obj: fill(obj, spec={}), checks=_check_lease),
    "events": BuiltinRules(defaults=_complete_event, checks=_check_event),
    "events.events.k8s.io": BuiltinRules(defaults=_complete_new_event, checks=_check_new_event),
    "priorityclasses.scheduling.k8s.io": BuiltinRules(
        defaults=_complete_priority, checks=_check_priority, changes=_keep_priority
    ),
    "limitranges": BuiltinRules(defaults=_complete_limits, checks=_check_limits),
    "resourcequotas": BuiltinRules(defaults=_complete_quota, checks=_check_quota),
    "runtimeclasses.node.k8s.io": BuiltinRules(checks=_check_runtime_class, changes=_keep_runtime_class),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": BuiltinRules(
        defaults=lambda obj: _complete_webhooks(obj, mutating=False), checks=_check_webhooks
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": BuiltinRules(
        defaults=lambda obj: _complete_webhooks(obj, mutating=True), checks=_check_webhooks
    ),
    "apiservices.apiregistration.k8s.io": BuiltinRules(defaults=_complete_api_service, decides=_decide_empty_status),
    "resourceclaims.resource.k8s.io": BuiltinRules(defaults=_complete_claim, decides=_decide_empty_status),
    "flowschemas.flowcontrol.apiserver.k8s.io": BuiltinRules(
        defaults=_complete_flow_schema, decides=_decide_empty_status
    ),
}
