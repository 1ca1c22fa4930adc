"""Deployments, ReplicaSets, StatefulSets, DaemonSets and related kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.podwarnings import template_warnings
from dynkube_testing._builtin.rules import POD_NAMES, BuiltinRules, Factory, Prepare, may_warn
from dynkube_testing._builtin.sections import fill, section
from dynkube_testing._builtin.selectors import is_empty
from dynkube_testing._builtin.volumewarnings import claim_warnings
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._store.selectors import selects

_MISMATCH = "`selector` does not match template `labels`"
_STATEFUL_FIELDS = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}
_STATEFUL_UPDATE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
# Fields in the status of a Deployment that count a part of its replicas.
_PARTS = ("updatedReplicas", "readyReplicas", "availableReplicas")
_OTHER_COUNTS = ("unavailableReplicas", "terminatingReplicas", "collisionCount")
_ALL_REVISIONS = "a negative value retains all historical revisions; a value >= 0 is recommended"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

# ── defaults ──────────────────────────────────────────────────────────────────────────────────


def _rolling(field: str, **values: Any) -> Callable[[JSONObject], None]:
    """Return a function that sets the defaults of the strategy in ``field``."""

    def complete(spec: JSONObject) -> None:
        strategy = section(spec, field)
        fill(strategy, type="RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            fill(section(strategy, "rollingUpdate"), **values)

    return complete


def _complete_stateful_strategy(spec: JSONObject) -> None:
    strategy = section(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        section(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        fill(strategy["rollingUpdate"], partition=0)


def _complete_claims(spec: JSONObject) -> None:
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"kind": "PersistentVolumeClaim", "apiVersion": "v1"})
        fill(section(claim, "status"), phase="Pending")


def _complete_daemon_set(obj: JSONObject) -> None:
    metadata = obj["metadata"]
    metadata["annotations"] = {_TEMPLATE_GENERATION: "1", **(metadata.get("annotations") or {})}


def _complete_controller(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    if labels := ((spec.get("template") or {}).get("metadata") or {}).get("labels"):
        spec["selector"] = spec.get("selector") or dict(labels)
        obj["metadata"]["labels"] = obj["metadata"].get("labels") or dict(labels)


_TIME = {"lastTransitionTime": None}

DEFAULTS: typedefaults.Table = {
    "apps.v1.DeploymentSpec": (
        {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
        _rolling("strategy", maxUnavailable="25%", maxSurge="25%"),
    ),
    "apps.v1.DeploymentCondition": ({"lastUpdateTime": None, **_TIME},),
    "apps.v1.ReplicaSetSpec": ({"replicas": 1},),
    "apps.v1.ReplicaSetCondition": (_TIME,),
    "apps.v1.StatefulSetSpec": (
        {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10},
        {"persistentVolumeClaimRetentionPolicy": {}},
        _complete_stateful_strategy,
        _complete_claims,
    ),
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": ({"whenDeleted": "Retain", "whenScaled": "Retain"},),
    "apps.v1.StatefulSetCondition": (_TIME,),
    "apps.v1.DaemonSet": (_complete_daemon_set,),
    "apps.v1.DaemonSetSpec": (
        {"revisionHistoryLimit": 10},
        _rolling("updateStrategy", maxUnavailable=1, maxSurge=0),
    ),
    "apps.v1.DaemonSetCondition": (_TIME,),
    "core.v1.ReplicationController": (_complete_controller,),
    "core.v1.ReplicationControllerSpec": ({"replicas": 1},),
    "core.v1.ReplicationControllerCondition": (_TIME,),
    "core.v1.PodCondition": ({"lastProbeTime": None, **_TIME},),
    "core.v1.ContainerStateRunning": ({"startedAt": None},),
    "core.v1.ContainerStateTerminated": ({"exitCode": 0, "startedAt": None, "finishedAt": None},),
}

# ── fields set by the server ──────────────────────────────────────────────────────────────────

_COUNTS: Mapping[str, JSONObject] = {
    "StatefulSet": {"replicas": 0, "availableReplicas": 0},
    "DaemonSet": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "Replicas": {"replicas": 0},
}


def _decide_daemon_set(obj: JSONObject, old: JSONObject | None) -> None:
    fill(section(obj, "status"), **_COUNTS["DaemonSet"])
    metadata, annotations = obj["metadata"], dict(obj["metadata"].get("annotations") or {})
    generation = 1
    if old is not None:
        generation = int(old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "1"))
        generation += obj["spec"]["template"] != old["spec"]["template"]
    metadata["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def _check_selection(kind: str, described: str = "", *, required: bool = True) -> Callable[[Field], None]:
    """Return a check of the selector, which must match the labels of the template, and of the template.

    ``described`` is the word for the kind in the text of an empty selector.
    """

    def check(spec: Field) -> None:
        selector, labels = spec.at("selector"), spec.at("template", "metadata", "labels")
        before = len(spec.causes)
        if selector.value is None and required:
            selector.required()
        selector.check()
        if selector.value is not None and len(spec.causes) > before:
            selector.invalid("invalid label selector")
        elif selector.value is not None and is_empty(selector.value):
            selector.invalid(f"empty selector is invalid for {described or kind}")
        elif selector.value is None or not selects(selector.value, labels.value or {}):
            labels.invalid(_MISMATCH)
        _check_pods_stay(spec, kind)

    return check


def _check_pods_stay(spec: Field, kind: str) -> None:
    """Check a template whose pods must always be restarted."""
    template = _with_claims(spec) if spec.get("volumeClaimTemplates") else spec.at("template")
    template.check()
    policy = template.at("spec", "restartPolicy")
    if policy.value in {"OnFailure", "Never"}:
        policy.one_of(("Always",))
    if template.get("spec", "activeDeadlineSeconds") is not None:
        template.at("spec", "activeDeadlineSeconds").forbidden(f"activeDeadlineSeconds in {kind} is not Supported")


def _with_claims(spec: Field) -> Field:
    """Return the template with a volume for each claim template, as its containers mount these."""
    template = spec.at("template")
    names = [claim.get("metadata", "name") or "" for claim in spec.each("volumeClaimTemplates")]
    claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    own = [volume for volume in template.get("spec", "volumes") or () if volume.get("name") not in names]
    pod = {**template.get("spec"), "volumes": [*claims, *own]}
    for name in ("hostname", "subdomain"):
        pod.pop(name, None)
    template.value = {**template.value, "spec": pod}
    return template


def _check_strategy(strategy: Field) -> None:
    rolling = strategy.at("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling.value is not None:
                rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            rolling.check()
        case kind:
            strategy.unsupported(("Recreate", "RollingUpdate"), {"Type": kind, "RollingUpdate": _counts_in_go(rolling)})


def _counts_in_go(rolling: Field) -> JSONObject | None:
    """Return the fields of a rolling update by their Go names, as they are in messages; missing counts are 0."""
    names = {"MaxUnavailable": "maxUnavailable", "MaxSurge": "maxSurge"}
    return None if rolling.value is None else {name: rolling.get(field) or 0 for name, field in names.items()}


def _check_rolling(rolling: Field) -> None:
    surge, unavailable = rolling.at("maxSurge"), rolling.at("maxUnavailable")
    before = len(rolling.causes)
    checks.count(unavailable)
    checks.count(surge)
    checks.up_to_all(unavailable)
    none = {0, "0%"}
    if len(rolling.causes) == before and unavailable.value in none and surge.value in none:
        unavailable.invalid("may not be 0 when `maxSurge` is 0")


def _check_deadline(spec: Field) -> None:
    deadline = spec.at("progressDeadlineSeconds")
    if deadline.value <= (spec.get("minReadySeconds") or 0):
        deadline.invalid("must be greater than minReadySeconds")


def _check_counts(status: Field) -> None:
    """Check that the numbers in the status of a Deployment are consistent."""
    counts = {name: status.get(name) or 0 for name in ("replicas", *_PARTS)}
    for name in _PARTS:
        if counts[name] > counts["replicas"]:
            status.at(name).invalid("cannot be greater than status.replicas")
    if counts["availableReplicas"] > counts["readyReplicas"]:
        status.at("availableReplicas").invalid("cannot be greater than readyReplicas")


def _check_stateful_strategy(strategy: Field) -> None:
    kind, rolling = strategy.get("type"), strategy.at("rollingUpdate")
    if kind == "OnDelete" and rolling.value is not None:
        rolling.invalid("only allowed for updateStrategy 'RollingUpdate'", _in_go(rolling.value))
    elif kind == "RollingUpdate":
        rolling.check()
    elif kind != "OnDelete":
        given = None if rolling.value is None else _in_go(rolling.value)
        strategy.invalid("must be 'RollingUpdate' or 'OnDelete'", {"Type": kind, "RollingUpdate": given})


def _in_go(rolling: JSONObject) -> JSONObject:
    return {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}


def _check_claims(spec: Field) -> None:
    """Check the claim templates of a new object; they cannot be changed later."""
    for claim in spec.each("volumeClaimTemplates") if spec.creating else ():
        claim.at("spec").check()


def _check_daemon_strategy(strategy: Field) -> None:
    if (kind := strategy.get("type")) not in {"RollingUpdate", "OnDelete"}:
        counts = _counts_in_go(strategy.at("rollingUpdate"))
        strategy.unsupported(("RollingUpdate", "OnDelete"), {"Type": kind, "RollingUpdate": counts})


def _check_controller(spec: Field) -> None:
    if not spec.get("selector"):
        spec.at("selector").required()
    checks.not_negative(spec.at("replicas"))
    if spec.get("template") is None:
        spec.at("template").required()
        return
    labels = spec.at("template", "metadata", "labels")
    if not selects({"matchLabels": spec.get("selector")}, labels.value or {}):
        labels.invalid(_MISMATCH, labels.value or None)
    _check_pods_stay(spec, "ReplicationController")


CHECKS: typechecks.Table = {
    "apps.v1.Deployment": ("spec", "status"),
    "apps.v1.DeploymentSpec": (
        ("replicas", checks.not_negative),
        _check_selection("ReplicaSet", "deployment"),
        "strategy",
        ("minReadySeconds", checks.not_negative),
        ("revisionHistoryLimit", checks.not_negative),
        ("progressDeadlineSeconds", checks.not_negative),
        _check_deadline,
    ),
    "apps.v1.DeploymentStrategy": (_check_strategy,),
    "apps.v1.RollingUpdateDeployment": (_check_rolling,),
    "apps.v1.DeploymentStatus": (
        *((name, checks.not_negative) for name in ("observedGeneration", "replicas", *_PARTS, *_OTHER_COUNTS)),
        _check_counts,
    ),
    "apps.v1.ReplicaSet": ("spec",),
    "apps.v1.ReplicaSetSpec": (
        ("replicas", checks.not_negative),
        ("minReadySeconds", checks.not_negative),
        _check_selection("ReplicaSet"),
    ),
    "apps.v1.StatefulSet": ("spec",),
    "apps.v1.StatefulSetSpec": (
        ("podManagementPolicy", checks.only("must be 'OrderedReady' or 'Parallel'", "OrderedReady", "Parallel")),
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        _check_claims,
        ("replicas", checks.not_negative),
        ("minReadySeconds", checks.not_negative),
        ("ordinals.start", checks.not_negative),
        ("serviceName?", checks.label),
        _check_selection("StatefulSet"),
    ),
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": (
        ("whenDeleted", checks.one_of("Retain", "Delete")),
        ("whenScaled", checks.one_of("Retain", "Delete")),
    ),
    "apps.v1.StatefulSetUpdateStrategy": (_check_stateful_strategy,),
    "apps.v1.RollingUpdateStatefulSetStrategy": (
        ("partition", checks.not_negative),
        ("maxUnavailable?", checks.count, checks.up_to_all),
    ),
    "apps.v1.DaemonSet": ("spec",),
    "apps.v1.DaemonSetSpec": (
        _check_selection("DaemonSet", required=False),
        ("minReadySeconds", checks.not_negative),
        "updateStrategy",
        ("revisionHistoryLimit", checks.not_negative),
    ),
    "apps.v1.DaemonSetUpdateStrategy": (_check_daemon_strategy,),
    "core.v1.ReplicationController": ("spec",),
    "core.v1.ReplicationControllerSpec": (("minReadySeconds", checks.not_negative), _check_controller),
}


def _keep_stateful_set(field: Field, old: JSONObject) -> None:
    new, before = ({k: v for k, v in each["spec"].items() if k not in _STATEFUL_FIELDS} for each in (field.value, old))
    if new != before:
        field.at("spec").forbidden(_STATEFUL_UPDATE)


def _caution(obj: JSONObject, old: JSONObject | None) -> list[str]:
    return template_warnings("spec.template", obj["spec"].get("template")) if may_warn(obj, old) else []


def _caution_daemon_set(obj: JSONObject, old: JSONObject | None) -> list[str]:
    same = old is not None and obj["spec"]["template"] == old["spec"]["template"]
    return [] if same else template_warnings("spec.template", obj["spec"]["template"])


def _caution_controller(obj: JSONObject, old: JSONObject | None) -> list[str]:
    """Return the warnings for the pod template.

    On an update, they are about the old object, because kube-apiserver 1.36 mixes up the old and the new object.
    """
    source = obj if old is None else old
    return template_warnings("spec.template", source["spec"].get("template")) if may_warn(obj, old) else []


def _caution_stateful_set(obj: JSONObject, old: JSONObject | None) -> list[str]:
    warnings, spec = _caution(obj, old), obj["spec"]
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        at = f"spec.volumeClaimTemplates[{index}]{'' if old is None else '.Spec'}"
        warnings += claim_warnings(at, claim["spec"])
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(f"spec.revisionHistoryLimit: {_ALL_REVISIONS}")
    return warnings


def _counting(kind: str) -> Prepare:
    return lambda obj, old: fill(section(obj, "status"), **_COUNTS[kind])


RULES: Mapping[str, Factory] = {
    "deployments.apps": partial(
        BuiltinRules,
        fixed=("spec.selector",),
        names=POD_NAMES,
        cautions=_caution,
    ),
    "replicasets.apps": partial(
        BuiltinRules,
        decides=_counting("Replicas"),
        fixed=("spec.selector",),
        names=POD_NAMES,
        cautions=_caution,
    ),
    "statefulsets.apps": partial(
        BuiltinRules,
        decides=_counting("StatefulSet"),
        changes=_keep_stateful_set,
        cautions=_caution_stateful_set,
    ),
    "daemonsets.apps": partial(
        BuiltinRules,
        decides=_decide_daemon_set,
        fixed=("spec.selector",),
        cautions=_caution_daemon_set,
    ),
    "replicationcontrollers": partial(
        BuiltinRules,
        decides=_counting("Replicas"),
        names=POD_NAMES,
        cautions=_caution_controller,
    ),
    "controllerrevisions.apps": partial(BuiltinRules, fixed=("data",)),
}
