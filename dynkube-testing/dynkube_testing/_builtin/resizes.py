"""Resizes of pods: the QoS class, and what a resize may not change."""

from __future__ import annotations

import copy

from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.sections import items
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import each, value_of

_LISTS = ("containers", "initContainers")
_SIZES = ("cpu", "memory")
_ONLY_SIZES = "only cpu and memory resources are mutable"


def quality(spec: JSONObject) -> str:
    """Return the QoS class of a pod, by the requests and limits of the pod itself, or else of its containers."""
    claims, guaranteed = False, True
    for container in [spec] if spec.get("resources") else [*items(spec, "initContainers"), *items(spec, "containers")]:
        resources = container.get("resources") or {}
        for resource in ("cpu", "memory"):
            limit = value_of(each(resources, "limits").get(resource, 0))
            request = value_of(each(resources, "requests").get(resource, limit))
            claims = claims or bool(limit or request)
            guaranteed = guaranteed and bool(limit) and limit == request
    return "BestEffort" if not claims else "Guaranteed" if guaranteed else "Burstable"


def check_resize(pod: Field, old: JSONObject) -> None:
    """Report what a resize must not change: only CPU and memory, and neither for the first nor for the last time."""
    spec, before = pod.at("spec"), old["spec"]
    own = (old.get("status") or {}).get("qosClass") or quality(before)
    if own != quality(spec.value):
        spec.invalid("Pod QOS Class may not change as a result of resizing", own)
    if not _can_resize(old):
        spec.forbidden("Pod running on node without support for resize")
    _check_pod_resources(spec, before)
    if not _check_order(spec, before):
        return
    for field in reversed(_LISTS):
        for container, was in zip(spec.each(field), items(before, field), strict=True):
            _check_removed(container.at("resources"), was.get("resources") or {}, "resource")
    for field in _LISTS:
        for container, was in zip(spec.each(field), items(before, field), strict=True):
            _check_container(spec, container, was)


def _can_resize(pod: JSONObject) -> bool:
    """Return whether the node supports resizes: its kubelet reports the resources of a running container."""
    for status in items(pod.get("status") or {}, "containerStatuses"):
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _check_pod_resources(spec: Field, before: JSONObject) -> None:
    resources, was = spec.at("resources"), before.get("resources")
    if was is None and resources.value is None:
        return
    if resources.value is None:
        resources.forbidden("pod-level resources cannot be removed")
        return
    _check_removed(resources, was or {}, "pod-level resource")
    if _without_sizes(resources.value) != _without_sizes(was or {}):
        spec.forbidden(f"{_ONLY_SIZES} at pod-level")


def _check_order(spec: Field, before: JSONObject) -> bool:
    """Report containers that are added, removed, renamed or in another order; return whether there are none."""
    found = len(spec.causes)
    for name in _LISTS:
        was, now = items(before, name), list(spec.each(name))
        if len(was) != len(now):
            spec.at(name).forbidden(f"{name} may not be added or removed on resize")
            continue
        for container, former in zip(now, was, strict=True):
            if container.get("name") != former.get("name"):
                container.at("name").forbidden(f"{name} may not be renamed or reordered on resize")
    return len(spec.causes) == found


def _check_removed(resources: Field, was: JSONObject, what: str) -> None:
    for name in ("requests", "limits"):
        if each(was, name).keys() - (resources.get(name) or {}).keys():
            resources.at(name).forbidden(f"{what} {name} cannot be removed")


def _check_container(spec: Field, container: Field, was: JSONObject) -> None:
    now, former = copy.deepcopy(container.value), copy.deepcopy(was)
    changed = now != former
    now["resources"], former["resources"] = (_without_sizes(each.get("resources") or {}) for each in (now, former))
    if container.name == "containers":
        if now != former:
            spec.forbidden(_ONLY_SIZES)
        return
    if now != former:
        container.forbidden("only cpu and memory resources for init or sidecar containers are mutable")
    if changed and was.get("restartPolicy") != "Always":
        for policy in container.each("resizePolicy"):
            if policy.get("restartPolicy") == "RestartContainer":
                detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                container.forbidden(detail)


def _without_sizes(resources: JSONObject) -> JSONObject:
    """Return the limits and requests without those of CPU and memory."""
    kept = {name: {key: v for key, v in each(resources, name).items() if key not in _SIZES} for name in _NAMES}
    return {name: value for name, value in kept.items() if value}


_NAMES = ("limits", "requests")
