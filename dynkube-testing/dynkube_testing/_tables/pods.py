"""Tables of pods; the status is computed from phase, conditions and containers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, NAME, Cell, Column, Printer, column, wide
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE

_COLUMNS: tuple[Column, ...] = (
    NAME,
    column("Ready", "Containers that are ready, of all of them"),
    column("Status", "What the pod is doing, or why it is not running"),
    column("Restarts", "How often containers were restarted, and when the last time"),
    AGE,
    wide("IP", "Address of the pod"),
    wide("Node", "Node the pod runs on"),
    wide("Nominated Node", "Node on which room is being made for the pod"),
    wide("Readiness Gates", "Conditions besides its containers that the pod waits for, met of all"),
)

_TERMINAL = {"Succeeded", "Failed"}
_COMPLETED = {"Succeeded": "The pod has run to its end.", "Failed": "The pod has failed."}


@dataclass(slots=True)
class _Restarts:
    """The number of container restarts, and the time of the latest one."""

    count: int = 0
    last: str = ""

    def add(self, status: Fields) -> None:
        self.count += status.number("restartCount")
        # Timestamps of the same format can be compared as strings.
        self.last = max(self.last, status.text("lastState.terminated.finishedAt"))

    def text(self, ages: Ages) -> str:
        return f"{self.count} ({ages.since(self.last)} ago)" if self.count and self.last else str(self.count)


@dataclass(frozen=True, slots=True)
class _Initialization:
    """The state of the init containers.

    Attributes:
        reason: Why the pod is still initializing; ``""`` if it is initialized.
        ready: The number of sidecars that are ready.
        restarts: The restarts of all init containers.
        sidecar_restarts: The restarts of sidecars.
    """

    reason: str
    ready: int
    restarts: _Restarts
    sidecar_restarts: _Restarts


def _cells(pod: Fields, ages: Ages) -> Sequence[Cell]:
    sidecars = {each.text("name") for each in pod.each("spec.initContainers") if _is_sidecar(each)}
    reason = pod.text("status.reason") or pod.text("status.phase")
    if any(_gated(condition) for condition in pod.each("status.conditions")):
        reason = "SchedulingGated"
    start = _initialization(pod, sidecars)
    ready, restarts = start.ready, start.restarts
    if start.reason:
        reason = start.reason
    if not start.reason or pod.is_true("Initialized"):
        restarts = start.sidecar_restarts
        reason, running = _containers(pod, reason, restarts)
        ready += running
    if pod.deleting and pod.text("status.reason") == "NodeLost":
        reason = "Unknown"
    elif pod.deleting and pod.text("status.phase") not in _TERMINAL:
        reason = "Terminating"
    total = len(pod.each("spec.containers")) + len(sidecars)
    return [
        pod.name,
        f"{ready}/{total}",
        reason,
        restarts.text(ages),
        ages.of(pod),
        next((each.text("ip") for each in pod.each("status.podIPs")), "") or NONE,
        pod.text("spec.nodeName") or NONE,
        pod.text("status.nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _is_sidecar(container: Fields) -> bool:
    return container.text("restartPolicy") == "Always"


def _gated(condition: Fields) -> bool:
    return condition.text("type") == "PodScheduled" and condition.text("reason") == "SchedulingGated"


def _initialization(pod: Fields, sidecars: set[str]) -> _Initialization:
    restarts, sidecar_restarts, ready, reason = _Restarts(), _Restarts(), 0, ""
    for index, status in enumerate(pod.each("status.initContainerStatuses")):
        restarts.add(status)
        sidecar = status.text("name") in sidecars
        if sidecar:
            sidecar_restarts.add(status)
        if status.has("state.terminated") and status.number("state.terminated.exitCode") == 0:
            continue
        if sidecar and status.flag("started"):
            ready += status.flag("ready")
            continue
        waiting = status.text("state.waiting.reason")
        if status.has("state.terminated"):
            reason = f"Init:{_termination(status)}"
        elif waiting and waiting != "PodInitializing":
            reason = f"Init:{waiting}"
        else:
            reason = f"Init:{index}/{len(pod.each('spec.initContainers'))}"
        break
    return _Initialization(reason, ready, restarts, sidecar_restarts)


def _termination(status: Fields) -> str:
    ended = status.at("state.terminated")
    if ended.text("reason"):
        return ended.text("reason")
    signal = ended.number("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{ended.number('exitCode')}"


def _containers(pod: Fields, reason: str, restarts: _Restarts) -> tuple[str, int]:
    """Return the status from the containers, and the number of ready containers.

    The first container with a status takes precedence; ``reason`` is the default.
    """
    ready, running, error = 0, False, ""
    for status in reversed(pod.each("status.containerStatuses")):
        restarts.add(status)
        if status.text("state.waiting.reason"):
            reason = status.text("state.waiting.reason")
        elif status.has("state.terminated"):
            reason = _termination(status)
            if status.number("state.terminated.exitCode") != 0:
                error = reason
        elif status.flag("ready") and status.has("state.running"):
            running = True
            ready += 1
    if reason == "Completed":
        if running and pod.is_true("Ready"):
            reason = "Running"
        elif error:
            reason = error
        elif running:
            reason = "NotReady"
    return reason, ready


def _gates(pod: Fields) -> str:
    gates = [gate.text("conditionType") for gate in pod.each("spec.readinessGates")]
    return f"{sum(pod.is_true(gate) for gate in gates)}/{len(gates)}" if gates else NONE


def _conditions(pod: Fields) -> Sequence[JSONObject]:
    phase = pod.text("status.phase")
    if phase not in _COMPLETED:
        return ()
    return ({"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]},)


PODS = Printer(_COLUMNS, _cells, _conditions)
