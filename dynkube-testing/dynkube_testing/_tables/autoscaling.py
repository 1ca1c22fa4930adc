"""Tables of HorizontalPodAutoscalers, v1 and v2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dynkube_testing._tables.columns import AGE, NAME, Printer, column, number, scalar
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, shortened

_UNKNOWN = "<unknown>"
_AVERAGE = "averageValue"


class _Source(NamedTuple):
    """The field of one type of metric, and whether cells include the metric's name."""

    field: str
    named: bool = False


_SOURCES: Mapping[str, _Source] = {
    "External": _Source("external"),
    "Object": _Source("object"),
    "Pods": _Source("pods"),
    "Resource": _Source("resource", named=True),
    "ContainerResource": _Source("containerResource", named=True),
}


def _targets(obj: Fields) -> str:
    if obj.has("spec.targetCPUUtilizationPercentage"):  # autoscaling/v1, which has no other metric
        current = obj.get("status.currentCPUUtilizationPercentage")
        shown = _UNKNOWN if current is None else f"{current}%"
        return f"cpu: {shown}/{obj.scalar('spec.targetCPUUtilizationPercentage')}%"
    statuses = obj.each("status.currentMetrics")
    specs = obj.each("spec.metrics")
    present = [*statuses, *(Fields({}) for _ in specs[len(statuses) :])]
    return shortened([_metric(*pair) for pair in zip(specs, present, strict=False)], 2, separator=", ") or NONE


def _metric(spec: Fields, status: Fields) -> str:
    kind = spec.text("type")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    target, current = spec.at(f"{source.field}.target"), status.at(f"{source.field}.current")
    if source.named:
        name = spec.text(f"{source.field}.name")
        if target.has(_AVERAGE):
            return f"{name}: {current.scalar(_AVERAGE, _UNKNOWN)}/{target.scalar(_AVERAGE)}"
        return f"{name}: {_percent(current, _UNKNOWN)}/{_percent(target, '<auto>')}"
    if kind == "Pods":
        return f"{current.scalar(_AVERAGE, _UNKNOWN)}/{target.scalar(_AVERAGE, '0')}"
    if target.has(_AVERAGE):
        return f"{current.scalar(_AVERAGE, _UNKNOWN)}/{target.scalar(_AVERAGE)} (avg)"
    return f"{current.scalar('value', _UNKNOWN)}/{target.scalar('value', '0')}"


def _percent(value: Fields, default: str) -> str:
    return f"{value.number('averageUtilization')}%" if value.has("averageUtilization") else default


def _reference(obj: Fields) -> str:
    return f"{obj.text('spec.scaleTargetRef.kind')}/{obj.text('spec.scaleTargetRef.name')}"


AUTOSCALERS = Printer(
    (
        NAME,
        column("Reference", "What is scaled", _reference),
        column("Targets", "Metrics as they are, and as they should be", _targets),
        column("MinPods", "Least number of pods", scalar("spec.minReplicas", "1")),
        column("MaxPods", "Greatest number of pods", number("spec.maxReplicas")),
        column("Replicas", "How many pods there are", number("status.currentReplicas")),
        AGE,
    )
)
