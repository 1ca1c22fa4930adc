"""How far a rollout is, decided from one object. Pure.

Deployments, StatefulSets and DaemonSets are judged as kubectl 1.37 does (``polymorphichelpers/rollout_status.go``),
with its messages. Other kinds are judged by what controllers have in common: observedGeneration, numbers of replicas,
and conditions, with those of kstatus (``sigs.k8s.io/cli-utils/pkg/kstatus``). What such an object does not say is
unknown, and never complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from dynkube._displayable import Displayable, text_without_heading
from dynkube.errors import DynkubeError
from dynkube.meta import Unstructured


class RolloutPhase(StrEnum):
    """What the status of an object says about its rollout."""

    COMPLETE = "complete"
    PROGRESSING = "progressing"
    FAILED = "failed"
    """It does not continue by itself."""
    UNSUPPORTED = "unsupported"
    """The object's update strategy has no rollout to follow, such as ``OnDelete``."""
    UNKNOWN = "unknown"
    """The status does not say it: it has no conditions that are known, and no counters of ready replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStatus(Displayable):
    """How far a rollout is; prints as a line with a progress bar.

    Attributes:
        object: the object as it was read.
        phase: what its status says.
        message: the same as a sentence; for Deployments, StatefulSets and DaemonSets that of ``kubectl rollout
            status``.
        reasons: why it does not go on, from the object's conditions and fields: ``"FailedCreate: exceeded quota"``,
            ``"paused"``. May be empty.
        desired: the number of replicas, or of nodes; ``None`` if the object has no such field. So may the next three.
        updated: how many of them have the new template.
        ready: how many of them are ready.
        available: how many of them are available: ready for ``minReadySeconds``.
    """

    object: Unstructured
    phase: RolloutPhase
    message: str
    reasons: tuple[str, ...] = ()
    desired: int | None = None
    updated: int | None = None
    ready: int | None = None
    available: int | None = None

    @property
    def complete(self) -> bool:
        """Whether the rollout is complete."""
        return self.phase is RolloutPhase.COMPLETE

    @property
    def progress(self) -> float | None:
        """From 0.0 to 1.0: the share of the desired replicas that are updated and available.

        ``None`` if the object has no numbers of replicas.
        """
        if self.complete:
            return 1.0
        counts = [count for count in (self.updated, _either(self.available, self.ready)) if count is not None]
        if self.desired is None or not counts:
            return None
        return max(0.0, min(1.0, min(counts) / self.desired)) if self.desired > 0 else 0.0

    def __str__(self) -> str:
        return text_without_heading(self)


class RolloutError(DynkubeError):
    """A rollout does not continue, or cannot do what was asked.

    For example its progress deadline is exceeded, it is paused, or there is no such revision. The message says why.

    Attributes:
        status: how far the rollout was, if that is the reason; else ``None``.
    """

    def __init__(self, message: str, *, status: RolloutStatus | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Counts:
    desired: int | None = None
    updated: int | None = None
    ready: int | None = None
    available: int | None = None


_Verdict: TypeAlias = tuple[RolloutPhase, str]


def rollout_status(obj: Unstructured) -> RolloutStatus:
    """Return how far the rollout of an object of any kind is."""
    decide, count = _KINDS.get((obj.api_version.partition("/")[0], obj.kind), (_by_shape, _counts_of_any))
    spec, status = mapping_at(obj, "spec"), mapping_at(obj, "status")
    phase, message = decide(obj, spec, status)
    counts = count(spec, status)
    reasons = () if phase is RolloutPhase.COMPLETE else tuple(dict.fromkeys(_reasons(obj, spec, status)))
    return RolloutStatus(
        object=obj,
        phase=phase,
        message=message,
        reasons=reasons,
        desired=counts.desired,
        updated=counts.updated,
        ready=counts.ready,
        available=counts.available,
    )


def mapping_at(obj: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return the map at a path; an empty one if there is something else, or nothing."""
    found: object = obj
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


# ── the kinds that kubectl knows ─────────────────────────────────────────────────────────────


def _deployment(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    if obj.generation > _int(status, "observedGeneration"):
        return RolloutPhase.PROGRESSING, "Waiting for deployment spec update to be observed..."
    progressing = _condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return RolloutPhase.FAILED, f'deployment "{obj.name}" exceeded its progress deadline'
    desired, updated = _number(spec, "replicas"), _int(status, "updatedReplicas")
    current, available = _int(status, "replicas"), _int(status, "availableReplicas")
    waiting = f'Waiting for deployment "{obj.name}" rollout to finish:'
    if desired is not None and updated < desired:
        return RolloutPhase.PROGRESSING, f"{waiting} {updated} out of {desired} new replicas have been updated..."
    if current > updated:
        return RolloutPhase.PROGRESSING, f"{waiting} {current - updated} old replicas are pending termination..."
    if available < updated:
        return RolloutPhase.PROGRESSING, f"{waiting} {available} of {updated} updated replicas are available..."
    return RolloutPhase.COMPLETE, f'deployment "{obj.name}" successfully rolled out'


def _daemon_set(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    if mapping_at(spec, "updateStrategy").get("type") != "RollingUpdate":
        return _NO_ROLLING_UPDATE
    if obj.generation > _int(status, "observedGeneration"):
        return RolloutPhase.PROGRESSING, "Waiting for daemon set spec update to be observed..."
    desired, updated = _int(status, "desiredNumberScheduled"), _int(status, "updatedNumberScheduled")
    available = _int(status, "numberAvailable")
    waiting = f'Waiting for daemon set "{obj.name}" rollout to finish:'
    if updated < desired:
        return RolloutPhase.PROGRESSING, f"{waiting} {updated} out of {desired} new pods have been updated..."
    if available < desired:
        return RolloutPhase.PROGRESSING, f"{waiting} {available} of {desired} updated pods are available..."
    return RolloutPhase.COMPLETE, f'daemon set "{obj.name}" successfully rolled out'


def _stateful_set(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    strategy = mapping_at(spec, "updateStrategy")
    if strategy.get("type") != "RollingUpdate":
        return _NO_ROLLING_UPDATE
    observed = _int(status, "observedGeneration")
    if observed == 0 or obj.generation > observed:
        return RolloutPhase.PROGRESSING, "Waiting for statefulset spec update to be observed..."
    desired, updated = _number(spec, "replicas"), _int(status, "updatedReplicas")
    ready = _int(status, "readyReplicas")
    if desired is not None and ready < desired:
        return RolloutPhase.PROGRESSING, f"Waiting for {desired - ready} pods to be ready..."
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, Mapping):
        return _partitioned(desired, updated, _number(rolling, "partition"))
    if status.get("updateRevision") != status.get("currentRevision"):
        return RolloutPhase.PROGRESSING, (
            f"waiting for statefulset rolling update to complete {updated} pods at revision "
            f"{status.get('updateRevision', '')}..."
        )
    return RolloutPhase.COMPLETE, (
        f"statefulset rolling update complete {_int(status, 'currentReplicas')} pods at revision "
        f"{status.get('currentRevision', '')}..."
    )


def _partitioned(desired: int | None, updated: int, partition: int | None) -> _Verdict:
    wanted = None if desired is None or partition is None else desired - partition
    if wanted is not None and updated < wanted:
        waiting = "Waiting for partitioned roll out to finish:"
        return RolloutPhase.PROGRESSING, f"{waiting} {updated} out of {wanted} new pods have been updated..."
    return RolloutPhase.COMPLETE, f"partitioned roll out complete: {updated} new pods have been updated..."


_NO_ROLLING_UPDATE: Final = (
    RolloutPhase.UNSUPPORTED,
    "rollout status is only available for RollingUpdate strategy type",
)


def _replica_counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    numbers = (_int(status, name) for name in ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return _Counts(_number(spec, "replicas"), *numbers)


def _replica_set_counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    return _Counts(_number(spec, "replicas"), None, _int(status, "readyReplicas"), _int(status, "availableReplicas"))


def _node_counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")
    return _Counts(*(_int(status, name) for name in names))


# ── ReplicaSets and ReplicationControllers, which kubectl has no rollout status for ──────────


def _replica_set(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    called = f'{obj.kind} "{obj.name}"'
    if obj.generation > _int(status, "observedGeneration"):
        return RolloutPhase.PROGRESSING, f"Waiting for the spec update of {called} to be observed..."
    desired = _either(_number(spec, "replicas"), 1)
    # Go leaves out counters that are 0.
    counts = {name: _int(status, name) for name in ("replicas", "readyReplicas", "availableReplicas")}
    if missing := _shortfall({"replicas": desired}, counts):
        return RolloutPhase.PROGRESSING, f"Waiting for {called} rollout to finish: {missing}..."
    if surplus := _surplus({"replicas": desired}, counts):
        return RolloutPhase.PROGRESSING, f"Waiting for {called} rollout to finish: {surplus}..."
    return RolloutPhase.COMPLETE, f"{called} has {desired} replicas, and all are available"


# ── all other kinds ──────────────────────────────────────────────────────────────────────────

# Conditions whose status True means that the object does not go on by itself.
_FAILURES: Final = ("Stalled", "Failed", "InvalidSpec")
# Reasons of Progressing with the same meaning: of Deployments, Argo's Rollouts, and DeploymentConfigs.
_GIVEN_UP: Final = frozenset({"ProgressDeadlineExceeded", "RolloutAborted", "RolloutCancelled"})
# Conditions whose status True means that it is at work: of kstatus, Cluster API, LeaderWorkerSets, OpenShift.
_WORK: Final = ("Reconciling", "Progressing", "RollingOut", "ScalingUp", "ScalingDown", "UpdateInProgress", "Deleting")
# Reasons of Progressing=True that mean the opposite: Deployments keep it so once they are complete.
_WORK_DONE: Final = frozenset({"NewReplicaSetAvailable", "NewReplicationControllerAvailable"})
# Conditions that are True once the object is as its spec says; of several, all have to be. An object without any of
# them is judged by those whose names end with Ready, such as HeadPodReady.
_RESULTS: Final = ("Ready", "Healthy", "Programmed", "Accepted", "Complete", "Completed", "Established", "Available")
# The counters of a status, in the order in which a rollout fills them, by what precedes "Replicas" or "Instances".
_COUNTERS: Final = {
    "": "have been created",
    "updated": "have been updated",
    "upToDate": "have been updated",
    "updatedReady": "are updated and ready",
    "updatedAvailable": "are updated and available",
    "ready": "are ready",
    "available": "are available",
}
_UNITS: Final = ("replicas", "instances")
# Where specs say how many replicas are not to be updated: StatefulSets, CloneSets, LeaderWorkerSets.
_PARTITIONS: Final = (
    ("updateStrategy",),
    ("updateStrategy", "rollingUpdate"),
    ("rolloutStrategy", "rollingUpdateConfiguration"),
)
_STRATEGIES: Final = (("updateStrategy",), ("strategy",), ("rollout", "strategy"), ("rolloutStrategy",))


def _by_shape(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    called = f'{obj.kind} "{obj.name}"'
    if "deletionTimestamp" in obj["metadata"]:
        return RolloutPhase.PROGRESSING, f"{called} is being deleted"
    if not _is_observed(obj, status):
        return RolloutPhase.PROGRESSING, f"Waiting for the spec update of {called} to be observed..."
    if any(mapping_at(spec, *path).get("type") == "OnDelete" for path in _STRATEGIES):
        return _NO_ROLLING_UPDATE
    current = [each for each in _conditions(status) if _is_observed(obj, each)]
    if failure := next(filter(_has_given_up, current), None):
        return RolloutPhase.FAILED, f"{called} has the condition {_shown(failure)}"
    if missing := _shortfall(spec, status):
        return RolloutPhase.PROGRESSING, f"Waiting for {called} rollout to finish: {missing}..."
    if work := next(filter(_is_at_work, current), None):
        return RolloutPhase.PROGRESSING, f"{called} has the condition {_shown(work)}"
    return _by_results(obj, called, spec, status)


def _has_given_up(condition: Mapping[str, Any]) -> bool:
    name, holds = condition.get("type"), condition.get("status")
    if name == "Progressing":
        return holds == "False" and condition.get("reason") in _GIVEN_UP
    return name in _FAILURES and holds == "True"


def _is_at_work(condition: Mapping[str, Any]) -> bool:
    name, holds = condition.get("type"), condition.get("status")
    if name == "Progressing":  # Unknown while a rollout is paused
        return holds == "Unknown" or (holds == "True" and condition.get("reason") not in _WORK_DONE)
    return name in _WORK and holds == "True"


def _by_results(obj: Unstructured, called: str, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    """Return the verdict on an object that neither has failed, nor is at work, nor has too few replicas."""
    desired = _desired(spec)
    counts = _counts_of_any(spec, status)
    counted = counts.ready is not None or counts.available is not None
    results = [found for name in _RESULTS if (found := _condition(status, name))]
    results = results or [each for each in _conditions(status) if str(each.get("type")).endswith("Ready")]
    for each in results:
        if not _is_observed(obj, each):
            return RolloutPhase.PROGRESSING, f"{called} has the condition {_shown(each)} of an older generation"
        if each.get("status") != "True":
            return RolloutPhase.PROGRESSING, f"{called} has the condition {_shown(each)}"
    if results and results[0].get("type") != "Available":
        return RolloutPhase.COMPLETE, f"{called} has the condition {_shown(results[0], reason=False)}"
    if surplus := _surplus(spec, status):
        return RolloutPhase.PROGRESSING, f"Waiting for {called} rollout to finish: {surplus}..."
    if desired and not counted:  # Available holds during a rollout, too
        return RolloutPhase.UNKNOWN, f"{called} does not say how many of its {desired} replicas are ready"
    if results:
        return RolloutPhase.COMPLETE, f"{called} has the condition {_shown(results[0], reason=False)}"
    if _number(status, "observedGeneration") is None or not (counted or not status.get("conditions")):
        known = ", ".join(_RESULTS)
        return RolloutPhase.UNKNOWN, f"{called} has none of the conditions {known} that tell whether it is rolled out"
    if counted:
        return RolloutPhase.COMPLETE, f"{called} has all its replicas, and its last update was observed"
    return RolloutPhase.COMPLETE, f"{called} has no conditions, and its last update was observed"


def _is_observed(obj: Unstructured, part: Mapping[str, Any]) -> bool:
    """Whether a status or condition is about the current generation, as far as it says so."""
    observed = _number(part, "observedGeneration")
    return observed is None or observed >= obj.generation


def _shown(condition: Mapping[str, Any], *, reason: bool = True) -> str:
    return f"{condition.get('type')}={condition.get('status')}{_because(condition) if reason else ''}"


def _shortfall(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """Return which counter of an object is below what its spec wants; ``""`` if none is."""
    for unit, desired, counters in _counted(spec, status):
        for name, done in _COUNTERS.items():
            wanted = _to_update(spec, status, desired) if name.startswith("up") else desired
            if (found := counters.get(name)) is not None and found < wanted:
                return f"{found} out of {wanted} {unit} {done}"
    return ""


def _surplus(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """Return how many replicas there are too many: old ones, or after scaling down; ``""`` if there are none."""
    for unit, desired, counters in _counted(spec, status):
        if counters.get("", desired) > desired:
            return f"{counters[''] - desired} {unit} more than desired are pending termination"
    return ""


def _counted(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Yield what an object counts, how many it wants, and its counters.

    These are ``spec.replicas`` with ``status.readyReplicas`` and so on; and ``status.desiredWorkerReplicas`` with
    ``status.readyWorkerReplicas``, of which those that are 0 may be left out.
    """
    for unit in _UNITS:
        if (desired := _number(spec, unit)) is not None:
            total = _number(status, unit)
            yield unit, desired, _counters(status, unit.capitalize()) | ({} if total is None else {"": total})
    for field in status:
        part = field.removeprefix("desired")
        if part != field and part not in ("Replicas", "Instances") and part.endswith(("Replicas", "Instances")):
            yield part, _int(status, field), {"ready": 0} | _counters(status, part)


def _counters(status: Mapping[str, Any], unit: str) -> dict[str, int]:
    numbers = ((name, _number(status, f"{name}{unit}")) for name in _COUNTERS if name)
    return {name: number for name, number in numbers if number is not None}


def _desired(spec: Mapping[str, Any]) -> int | None:
    return next((number for unit in _UNITS if (number := _number(spec, unit)) is not None), None)


def _to_update(spec: Mapping[str, Any], status: Mapping[str, Any], desired: int) -> int:
    """Return how many replicas the update is to reach: all without a partition."""
    if (expected := _number(status, "expectedUpdatedReplicas")) is not None:
        return expected
    given = [found for path in _PARTITIONS if (found := mapping_at(spec, *path).get("partition")) is not None]
    text = str(given[0]) if given else "0"
    percent = text.removesuffix("%")
    if not (percent.isascii() and percent.isdecimal()):
        return desired
    kept = math.ceil(desired * int(percent) / 100) if percent != text else int(percent)
    return max(0, desired - kept)


def _counts_of_any(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    for _, desired, counters in _counted(spec, status):
        updated = _either(counters.get("updated"), counters.get("upToDate"))
        return _Counts(desired, updated, counters.get("ready"), counters.get("available"))
    counters = _counters(status, "Replicas")
    return _Counts(None, counters.get("updated"), counters.get("ready"), counters.get("available"))


# ── fields ───────────────────────────────────────────────────────────────────────────────────

_DIGITS: Final = 19  # of the largest int64


def _reasons(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[str]:
    """Yield what holds a rollout up."""
    if any(mapping_at(spec, *path).get("paused") is True for path in ((), *_PARTITIONS)):
        yield "paused"
    if not _is_observed(obj, status):
        return  # its conditions are about the rollout before: after an undo, about the one that failed
    for condition in _conditions(status):
        if _is_observed(obj, condition) and _hinders(condition) and (text := _because(condition)):
            yield text.removeprefix(": ")


def _hinders(condition: Mapping[str, Any]) -> bool:
    name, holds = str(condition.get("type")), condition.get("status")
    if name in _FAILURES or "Fail" in name:  # ReplicaFailure; FailedScale and FailedUpdate of CloneSets
        return holds == "True"
    return holds == "False" and (name == "Progressing" or name not in _WORK)


def _because(condition: Mapping[str, Any]) -> str:
    texts = [text for name in ("reason", "message") if isinstance(text := condition.get(name), str) and text]
    return f": {': '.join(texts)}" if texts else ""


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _condition(status: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next((each for each in _conditions(status) if each.get("type") == name), {})


def _number(part: Mapping[str, Any], name: str) -> int | None:
    """Return an integer, also one in a string: Argo's ``observedGeneration`` is one."""
    found = part.get(name)
    if isinstance(found, str) and len(found) < _DIGITS and found.isascii() and found.isdecimal():
        return int(found)
    return found if type(found) is int else None


def _int(part: Mapping[str, Any], name: str) -> int:
    return _number(part, name) or 0


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


_Decide: TypeAlias = Callable[[Unstructured, Mapping[str, Any], Mapping[str, Any]], _Verdict]
_Count: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], _Counts]

_KINDS: Final[Mapping[tuple[str, str], tuple[_Decide, _Count]]] = {
    ("apps", "Deployment"): (_deployment, _replica_counts),
    ("apps", "StatefulSet"): (_stateful_set, _replica_counts),
    ("apps", "DaemonSet"): (_daemon_set, _node_counts),
    ("apps", "ReplicaSet"): (_replica_set, _replica_set_counts),
    ("v1", "ReplicationController"): (_replica_set, _replica_set_counts),
}
