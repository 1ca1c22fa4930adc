"""Warnings about pods and pod templates: valid fields that are probably mistakes.

The warnings are those of kube-apiserver 1.36, except for IP addresses in non-canonical notation, which cause none here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynkube_testing._builtin.containerwarnings import container_warnings, fractions, named_containers
from dynkube_testing._builtin.sections import indexed, items
from dynkube_testing._builtin.volumewarnings import volume_warnings
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds import naming

_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_USE_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_USE_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_USE_SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead'
_NODE_LABELS = {
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _USE_SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _USE_SYSCTLS,
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_warnings(pod: JSONObject) -> list[str]:
    """Return the warnings for a pod.

    AppArmor annotations cause none, unlike in pod templates.
    """
    return list(_all("", pod, template=False))


def template_warnings(path: str, template: object) -> list[str]:
    """Return the warnings for the pod template at ``path``."""
    return list(_all(f"{path}.", template, template=True)) if isinstance(template, dict) else []


def _all(prefix: str, owner: JSONObject, *, template: bool) -> Iterator[str]:
    spec, at = owner.get("spec") or {}, f"{prefix}spec"
    annotations = (owner.get("metadata") or {}).get("annotations") or {}
    noted = f"{prefix}metadata.annotations"
    yield from _node_warnings(at, spec)
    yield from (f"{noted}[{key}]: {warning}" for key, warning in _ANNOTATIONS.items() if key in annotations)
    yield from volume_warnings(at, spec)
    yield from _repeated(spec, at, "hostAliases", "ip")
    yield from _repeated(spec, at, "imagePullSecrets", "name")
    for path, secret in indexed(spec, at, "imagePullSecrets"):
        if not secret.get("name"):
            yield f'{path}.name: invalid empty name ""'
    yield from fractions(spec, at, "overhead")
    yield from _profile_warnings(noted, annotations, spec, at, template=template)
    yield from container_warnings(spec, at)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        yield f"{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _affinity_warnings(f"{at}.affinity", spec.get("affinity") or {})


def _node_warnings(at: str, spec: JSONObject) -> Iterator[str]:
    """Yield warnings for deprecated node labels in node selector and affinity terms."""
    for label in sorted(spec.get("nodeSelector") or ()):
        if label in _NODE_LABELS:
            yield f"{at}.nodeSelector[{label}]: {_NODE_LABELS[label]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    path = f"{at}.affinity.nodeAffinity"
    for place, term in indexed(affinity.get(_REQUIRED) or {}, f"{path}.{_REQUIRED}", "nodeSelectorTerms"):
        yield from _term_warnings(place, term)
    for place, term in indexed(affinity, path, _PREFERRED):
        yield from _term_warnings(f"{place}.preference", term.get("preference") or {}, values=True)
    for place, constraint in indexed(spec, at, "topologySpreadConstraints"):
        if (key := constraint.get("topologyKey")) in _NODE_LABELS:
            yield f"{place}.topologyKey: {key} is {_NODE_LABELS[key]}"
        yield from _selects_nothing(place, constraint)


def _term_warnings(path: str, term: JSONObject, *, values: bool = False) -> Iterator[str]:
    for place, expression in indexed(term, path, "matchExpressions"):
        if (key := expression.get("key")) in _NODE_LABELS:
            yield f"{place}.key: {key} is {_NODE_LABELS[key]}"
        for index, value in enumerate(expression.get("values") or () if values else ()):
            if problem := naming.label_value_problem(value):
                yield f"{place}.values[{index}]: {value} is invalid, {problem}"


def _affinity_warnings(path: str, affinity: JSONObject) -> Iterator[str]:
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for place, term in indexed(terms, f"{path}.{name}", _REQUIRED):
            yield from _selects_nothing(place, term)
        for place, term in indexed(terms, f"{path}.{name}", _PREFERRED):
            yield from _selects_nothing(f"{place}.podAffinityTerm", term.get("podAffinityTerm") or {})


def _selects_nothing(path: str, owner: JSONObject) -> Iterator[str]:
    if owner.get("labelSelector") is None:
        yield f"{path}.labelSelector: a null labelSelector results in matching no pod"


def _repeated(spec: JSONObject, at: str, field: str, key: str) -> Iterator[str]:
    seen = set[Any]()
    for index, item in enumerate(items(spec, field)):
        value = item.get(key, "")
        if value in seen:
            yield f"{at}.{field}[{index}].{key}: duplicate {key} {quoted(value)}"
        seen.add(value)


def _profile_warnings(
    noted: str, annotations: JSONObject, spec: JSONObject, at: str, *, template: bool
) -> Iterator[str]:
    """Yield warnings for annotations that fields of security contexts replace."""
    context = spec.get("securityContext") or {}
    if not context.get("seccompProfile") and _SECCOMP in annotations:
        yield f"{noted}[{_SECCOMP}]: {_USE_SECCOMP}"
    for _, container in named_containers(spec, at):
        own, name = container.get("securityContext") or {}, container.get("name", "")
        if not own.get("seccompProfile") and (key := f"{_CONTAINER_SECCOMP}{name}") in annotations:
            yield f"{noted}[{key}]: {_USE_SECCOMP}"
        key = f"{_APP_ARMOR}{name}"
        if template and not own.get("appArmorProfile") and key in annotations:
            profile = context.get("appArmorProfile")
            if not profile or profile != _app_armor(annotations[key]):
                yield f"{noted}[{key}]: {_USE_APP_ARMOR}"


def _app_armor(annotation: str) -> JSONObject | None:
    """Return ``appArmorProfile`` for the value of an AppArmor annotation.

    ``None`` if the value is invalid.
    """
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    kind, separator, profile = annotation.partition("/")
    local = kind == "localhost" and separator and profile
    return {"type": "Localhost", "localhostProfile": profile} if local else None
