"""What the status of a pod says about one of its containers.

Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dynkube._server_text import sanitized, word
from dynkube.errors import InvalidInput
from dynkube.meta import Unstructured

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"  # kubectl honours it, too
_SPECS: Final = ("containers", "initContainers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Phase(Enum):
    """Whether a container has a log that can be read."""

    UNKNOWN = "unknown"  # the pod's status does not mention the container
    WAITING = "waiting"  # it has not run yet
    RUNNING = "running"
    ENDED = "ended"  # its last run has ended, and no other has begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The state of a container.

    Attributes:
        phase: whether it has a log.
        run: the number of the run whose log is the current one: 0 for the first, as ``restartCount``.
        runs_again: whether the kubelet will start it (again).
        reason: why it waits or has ended, for messages.
    """

    phase: Phase
    run: int = 0
    runs_again: bool = True
    reason: str = ""


def look(pod: Unstructured, container: str) -> Sight:
    """Return the state of a container of a pod."""
    status, spec, kind = _entry(pod, _STATUSES, container), _entry(pod, _SPECS, container), _kind(pod, container)
    finished = pod.get("status", {}).get("phase") in _FINISHED
    if not status:
        if finished:
            return Sight(phase=Phase.ENDED, runs_again=False, reason=pod_reason(pod))
        return Sight(phase=Phase.UNKNOWN, reason=pod_reason(pod))
    run = status.get("restartCount", 0)
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    if "running" in state:
        return Sight(phase=Phase.RUNNING, run=run)
    ended = state.get("terminated") or last
    if ended is not None:
        again = not finished and "deletionTimestamp" not in pod["metadata"] and _restarts(pod, spec, kind, ended)
        waiting = state.get("waiting")
        reason = _why(waiting) if waiting and again else _how(ended)
        return Sight(phase=Phase.ENDED, run=run, runs_again=again, reason=reason)
    if finished:
        return Sight(phase=Phase.ENDED, run=run, runs_again=False, reason=pod_reason(pod))
    return Sight(phase=Phase.WAITING, run=run, reason=_why(state.get("waiting") or {}) or pod_reason(pod))


def container_names(pod: Unstructured) -> list[str]:
    """Return the names of all containers: init containers first, ephemeral ones last."""
    spec = pod.get("spec", {})
    order = ("initContainers", "containers", "ephemeralContainers")
    return [each["name"] for field in order for each in spec.get(field) or ()]


def container_of(pod: Unstructured, name: str | None) -> str:
    """Return the name of the container to read.

    Without a name that is the one of the annotation ``kubectl.kubernetes.io/default-container``, or the only one.

    Raises:
        InvalidInput: the pod has no such container, or several and none was named.
    """
    known = container_names(pod)
    where = f"pod {pod.namespace}/{pod.name}"
    if name is not None:
        if name in known:
            return name
        raise InvalidInput(f"{where} has no container {name!r}; it has {', '.join(known)}")
    containers = [each["name"] for each in pod.get("spec", {}).get("containers") or ()]
    default = pod.get("metadata", {}).get("annotations", {}).get(_DEFAULT_CONTAINER)
    if default in known:
        return str(default)
    if len(containers) == 1:
        return str(containers[0])
    raise InvalidInput(f"{where} has the containers {', '.join(known)}: pass container=")


def pod_reason(pod: Unstructured) -> str:
    """Return the phase of a pod, and why: ``Pending: Unschedulable: 0/3 nodes are available``."""
    status = pod.get("status", {})
    why = ": ".join(filter(None, (status.get("reason"), status.get("message"))))
    if not why:
        unmet = (each for each in status.get("conditions") or () if each.get("status") == "False")
        why = next((_why(each) for each in unmet if each.get("type") == "PodScheduled"), "")
    return sanitized(": ".join(filter(None, (status.get("phase", "Pending"), why))), 500)


def _why(state: Mapping[str, Any]) -> str:
    return sanitized(": ".join(filter(None, (state.get("reason"), state.get("message")))), 500)


def _how(ended: Mapping[str, Any]) -> str:
    """Return how a run has ended: ``Error, exit code 1``."""
    return f"{word(ended.get('reason') or 'ended')}, exit code {ended.get('exitCode', '?')}"


def _restarts(pod: Unstructured, spec: Mapping[str, Any], kind: str, ended: Mapping[str, Any]) -> bool:
    """Whether the kubelet starts a container again that has ended."""
    if kind == "ephemeralContainers":
        return False
    if spec.get("restartPolicyRules"):  # by exit code; the phase of the pod tells when it is over
        return True
    own = spec.get("restartPolicy")  # of a sidecar, or since 1.34 of any container
    policy = own or pod.get("spec", {}).get("restartPolicy", "Always")
    failed = ended.get("exitCode", 0) != 0
    if kind == "initContainers" and own is None:
        return bool(failed and policy != "Never")
    return bool(policy == "Always" or (policy == "OnFailure" and failed))


def _kind(pod: Unstructured, container: str) -> str:
    spec = pod.get("spec", {})
    return next((field for field in _SPECS if any(_named(spec.get(field), container))), "")


def _entry(pod: Unstructured, fields: tuple[str, ...], container: str) -> Mapping[str, Any]:
    within = pod.get("status" if fields is _STATUSES else "spec", {})
    return next((each for field in fields for each in _named(within.get(field), container)), {})


def _named(entries: Any, container: str) -> Iterator[Mapping[str, Any]]:
    return (each for each in entries or () if each.get("name") == container)
