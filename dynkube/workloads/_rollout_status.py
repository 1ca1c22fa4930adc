"""How far a rollout is, decided from one object. Pure.

Deployments, StatefulSets and DaemonSets are judged as kubectl 1.37 does (``polymorphichelpers/rollout_status.go``),
with its messages. Other kinds are judged by the fields that controllers have in common: observedGeneration, conditions,
and numbers of replicas.
"""

from __future__ import annotations

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
    """The status says nothing: no conditions that are known, and no observedGeneration."""


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
    decide, count = _KINDS.get((obj.api_version.partition("/")[0], obj.kind), (_by_conditions, _counts_of_any))
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


def _node_counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")
    return _Counts(*(_int(status, name) for name in names))


# ── all other kinds ──────────────────────────────────────────────────────────────────────────

_FAILURES: Final = ("Stalled", "Failed")
_RESULTS: Final = ("Ready", "Available", "Healthy", "Programmed", "Accepted", "Complete", "Established")


def _by_conditions(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Verdict:
    called = f'{obj.kind} "{obj.name}"'
    observed = _number(status, "observedGeneration")
    if observed is not None and obj.generation > observed:
        return RolloutPhase.PROGRESSING, f"Waiting for the spec update of {called} to be observed..."
    for name in _FAILURES:
        if (failure := _condition(status, name)).get("status") == "True":
            return RolloutPhase.FAILED, f"{called} has the condition {name}=True{_because(failure)}"
    for name in _RESULTS:
        if found := _condition(status, name):
            return _by_condition(obj, called, name, found)
    if observed is not None and not status.get("conditions"):
        return RolloutPhase.COMPLETE, f"{called} has no conditions, and its last update was observed"
    known = ", ".join(_RESULTS)
    return RolloutPhase.UNKNOWN, f"{called} has none of the conditions {known} that tell whether it is rolled out"


def _by_condition(obj: Unstructured, called: str, name: str, condition: Mapping[str, Any]) -> _Verdict:
    shown = f"{called} has the condition {name}={condition.get('status')}"
    observed = _number(condition, "observedGeneration")
    if observed is not None and obj.generation > observed:
        return RolloutPhase.PROGRESSING, f"{shown} of an older generation"
    if condition.get("status") == "True":
        return RolloutPhase.COMPLETE, shown
    return RolloutPhase.PROGRESSING, f"{shown}{_because(condition)}"


def _counts_of_any(spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Counts:
    names = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return _Counts(_number(spec, "replicas"), *(_number(status, name) for name in names))


# ── fields ───────────────────────────────────────────────────────────────────────────────────


def _reasons(obj: Unstructured, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[str]:
    """Yield what holds a rollout up."""
    if spec.get("paused") is True:
        yield "paused"
    observed = _number(status, "observedGeneration")
    if observed is not None and obj.generation > observed:
        return  # its conditions are about the rollout before: after an undo, about the one that failed
    for condition in _conditions(status):
        name, holds = condition.get("type"), condition.get("status")
        hinders = holds == "True" if name in ("ReplicaFailure", *_FAILURES) else holds == "False"
        if hinders and (text := _because(condition)):
            yield text.removeprefix(": ")


def _because(condition: Mapping[str, Any]) -> str:
    texts = [text for name in ("reason", "message") if isinstance(text := condition.get(name), str) and text]
    return f": {': '.join(texts)}" if texts else ""


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _condition(status: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next((each for each in _conditions(status) if each.get("type") == name), {})


def _number(part: Mapping[str, Any], name: str) -> int | None:
    found = part.get(name)
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
}
