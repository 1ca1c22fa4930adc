"""HorizontalPodAutoscalers and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube_testing._builtin.findings import BuiltinFindings, fill, indexed, items, section
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._builtin.selectors import check_selector
from dynkube_testing._builtin.workloads import check_count_or_percent
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._schemas.quantities import normalize

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _complete_autoscaler(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    for metric in items(spec, "metrics"):
        for name in _SOURCES.values():
            if isinstance(source := metric.get(name), dict):
                normalize(section(source, "target"), "value", "averageValue")
    if isinstance(behavior := spec.get("behavior"), dict):
        _complete_behavior(behavior)


def _complete_behavior(behavior: JSONObject) -> None:
    up = section(behavior, "scaleUp")
    fill(up, stabilizationWindowSeconds=0, selectPolicy="Max")
    if up.get("policies") is None:
        pods = {"type": "Pods", "value": 4, "periodSeconds": 15}
        up["policies"] = [pods, {"type": "Percent", "value": 100, "periodSeconds": 15}]
    down = section(behavior, "scaleDown")
    fill(down, selectPolicy="Max")
    if down.get("policies") is None:
        down["policies"] = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _check_autoscaler(findings: BuiltinFindings, obj: JSONObject) -> None:
    spec = obj["spec"]
    least, most = spec["minReplicas"], spec.get("maxReplicas", 0)
    if least < 1:
        findings.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        findings.required("spec.maxReplicas", "must be set and greater than 0")
    if most < least:
        findings.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    for field in ("kind", "name"):
        if not target.get(field):
            findings.required(f"spec.scaleTargetRef.{field}")
    if not target.get("apiVersion"):
        findings.invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
    for at, metric in indexed(spec, "spec", "metrics"):
        _check_metric(findings, at, metric)
    external = any(metric.get("type") in {"Object", "External"} for metric in items(spec, "metrics"))
    if least == 0 and not external:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        findings.forbidden("spec.metrics", detail)


def _check_metric(findings: BuiltinFindings, at: str, metric: JSONObject) -> None:
    kind = metric.get("type")
    if not kind:
        findings.required(f"{at}.type", "must specify a metric source type")
    elif kind not in _SOURCES:
        findings.one_of(f"{at}.type", kind, sorted(_SOURCES))
    elif metric.get(_SOURCES[kind]) is None:
        findings.required(f"{at}.{_SOURCES[kind]}", "must populate information for the given metric source")


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerRules(BuiltinRules):
    """The rules of HorizontalPodAutoscalers, in both versions.

    CPU utilization is the only metric in v1.
    """

    def complete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the defaults. The default metric is a CPU utilization of 80 percent."""
        BuiltinRules.complete(self, kind, obj)
        if kind.gvr.version == "v1":
            fill(section(obj, "spec"), minReplicas=1, targetCPUUtilizationPercentage=80)
        else:
            _complete_autoscaler(obj)

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set missing fields of the status."""
        status = section(obj, "status")
        status.setdefault("desiredReplicas", 0)
        if kind.gvr.version == "v1":
            status.setdefault("currentReplicas", 0)
        else:
            status.setdefault("currentMetrics", None)

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Return the causes for an invalid autoscaler.

        As in a real server, causes for v1 have the paths of fields in v2.
        """
        findings = BuiltinFindings()
        _check_autoscaler(findings, obj)
        target = obj["spec"].get("targetCPUUtilizationPercentage", 1)
        if kind.gvr.version == "v1" and target < 1:
            findings.invalid("spec.metrics[0].resource.target.averageUtilization", target, "must be greater than 0")
        return findings.causes


def _decide_budget(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "spec")
    fill(section(obj, "status"), disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0)


def _check_budget(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        policy = spec.get("unhealthyPodEvictionPolicy")
        shown = {"MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most}
        shown["UnhealthyPodEvictionPolicy"] = policy
        findings.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            check_count_or_percent(findings, f"spec.{field}", value)
    if isinstance(selector := spec.get("selector"), dict):
        check_selector(findings, "spec.selector", selector)


RULES: Mapping[str, BuiltinRules] = {
    "horizontalpodautoscalers.autoscaling": AutoscalerRules(),
    "poddisruptionbudgets.policy": BuiltinRules(decides=_decide_budget, checks=_check_budget),
}
