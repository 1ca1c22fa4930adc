"""Which pods of a node a drain evicts, skips or refuses, as kubectl 1.37 decides (``drain/filters.go``). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from dynkube._displayable import Displayable, text_without_heading
from dynkube.errors import DynkubeError
from dynkube.informers._dependents import owner_references
from dynkube.meta import Unstructured
from dynkube.workloads._rollout_status import mapping_at

_MIRROR: Final = "kubernetes.io/config.mirror"
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class PodOutcome(StrEnum):
    """What a drain has done with a pod."""

    WAITING = "waiting"
    """It will be evicted."""
    BLOCKED = "blocked"
    """The server refuses its eviction now, for example by a PodDisruptionBudget; it is tried again."""
    TERMINATING = "terminating"
    EVICTED = "evicted"
    """It is gone."""
    SKIPPED = "skipped"
    """It stays on the node."""
    REFUSED = "refused"
    """The options do not allow to evict it, so nothing was evicted."""
    FAILED = "failed"
    """Its eviction failed."""


_DONE: Final = frozenset({PodOutcome.EVICTED, PodOutcome.SKIPPED})
_COUNTED: Final = frozenset(PodOutcome) - {PodOutcome.SKIPPED}


@dataclass(frozen=True, slots=True)
class DrainedPod:
    """A pod of a node that is drained.

    Attributes:
        object: the pod as it was read.
        outcome: what the drain has done with it.
        reason: why; for one that is evicted anyway, a warning.
    """

    object: Unstructured
    outcome: PodOutcome
    reason: str = ""

    def __str__(self) -> str:
        called = f"{self.object.namespace}/{self.object.name} {self.outcome}"
        return f"{called}: {self.reason}" if self.reason else called


@dataclass(frozen=True, slots=True)
class DrainReport(Displayable):
    """The pods of a node that is drained, and what became of each; prints as a table with a progress bar.

    Attributes:
        node: the node's name.
        pods: its pods, by namespace and name.
    """

    node: str
    pods: tuple[DrainedPod, ...]

    @property
    def ok(self) -> bool:
        """Whether all pods are gone, except those that are skipped."""
        return all(pod.outcome in _DONE for pod in self.pods)

    @property
    def progress(self) -> float:
        """From 0.0 to 1.0: the share of the pods to evict that are gone."""
        counted = [pod for pod in self.pods if pod.outcome in _COUNTED]
        return sum(pod.outcome is PodOutcome.EVICTED for pod in counted) / len(counted) if counted else 1.0

    def among(self, *outcomes: PodOutcome) -> tuple[DrainedPod, ...]:
        """Return the pods with one of these outcomes."""
        return tuple(pod for pod in self.pods if pod.outcome in outcomes)

    @property
    def summary(self) -> str:
        """The number of pods with each outcome: ``"2 evicted, 1 skipped"``."""
        counts = ((outcome, len(self.among(outcome))) for outcome in PodOutcome)
        return ", ".join(f"{count} {outcome}" for outcome, count in counts if count) or "no pods"

    def with_pod(self, uid: str, outcome: PodOutcome, reason: str = "") -> DrainReport:
        """Return a copy in which one pod has another outcome."""
        changed = (replace(pod, outcome=outcome, reason=reason) if pod.object.uid == uid else pod for pod in self.pods)
        return DrainReport(self.node, tuple(changed))

    def __str__(self) -> str:
        return text_without_heading(self)


class DrainError(DynkubeError):
    """A node was not drained; it remains cordoned.

    Attributes:
        report: what became of each of its pods.
    """

    def __init__(self, message: str, *, report: DrainReport) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """What a drain may do; the arguments are those of ``Client.drain``."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False


def daemon_set_of(pod: Unstructured) -> tuple[str, str] | None:
    """Return namespace and name of the DaemonSet that controls a pod that has not finished."""
    controller = _controller(pod)
    by_daemon_set = controller.get("kind") == "DaemonSet" and controller.get("apiVersion") == "apps/v1"
    return (pod.namespace, str(controller.get("name"))) if by_daemon_set and not _finished(pod) else None


def verdict(pod: Unstructured, options: DrainOptions, daemon_set: Exception | bool) -> DrainedPod:
    """Return whether a pod is evicted, skipped or refused.

    Args:
        pod: the pod.
        options: the user's options.
        daemon_set: whether it belongs to a DaemonSet that exists; an exception if that cannot be read.
    """
    outcome, reason = next(_verdicts(pod, options, daemon_set), (PodOutcome.WAITING, ""))
    return DrainedPod(pod, outcome, reason)


def _verdicts(
    pod: Unstructured, options: DrainOptions, daemon_set: Exception | bool
) -> Iterator[tuple[PodOutcome, str]]:
    if daemon_set is True:
        if options.ignore_daemonsets:
            yield PodOutcome.SKIPPED, "managed by a DaemonSet, which would create it again"
        yield PodOutcome.REFUSED, "managed by a DaemonSet: pass ignore_daemonsets=True to leave such pods on the node"
    if isinstance(daemon_set, Exception):  # read by the caller; a missing one is no exception with force
        yield PodOutcome.REFUSED, f"its DaemonSet cannot be read ({daemon_set})"
    if _MIRROR in pod.annotations:
        yield PodOutcome.SKIPPED, "a static pod of the node"
    if not _finished(pod):
        if _has_emptydir(pod) and not options.delete_emptydir_data:
            yield PodOutcome.REFUSED, "has data in emptyDir volumes: pass delete_emptydir_data=True to delete it"
        if not _controller(pod) and not options.force:
            yield PodOutcome.REFUSED, "has no controller that would create it again: pass force=True to delete it"


def _controller(pod: Unstructured) -> Mapping[str, Any]:
    return next((each for each in owner_references(pod) if each.get("controller") is True), {})


def _finished(pod: Unstructured) -> bool:
    return mapping_at(pod, "status").get("phase") in _FINISHED


def _has_emptydir(pod: Unstructured) -> bool:
    volumes = mapping_at(pod, "spec").get("volumes")
    return isinstance(volumes, list) and any(isinstance(each, Mapping) and "emptyDir" in each for each in volumes)
