"""HorizontalPodAutoscalers in version 1, whose annotations have what only version 2 has fields for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
Paths: TypeAlias = Mapping[str, str]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _STATUSES = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ANNOTATIONS = {
    _METRICS, _STATUSES, _CONDITIONS, _BEHAVIOR, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"
}  # fmt: skip
_DEFAULT_UTILIZATION = 80
_CONDITION_FIELDS = ("type", "status", "lastTransitionTime", "reason", "message")
_RULE_FIELDS = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY_FIELDS = ("type", "value", "periodSeconds")

# The fields of each source of metrics: those of version 1 in the order of Go's struct, which is that of the JSON in the
# annotations, and their paths in version 2.
_SOURCES: Mapping[str, Paths] = {
    "object": {
        "target": "describedObject",
        "metricName": "metric.name",
        "targetValue": "target.value",
        "selector": "metric.selector",
        "averageValue": "target.averageValue",
    },
    "pods": {
        "metricName": "metric.name",
        "targetAverageValue": "target.averageValue",
        "selector": "metric.selector",
    },
    "resource": {
        "name": "name",
        "targetAverageUtilization": "target.averageUtilization",
        "targetAverageValue": "target.averageValue",
    },
    "containerResource": {
        "name": "name",
        "targetAverageUtilization": "target.averageUtilization",
        "targetAverageValue": "target.averageValue",
        "container": "container",
    },
    "external": {
        "metricName": "metric.name",
        "metricSelector": "metric.selector",
        "targetValue": "target.value",
        "targetAverageValue": "target.averageValue",
    },
}
_CURRENT: Mapping[str, Paths] = {
    source: {
        field if field == "target" else field.replace("target", "current"): path.replace("target.", "current.")
        for field, path in paths.items()
    }
    for source, paths in _SOURCES.items()
}
# Quantities that version 1 never omits, by source.
_ALWAYS: Mapping[str, frozenset[str]] = {
    "object": frozenset({"targetValue", "currentValue"}),
    "pods": frozenset({"targetAverageValue", "currentAverageValue"}),
    "resource": frozenset({"currentAverageValue"}),
    "containerResource": frozenset({"currentAverageValue"}),
    "external": frozenset({"currentValue"}),
}


# ── from version 1 ────────────────────────────────────────────────────────────────────────────


def stored_from_v1(obj: Object) -> Object:
    """Convert an autoscaler from version 1 to version 2; annotations that are not valid JSON are dropped."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    metrics = [_metric(each, _SOURCES) for each in _read(annotations, _METRICS) or ()]
    if (utilization := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        metrics.append(_of_cpu("target", {"type": "Utilization", "averageUtilization": utilization}))
    spec["metrics"] = metrics or [
        _of_cpu("target", {"type": "Utilization", "averageUtilization": _DEFAULT_UTILIZATION})
    ]
    if behavior := _read(annotations, _BEHAVIOR):
        spec["behavior"] = _lowered(behavior)
    current = [_metric(each, _CURRENT) for each in _read(annotations, _STATUSES) or ()]
    if (utilization := status.pop("currentCPUUtilizationPercentage", None)) is not None and not current:
        current.append(_of_cpu("current", {"averageUtilization": utilization}))
    status["currentMetrics"] = current or None
    if conditions := _read(annotations, _CONDITIONS):
        status["conditions"] = conditions
    if status.get("currentReplicas") == 0:
        del status["currentReplicas"]
    return _without_annotations({**obj, "spec": spec, "status": status})


def _of_cpu(field: str, value: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", field: value}}


def _read(annotations: Mapping[str, str], name: str) -> Any:
    try:
        return json.loads(annotations.get(name, "null"))
    except ValueError:
        return None


def _metric(metric: Object, sources: Mapping[str, Paths]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for name, paths in sources.items():
        if isinstance(source := metric.get(name), dict):
            found[name] = _moved(source, paths)
            if sources is _SOURCES:
                found[name]["target"]["type"] = _target_type(name, found[name]["target"])
    return found


def _moved(source: Object, paths: Paths) -> Object:
    found: Object = {"target": {}} if "target.averageValue" in paths.values() else {"current": {}}
    for name, path in paths.items():
        if source.get(name) is not None:
            *above, last = path.split(".")
            owner = found
            for part in above:
                owner = owner.setdefault(part, {})
            owner[last] = source[name]
    return found


def _target_type(name: str, target: Object) -> str:
    if name == "object" and "averageValue" in target and target.get("value") == "0":
        del target["value"]  # it could not be omitted
    if name in {"resource", "containerResource"}:
        return "Utilization" if "averageUtilization" in target else "AverageValue"
    if name == "external":
        return "Value" if "value" in target else "AverageValue"
    return "AverageValue" if name == "pods" or "averageValue" in target else "Value"


def _lowered(value: Any) -> Any:
    """Return the JSON of a Go struct without tags with the names of the API, and without nulls."""
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _lowered(part) for key, part in value.items() if part is not None}
    return value


# ── to version 1 ──────────────────────────────────────────────────────────────────────────────


def shown_in_v1(obj: Object) -> Object:
    """Convert an autoscaler from version 2 to version 1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    current, conditions = status.pop("currentMetrics", None) or [], status.pop("conditions", None) or []
    of_cpu = [each["resource"]["target"]["averageUtilization"] for each in metrics if _uses_cpu(each, "target")]
    if of_cpu:
        spec["targetCPUUtilizationPercentage"] = of_cpu[0]
    used = [each["resource"]["current"]["averageUtilization"] for each in current if _uses_cpu(each, "current")]
    if used:
        status["currentCPUUtilizationPercentage"] = used[-1]
    status.setdefault("currentReplicas", 0)
    others = [_flat(each, _SOURCES) for each in metrics if not _uses_cpu(each, "target")]
    written = {
        _METRICS: others,
        _STATUSES: [_flat(each, _CURRENT) for each in current],
        _BEHAVIOR: None if behavior is None else _raised(behavior, ("scaleUp", "scaleDown"), _raised_rules),
        _CONDITIONS: [_condition(each) for each in conditions],
    }
    added = {name: _encoded(value) for name, value in written.items() if value}
    shown = _without_annotations({**obj, "spec": spec, "status": status})
    if added:
        annotations = {**(shown["metadata"].get("annotations") or {}), **added}
        shown["metadata"] = {**shown["metadata"], "annotations": annotations}
    return shown


def _uses_cpu(metric: Object, field: str) -> bool:
    resource = metric.get("resource") or {}
    of_cpu = metric.get("type") == "Resource" and resource.get("name") == "cpu"
    return of_cpu and (resource.get(field) or {}).get("averageUtilization") is not None


def _flat(metric: Object, sources: Mapping[str, Paths]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for name, paths in sources.items():
        if isinstance(source := metric.get(name), dict):
            values = {field: _at(source, path) for field, path in paths.items()}
            values |= {field: "0" for field in _ALWAYS[name] & values.keys() if values[field] is None}
            found[name] = {field: _ordered(value) for field, value in values.items() if value is not None}
    return found


def _at(source: Object, path: str) -> Any:
    value: Any = source
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _ordered(value: Any) -> Any:
    """Return a selector or a reference with its fields in the order of Go's struct."""
    if not isinstance(value, dict):
        return value
    fields = ("kind", "name", "apiVersion", "matchLabels", "matchExpressions")
    ordered = {name: value[name] for name in fields if name in value}
    if labels := ordered.get("matchLabels"):
        ordered["matchLabels"] = dict(sorted(labels.items()))
    return ordered


def _condition(condition: Object) -> Object:
    shown = {"lastTransitionTime": None, **condition}
    return {name: shown[name] for name in _CONDITION_FIELDS if name in shown}


def _raised(value: Object, fields: tuple[str, ...], part: Callable[[Any], Any]) -> Object:
    """Return an object as the JSON of a Go struct without tags."""
    found = {name: value.get(name) for name in fields}
    return {name[:1].upper() + name[1:]: None if each is None else part(each) for name, each in found.items()}


def _raised_rules(rules: Object) -> Object:
    return _raised(rules, _RULE_FIELDS, lambda value: _raised_policies(value) if isinstance(value, list) else value)


def _raised_policies(policies: list[Object]) -> list[Object]:
    return [_raised(policy, _POLICY_FIELDS, lambda value: value) for policy in policies]


def _encoded(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&"})


def _without_annotations(obj: Object) -> Object:
    metadata = dict(obj["metadata"])
    kept = {name: text for name, text in (metadata.get("annotations") or {}).items() if name not in _ANNOTATIONS}
    metadata["annotations"] = kept
    if not kept:
        del metadata["annotations"]
    return {**obj, "metadata": metadata}
