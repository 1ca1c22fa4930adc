"""Pods and PodTemplates: status, priority, tolerations, and immutable fields."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from dynkube_testing._builtin.containerchecks import check_images
from dynkube_testing._builtin.findings import BuiltinFindings, fill, items, show_times
from dynkube_testing._builtin.pairs import check_pod_addresses, complete_pair
from dynkube_testing._builtin.podchecks import check_pod_spec, check_template
from dynkube_testing._builtin.podspecs import complete_pod_spec, complete_template
from dynkube_testing._builtin.podwarnings import pod_warnings, template_warnings
from dynkube_testing._builtin.rules import BuiltinRules, may_warn
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._schemas.quantities import each, value_of
from dynkube_testing._store.storage import Storage

_PATIENCE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_UNCHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _complete(pod: JSONObject) -> None:
    spec = pod.setdefault("spec", {})
    fill(spec, enableServiceLinks=True)
    complete_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for field in ("initContainers", "containers"):
        for container in items(spec, field):
            _request_limits(container["resources"])
    if isinstance(status := pod.get("status"), dict):
        complete_pair(status, "podIP", "podIPs", "ip")
    show_times(pod, "lastProbeTime", "lastTransitionTime")


def _request_limits(resources: JSONObject) -> None:
    """Set requests to limits, for resources without a request."""
    if limits := each(resources, "limits"):
        resources["requests"] = {**limits, **each(resources, "requests")}


_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRules(BuiltinRules):
    """The rules of pods. PriorityClasses are looked up in ``storage``."""

    storage: Storage
    registry: Registry

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set status, priority and the default tolerations.

        Raises:
            Forbidden: The PriorityClass of the pod does not exist.
        """
        spec = obj["spec"]
        if old is None:
            obj["status"] = {"phase": "Pending", "qosClass": quality(spec)}
            if spec.get("schedulingGates"):
                obj["status"]["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}]
            self._prioritize(kind, obj)
        else:
            fill(
                spec,
                **{field: old["spec"][field] for field in ("priority", "preemptionPolicy") if field in old["spec"]},
            )
            if isinstance(obj.get("status"), dict):
                fill(obj["status"], qosClass=quality(spec))
        _tolerate(spec)

    def _prioritize(self, kind: Kind, pod: JSONObject) -> None:
        spec = pod["spec"]
        name = spec.get("priorityClassName", "")
        found = self._class(name)
        if found is None:
            if name:
                why = f"no PriorityClass with name {name} was found"
                raise refuse.forbidden(kind, pod["metadata"].get("name", ""), why)
            found = {"value": 0}
        elif not name:
            spec["priorityClassName"] = found["metadata"]["name"]
        fill(spec, preemptionPolicy=found.get("preemptionPolicy") or "PreemptLowerPriority")
        spec["priority"] = found.get("value", 0)

    def _class(self, name: str) -> JSONObject | None:
        """Return the PriorityClass ``name``; ``None`` if it does not exist.

        ``""`` stands for the global default.
        """
        classes = self.registry.find("scheduling.k8s.io/v1", "PriorityClass")
        if classes is not None:
            collection = self.storage.collection(classes.storage_group)
            if name in collection.current:
                return collection.current[name].decode(classes)
            everyone = (version.decode(classes) for version in collection.current.values()) if not name else ()
            if default := next((each for each in everyone if each.get("globalDefault")), None):
                return default
        return None


def _tolerate(spec: JSONObject) -> None:
    """Add the default tolerations: five minutes for nodes not ready or unreachable.

    A taint for which the pod has a toleration gets no default.
    """
    tolerations = list(spec.get("tolerations") or ())
    for key in _PATIENCE:
        tolerated = any(
            each.get("key", key) == key and each.get("effect", "NoExecute") == "NoExecute" for each in tolerations
        )
        if not tolerated:
            entry = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations.append(entry)
    if tolerations:
        spec["tolerations"] = tolerations


def quality(spec: JSONObject) -> str:
    """Return the QoS class of a pod, by the requests and limits of its containers."""
    claims, guaranteed = False, True
    for container in (*items(spec, "initContainers"), *items(spec, "containers")):
        resources = container.get("resources") or {}
        for resource in ("cpu", "memory"):
            limit = value_of(each(resources, "limits").get(resource, 0))
            request = value_of(each(resources, "requests").get(resource, limit))
            claims = claims or bool(limit or request)
            guaranteed = guaranteed and bool(limit) and limit == request
    return "BestEffort" if not claims else "Guaranteed" if guaranteed else "Burstable"


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def _check(findings: BuiltinFindings, pod: JSONObject, old: JSONObject | None) -> None:
    spec = pod["spec"]
    check_pod_spec(findings, "spec", spec)
    check_images(findings, "spec", spec)
    ephemeral = items(spec, "ephemeralContainers")
    if old is None:
        if ephemeral:
            findings.forbidden("spec.ephemeralContainers", "cannot be set on create")
        return
    check_pod_addresses(findings, pod.get("status") or {})
    now = {container.get("name"): container for container in ephemeral}
    for before in items(old["spec"], "ephemeralContainers"):
        name = before["name"]
        if name not in now:
            findings.forbidden(
                "spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be removed\n'
            )
        elif now[name] != before:
            findings.forbidden(
                "spec.ephemeralContainers", f'existing ephemeral containers "{name}" may not be changed\n'
            )


def _check_change(findings: BuiltinFindings, pod: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    new, before = copy.deepcopy(pod["spec"]), old["spec"]
    for field in ("containers", "initContainers"):
        if len(items(new, field)) != len(items(before, field)):
            findings.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        for container, was in zip(items(new, field), items(before, field), strict=True):
            container["image"] = was.get("image")
    _check_deadline(findings, new, before)
    tolerations = before.get("tolerations") or []
    if all(toleration in (new.get("tolerations") or []) for toleration in tolerations):
        new["tolerations"] = tolerations
    elif new.get("tolerations") != tolerations:
        findings.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        if field in before:
            new[field] = before[field]
        else:
            new.pop(field, None)
    if new != before:
        findings.forbidden("spec", _UNCHANGEABLE)


def _check_deadline(findings: BuiltinFindings, new: JSONObject, before: JSONObject) -> None:
    deadline, was = new.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if was is None or deadline == was:
        return
    if deadline is None:
        findings.invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    elif deadline > was:
        findings.invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")


def pod_rules(storage: Storage, registry: Registry) -> dict[str, BuiltinRules]:
    """Return the rules of pods and pod templates by storage group."""
    pods = PodRules(
        storage=storage,
        registry=registry,
        defaults=_complete,
        checks=_check,
        changes=_check_change,
        names="the Pod's hostname",
        # Updates cause no warnings, because most are made by controllers.
        cautions=lambda obj, old: pod_warnings(obj) if old is None else (),
    )
    templates = BuiltinRules(
        defaults=complete_template,
        checks=lambda findings, obj, old: check_template(findings, "template", obj["template"]),
        cautions=lambda obj, old: template_warnings("template", obj["template"]) if may_warn(obj, old) else (),
    )
    return {"pods": pods, "podtemplates": templates}
