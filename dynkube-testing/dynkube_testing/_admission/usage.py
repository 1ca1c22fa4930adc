"""What objects use of a quota: counts, and the compute and storage resources of pods and claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from dynkube_testing._admission.amounts import (
    ONE,
    Amount,
    Amounts,
    containers_of,
    is_pod_level,
    pod_amounts,
    read_amounts,
    total,
)
from dynkube_testing._admission.resizing import class_of
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.selectors import parse_labels
from dynkube_testing._verbs.scaling import selector_text

_ALIASES = {"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_PODS = {"count/pods", "pods", *_COMPUTE, *(f"{what}.{name}" for what in ("requests", "limits") for name in _COMPUTE)}
_SERVICES = {"count/services", "services", "services.nodeports", "services.loadbalancers"}
_CLAIMS = {"persistentvolumeclaims", "requests.storage"}
_BY_CLASS = tuple(f".storageclass.storage.k8s.io/{name}" for name in sorted(_CLAIMS))
# A quota of one of these requires that each container sets it.
_REQUIRED = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_ENDED = {"Failed", "Succeeded"}


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures what the objects of one resource use.

    Attributes:
        matches: Function that returns whether a name in a quota's ``hard`` is used by objects of this resource.
        usage: Function that returns what an object uses.
        in_scope: Function that returns whether an object is in a scope: a ``matchExpressions`` entry of a scope
            selector.
    """

    matches: Callable[[str], bool]
    usage: Callable[[JSONObject], Amounts]
    in_scope: Callable[[JSONObject, JSONObject], bool]

    def names(self, hard: Collection[str]) -> list[str]:
        """Return those names in ``hard`` that objects of this resource use, sorted."""
        return sorted(name for name in hard if self.matches(name))

    def counts(self, quota: JSONObject, obj: JSONObject) -> bool:
        """Return whether a quota counts an object, by its scopes."""
        return all(self.in_scope(scope, obj) for scope in scopes_of(quota))


def scopes_of(quota: JSONObject) -> list[JSONObject]:
    """Return the scopes of a quota as entries of a scope selector."""
    spec = quota["spec"]
    listed = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    return listed + ((spec.get("scopeSelector") or {}).get("matchExpressions") or [])


def meter_of(kind: Kind, now: Callable[[], datetime]) -> Meter:
    """Return the meter of a resource; ``now`` is the clock, as pods that should have ended use nothing."""
    match kind.storage_group:
        case "pods":
            return Meter(_uses_pods, lambda pod: _pod_usage(pod, now()), _pod_in_scope)
        case "services":
            return Meter(_SERVICES.__contains__, _service_usage, lambda scope, obj: False)
        case "persistentvolumeclaims":
            return Meter(_uses_claims, _claim_usage, _claim_in_scope)
    names = {f"count/{kind.group_resource}", *({kind.storage_group} & _ALIASES)}
    return Meter(names.__contains__, lambda obj: dict.fromkeys(names, ONE), lambda scope, obj: False)


# ── pods ──────────────────────────────────────────────────────────────────────────────────────


def _uses_pods(name: str) -> bool:
    extended = name.startswith("requests.") and "/" in name and not name.startswith("requests.kubernetes.io/")
    return name in _PODS or extended or name.startswith(("hugepages-", "requests.hugepages-"))


def _pod_usage(pod: JSONObject, now: datetime) -> Amounts:
    counted = {"count/pods": ONE}
    if has_ended(pod, now):
        return counted
    requests, limits = (pod_amounts(pod, field, overhead=True) for field in ("requests", "limits"))
    return total(counted, compute_usage(requests, limits))


def has_ended(pod: JSONObject, now: datetime) -> bool:
    """Return whether a pod has ended, or should have: it no longer uses compute resources."""
    metadata, phase = pod["metadata"], (pod.get("status") or {}).get("phase")
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if phase in _ENDED or deleted is None or grace is None:
        return phase in _ENDED
    return now > datetime.fromisoformat(deleted) + timedelta(seconds=grace)


def compute_usage(requests: Amounts, limits: Amounts) -> Amounts:
    """Return the names in a quota that these requests and limits use."""
    result: Amounts = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            result[name] = result[f"requests.{name}"] = requests[name]
        if name in limits:
            result[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            result[name] = amount
        if name.startswith("hugepages-") or _is_extended(name):
            result[f"requests.{name}"] = amount
    return result


def _is_extended(name: str) -> bool:
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io") and not name.startswith("requests.")


def missing_requirements(pod: JSONObject, names: Iterable[str]) -> str:
    """Return which containers do not set the resources that a quota with ``names`` requires, or ``""``."""
    whole = pod["spec"].get("resources") or {}
    if any(is_pod_level(name) for field in ("requests", "limits") for name in whole.get(field) or ()):
        return ""
    required, missing = set(names) & set(_REQUIRED), dict[str, set[str]]()
    for container in containers_of(pod["spec"]):
        resources = container.get("resources") or {}
        used = compute_usage(read_amounts(resources.get("requests")), read_amounts(resources.get("limits")))
        for name in required - used.keys():
            missing.setdefault(name, set()).add(container["name"])
    listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {listed}" if missing else ""


def is_terminating(pod: JSONObject) -> bool:
    """Return whether a pod has a deadline: it is in the scope ``Terminating``."""
    return int(pod["spec"].get("activeDeadlineSeconds", -1)) >= 0


def _pod_in_scope(scope: JSONObject, pod: JSONObject) -> bool:
    match scope["scopeName"]:
        case "Terminating":
            return is_terminating(pod)
        case "NotTerminating":
            return not is_terminating(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _selects(scope, pod["spec"].get("priorityClassName") or None)
        case "CrossNamespacePodAffinity":
            return _has_affinity_across_namespaces(pod["spec"])
    return False


def _is_best_effort(pod: JSONObject) -> bool:
    if quality := (pod.get("status") or {}).get("qosClass"):
        return bool(quality == "BestEffort")
    requests, limits = (pod_amounts(pod, field, overhead=False) for field in ("requests", "limits"))
    return not any(part[name].value for part in (requests, limits) for name in ("cpu", "memory") if name in part)


def _has_affinity_across_namespaces(spec: JSONObject) -> bool:
    affinity = spec.get("affinity") or {}
    parts = [affinity.get(field) or {} for field in ("podAffinity", "podAntiAffinity")]
    terms = [term for part in parts for term in part.get("requiredDuringSchedulingIgnoredDuringExecution") or ()]
    weighted = "preferredDuringSchedulingIgnoredDuringExecution"
    terms += [each["podAffinityTerm"] for part in parts for each in part.get(weighted) or ()]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


def _selects(scope: JSONObject, *values: str | None) -> bool:
    """Return whether a scope's operator and values select one of ``values``."""
    if scope["operator"] == "Exists":
        return any(value is not None for value in values)
    key = scope["scopeName"]
    expression = {"key": key, "operator": scope["operator"], "values": scope.get("values") or ()}
    requirements = parse_labels(selector_text({"matchExpressions": [expression]}))
    labels = [{key: value} if value is not None else {} for value in values]
    return any(all(requirement.matches(each) for requirement in requirements) for each in labels)


# ── services and claims ───────────────────────────────────────────────────────────────────────


def _service_usage(service: JSONObject) -> Amounts:
    spec, ports = service["spec"], service["spec"].get("ports") or []
    kind = spec.get("type")
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    node_ports = len(ports) if balanced or kind == "NodePort" else 0
    counts = {"count/services": 1, "services": 1, "services.nodeports": node_ports, "services.loadbalancers": balanced}
    return {name: Amount(Decimal(int(count))) for name, count in counts.items()}


def _uses_claims(name: str) -> bool:
    return name == "count/persistentvolumeclaims" or name in _CLAIMS or name.endswith(_BY_CLASS)


def _claim_usage(claim: JSONObject) -> Amounts:
    spec, name = claim["spec"], class_of(claim)
    result: Amounts = {"count/persistentvolumeclaims": ONE, "persistentvolumeclaims": ONE}
    storage = read_amounts((spec.get("resources") or {}).get("requests")).get("storage")
    if storage is not None:
        allocated = read_amounts((claim.get("status") or {}).get("allocatedResources")).get("storage", Amount())
        storage = max(storage, allocated, key=lambda each: each.value)
        result["requests.storage"] = Amount(storage.value.to_integral_value(ROUND_CEILING), storage.binary)
    if name:
        prefix = f"{name}.storageclass.storage.k8s.io/"
        result |= {f"{prefix}{each}": result[each] for each in _CLAIMS if each in result}
    return result


def _claim_in_scope(scope: JSONObject, claim: JSONObject) -> bool:
    if scope["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    modifying = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = {claim["spec"].get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), modifying}
    return _selects(scope, *(sorted(name for name in names if name) or [None]))
