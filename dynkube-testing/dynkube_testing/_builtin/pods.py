"""Pods and PodTemplates: status, priority, tolerations, and immutable fields."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

from dynkube.errors import StatusCause
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.podchecks import check_pod_addresses
from dynkube_testing._builtin.podwarnings import pod_warnings, template_warnings
from dynkube_testing._builtin.resizes import check_resize, quality
from dynkube_testing._builtin.rules import BuiltinRules, Factory, may_warn
from dynkube_testing._builtin.sections import fill, items
from dynkube_testing._builtin.types import type_of
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.storage import Storage

_PATIENCE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_UNCHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
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

    def admit(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the priority of a new pod, and the default tolerations.

        Raises:
            Forbidden: The PriorityClass of the pod does not exist.
        """
        if old is None:
            self._prioritize(kind, obj)
        _tolerate(obj["spec"])

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set the status, and keep the priority."""
        spec = obj["spec"]
        if old is None:
            obj["status"] = {"phase": "Pending", "qosClass": quality(spec)}
            if spec.get("schedulingGates"):
                obj["status"]["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}]
        else:
            fill(
                spec,
                **{field: old["spec"][field] for field in ("priority", "preemptionPolicy") if field in old["spec"]},
            )
            if isinstance(obj.get("status"), dict):
                fill(obj["status"], qosClass=quality(spec))

    def resize_causes(self, kind: Kind, obj: JSONObject, old: JSONObject) -> list[StatusCause]:
        """Return the errors for a forbidden resize."""
        field = self.type_checks.root(type_of(kind), obj)
        check_resize(field, old)
        return field.causes

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
        computed = {
            "priority": ("integer value of priority", found.get("value", 0)),
            "preemptionPolicy": (
                "string value of PreemptionPolicy",
                found.get("preemptionPolicy") or "PreemptLowerPriority",
            ),
        }
        for field, (described, value) in computed.items():
            if (given := spec.get(field)) not in (None, value):
                why = f"the {described} ({given}) must not be provided in pod spec; priority admission controller "
                why += f"computed {value} from the given PriorityClass name"
                raise refuse.forbidden(kind, pod["metadata"].get("name", ""), why)
            spec[field] = value

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


# ── changes ───────────────────────────────────────────────────────────────────────────────────


def _check_update(pod: Field, old: JSONObject) -> None:
    check_pod_addresses(pod)
    now = {container.get("name"): container.value for container in pod.each("spec", "ephemeralContainers")}
    field = pod.at("spec", "ephemeralContainers")
    for before in items(old["spec"], "ephemeralContainers"):
        name = before["name"]
        if name not in now:
            field.forbidden(f'existing ephemeral containers "{name}" may not be removed\n')
        elif now[name] != before:
            field.forbidden(f'existing ephemeral containers "{name}" may not be changed\n')


def _check_change(pod: Field, old: JSONObject) -> None:
    spec, before = pod.at("spec"), old["spec"]
    new = copy.deepcopy(spec.value)
    for field in ("containers", "initContainers"):
        if len(items(new, field)) != len(items(before, field)):
            spec.at(field).forbidden("pod updates may not add or remove containers")
            return
        for container, was in zip(items(new, field), items(before, field), strict=True):
            container["image"] = was.get("image")
    _check_deadline(spec.at("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    _check_tolerations(spec, before)
    _check_gates(spec, before)
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _restore(new, before, field)
    if before.get("schedulingGates"):
        _check_gated(spec, new, before)
    if new != before:
        spec.forbidden(_UNCHANGEABLE)


def _restore(new: JSONObject, before: JSONObject, field: str) -> None:
    if field in before:
        new[field] = before[field]
    else:
        new.pop(field, None)


def _check_deadline(deadline: Field, was: int | None) -> None:
    if was is None or deadline.value == was:
        return
    if deadline.value is None:
        deadline.invalid("must not update from a positive integer to nil value")
    elif deadline.value > was:
        deadline.invalid("must be less than or equal to previous value")


def _check_tolerations(spec: Field, before: JSONObject) -> None:
    """Check that no toleration is removed or changed, except in its time."""
    now = [_without_time(toleration.value) for toleration in spec.each("tolerations")]
    for toleration in items(before, "tolerations"):
        if _without_time(toleration) not in now:
            detail = "existing toleration can not be modified except its tolerationSeconds"
            spec.at("tolerations").forbidden(detail)


def _without_time(toleration: JSONObject) -> JSONObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _check_gates(spec: Field, before: JSONObject) -> None:
    """Check that no scheduling gate is added."""
    former = {gate.get("name") for gate in items(before, "schedulingGates")}
    for gate in spec.each("schedulingGates"):
        if (name := gate.get("name")) not in former:
            gate.at("name").forbidden(f"only deletion is allowed, but found new scheduling gate '{name}'")


def _check_gated(spec: Field, new: JSONObject, before: JSONObject) -> None:
    """Check changes of where a gated pod may run, which must be restrictions."""
    selector = spec.get("nodeSelector") or {}
    for key, value in (before.get("nodeSelector") or {}).items():
        if selector.get(key) != value:
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            spec.at("nodeSelector").invalid(detail, selector)
    _restore(new, before, "nodeSelector")
    former = (before.get("affinity") or {}).get("nodeAffinity")
    _check_node_affinity(spec.at("affinity", "nodeAffinity"), former)
    if (new.get("affinity") or {}).get("nodeAffinity") != former:
        affinity = {**(new.get("affinity") or {}), "nodeAffinity": former}
        kept = {key: value for key, value in affinity.items() if value is not None}
        new["affinity"] = kept
        if not kept and "affinity" not in before:
            del new["affinity"]


def _check_node_affinity(affinity: Field, former: JSONObject | None) -> None:
    field = affinity.at(_REQUIRED_TERMS, "nodeSelectorTerms")
    terms = ((former or {}).get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or []
    new = field.value or []
    if terms and len(terms) != len(new):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        field.invalid(detail, [_go_term(term) for term in new] or None)
        return
    for index, (term, was) in enumerate(zip(new, terms, strict=False)):
        if not _only_adds(term, was):
            field.item(index).invalid("only additions are allowed (no mutations or deletions)", _go_term(term))


def _only_adds(term: JSONObject, was: JSONObject) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(was.get(part) for part in parts):
        return not any(term.get(part) for part in parts)
    return all((term.get(part) or [])[: len(was.get(part) or ())] == (was.get(part) or []) for part in parts)


def _go_term(term: JSONObject) -> JSONObject:
    """Return a term as causes show it, with the fields of the Go struct."""
    return {
        name: [
            {"Key": each.get("key", ""), "Operator": each.get("operator", ""), "Values": each.get("values")}
            for each in term.get(field) or ()
        ]
        or None
        for name, field in (("MatchExpressions", "matchExpressions"), ("MatchFields", "matchFields"))
    }


def pod_rules(storage: Storage, registry: Registry) -> dict[str, Factory]:
    """Return the rules of pods and pod templates by storage group."""
    pods = partial(
        PodRules,
        storage=storage,
        registry=registry,
        changes=_check_change,
        updated=_check_update,
        names="the Pod's hostname",
        # Updates cause no warnings, because most are made by controllers.
        cautions=lambda obj, old: pod_warnings(obj) if old is None else (),
    )
    templates = partial(
        BuiltinRules,
        cautions=lambda obj, old: template_warnings("template", obj["template"]) if may_warn(obj, old) else (),
    )
    return {"pods": pods, "podtemplates": templates}
