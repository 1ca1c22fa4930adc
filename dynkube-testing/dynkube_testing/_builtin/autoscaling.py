"""HorizontalPodAutoscalers and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import fill, section
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_UTILIZATION = {"type": "Utilization", "averageUtilization": 80}


def _complete_metrics(spec: JSONObject) -> None:
    if not spec.get("metrics"):
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": dict(_UTILIZATION)}}]


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


def _check_replicas(spec: Field) -> None:
    least, most = spec.at("minReplicas"), spec.at("maxReplicas")
    number = most.value or 0
    if number < 1:
        most.required("must be set and greater than 0")
    if number < least.value:
        most.invalid("must be greater than or equal to `minReplicas`", number)


def _check_target(target: Field) -> None:
    version = target.get("apiVersion") or ""
    if version.strip("/").count("/") > 1:
        target.at("apiVersion").invalid(f"unexpected GroupVersion string: {version}", version)
    elif "/" not in version and target.get("kind") != "ReplicationController":
        target.at("apiVersion").invalid("apiVersion must specify API group", version)


def _check_metric(metric: Field) -> None:
    kind = metric.get("type")
    if not kind:
        metric.at("type").required("must specify a metric source type")
    elif kind not in _SOURCES:
        metric.at("type").one_of(sorted(_SOURCES))
    elif metric.get(_SOURCES[kind]) is None:
        metric.at(_SOURCES[kind]).required("must populate information for the given metric source")


def _check_scaling_to_zero(spec: Field) -> None:
    external = any(metric.get("type") in {"Object", "External"} for metric in spec.each("metrics"))
    if spec.get("minReplicas") == 0 and not external:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        spec.at("metrics").forbidden(detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerRules(BuiltinRules):
    """The rules of HorizontalPodAutoscalers."""

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set missing fields of the status."""
        status = section(obj, "status")
        status.setdefault("desiredReplicas", 0)
        if kind.gvr.version == "v1":
            status.setdefault("currentReplicas", 0)
        else:
            status.setdefault("currentMetrics", None)


def _decide_budget(obj: JSONObject, old: JSONObject | None) -> None:
    fill(section(obj, "status"), disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0)


def _check_budget(spec: Field) -> None:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {"MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most}
        shown["UnhealthyPodEvictionPolicy"] = spec.get("unhealthyPodEvictionPolicy")
        spec.invalid("minAvailable and maxUnavailable cannot be both set", shown)


def _at_most(limit: int) -> typechecks.Check:
    return lambda field: field.invalid(f"must be less than or equal to {limit}") if (field.value or 0) > limit else None


_NOT_NEGATIVE, _POSITIVE = "must be greater than or equal to zero", "must be greater than zero"
_RESOURCE = (("target.averageUtilization", checks.at_least(1, "must be greater than 0")),)

DEFAULTS: typedefaults.Table = {
    "autoscaling.v1.HorizontalPodAutoscalerSpec": ({"minReplicas": 1},),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": ({"minReplicas": 1}, _complete_metrics),
    "autoscaling.v2.HorizontalPodAutoscalerBehavior": (_complete_behavior,),
}
CHECKS: typechecks.Table = {
    "autoscaling.v2.HorizontalPodAutoscaler": ("spec",),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": (
        ("minReplicas", checks.at_least(1)),
        _check_replicas,
        "scaleTargetRef",
        "metrics",
        _check_scaling_to_zero,
        "behavior",
    ),
    "autoscaling.v2.HorizontalPodAutoscalerBehavior": ("scaleUp", "scaleDown"),
    "autoscaling.v2.HPAScalingRules": (
        ("stabilizationWindowSeconds", checks.at_least(0, _NOT_NEGATIVE), _at_most(3600)),
        ("selectPolicy?", checks.one_of("Disabled", "Max", "Min")),
        ("policies", checks.required("must specify at least one Policy")),
        ("tolerance?", checks.not_negative_quantity),
    ),
    "autoscaling.v2.HPAScalingPolicy": (
        ("type", checks.one_of("Percent", "Pods")),
        ("value", checks.at_least(1, _POSITIVE)),
        ("periodSeconds", checks.at_least(1, _POSITIVE), _at_most(1800)),
    ),
    "autoscaling.v2.CrossVersionObjectReference": (
        ("kind!", checks.path_segment),
        ("name!", checks.path_segment),
        _check_target,
    ),
    "autoscaling.v2.MetricSpec": (_check_metric, "resource", "containerResource"),
    "autoscaling.v2.ResourceMetricSource": _RESOURCE,
    "autoscaling.v2.ContainerResourceMetricSource": _RESOURCE,
    "policy.v1.PodDisruptionBudget": ("spec",),
    "policy.v1.PodDisruptionBudgetSpec": (
        _check_budget,
        ("minAvailable", checks.count, checks.up_to_all),
        ("maxUnavailable", checks.count, checks.up_to_all),
        "selector",
    ),
}
RULES: Mapping[str, Factory] = {
    "horizontalpodautoscalers.autoscaling": AutoscalerRules,
    "poddisruptionbudgets.policy": partial(BuiltinRules, decides=_decide_budget),
}
