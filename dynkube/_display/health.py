"""The health of an object: its conditions, replica counts and phase.

It is read from fields that many kinds share, and does not depend on the kind. A custom resource may use a field of such
a name differently, so the result only decides colours and a few words, and is shown next to the fields themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Span, Tone
from dynkube._display.values import inline
from dynkube._text.ages import age_of

# Conditions of negative polarity (healthy if False), by their names or the ends of these.
_ABNORMAL: Final = re.compile(
    r"(?:Pressure|Fail(?:ure|ed|ing)|Unavailable|Stalled|Degraded|Error|Errors|Invalid|Missing|Conflict(?:s|ed)?"
    r"|Violation|Violations|Denied|Outdated|Expired|Unhealthy|Unreachable|Remaining|Rollback|NonStructuralSchema"
    r"|Dangling|Blocked|Exceeded|FailureTarget)\Z"
)
# Conditions that are neither good nor bad: an operation in progress, or a state that was requested.
_PASSING: Final = re.compile(
    r"(?:Progressing|Reconciling|Terminating|Suspended|Paused|Deleting|Resizing|Pending|Updating|Upgrading"
    r"|Issuing|RollingOut|Remediating|ScalingUp|ScalingDown|DisruptionTarget|DisruptionAllowed|Limited"
    r"|PodReadyToStartContainers)\Z"
)
# The maximum number of conditions and containers to read; more than real objects have.
_MOST: Final = 1000
_GOOD_PHASES: Final = frozenset(
    {"Running", "Succeeded", "Active", "Bound", "Available", "Ready", "Healthy", "Complete", "Completed", "Established"}
)
_BAD_PHASES: Final = frozenset({"Failed", "Error", "Lost", "Degraded", "Unhealthy", "CrashLoopBackOff"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectHealth:
    """The health of an object, in the words of its status.

    Attributes:
        ready: ``"2/3"``, or the status of its condition Ready or Available; ``""`` if it has neither.
        reason: the reason why it is not ready; may be empty.
        status: like the STATUS column of ``kubectl get``: ``Terminating``, the reason why a container is waiting, or
            the phase; may be empty.
        tone: good, bad or neutral.
    """

    ready: str
    reason: str
    status: str
    tone: Tone


def health_of(obj: Mapping[str, Any]) -> ObjectHealth:
    """Return the health of an object; may raise if its body is unreadable."""
    metadata, status, spec = (mapping(obj, name) for name in ("metadata", "status", "spec"))
    main = _main_condition(status)
    # The status of a Scale has the number of replicas that exist; which of them are ready is not known.
    counts = None if _is_scale(obj) else next(_counts(spec, status), None)
    waiting = next(_waiting(status), "")
    phase = inline(status.get("phase"), 40)
    ready = f"{counts[0]}/{counts[1]}" if counts else inline(main.get("status"), 20)
    reason = inline(main.get("reason") if main.get("status") != "True" else None) or inline(status.get("reason"))
    if metadata.get("deletionTimestamp"):
        return ObjectHealth(ready=ready, reason=reason, status="Terminating", tone=Tone.WARN)
    return ObjectHealth(ready=ready, reason=reason, status=waiting or phase, tone=_tone(counts, main, phase, waiting))


def object_health(obj: Mapping[str, Any]) -> ObjectHealth:
    """Return the health of an object; if its body is unreadable, the status says so."""
    try:
        return health_of(obj)
    except Exception:  # noqa: BLE001  # one unreadable object must not break a table of many
        return ObjectHealth(ready="", reason="", status="(unreadable)", tone=Tone.BAD)


def object_age(obj: Mapping[str, Any], now: datetime) -> str:
    """Return the age of an object; ``""`` if it cannot be read."""
    try:
        return age_of(mapping(obj, "metadata").get("creationTimestamp"), now)
    except Exception:  # noqa: BLE001  # as above
        return ""


def _tone(counts: tuple[int, int] | None, main: Mapping[str, Any], phase: str, waiting: str) -> Tone:
    if phase in ("Succeeded", "Complete", "Completed"):
        return Tone.GOOD
    if phase in _BAD_PHASES or waiting.endswith(("BackOff", "Error")):
        return Tone.BAD
    if counts is not None:
        return Tone.GOOD if counts[0] >= counts[1] else Tone.WARN
    if main:
        return condition_tone(main)
    return Tone.GOOD if phase in _GOOD_PHASES else Tone.PLAIN


def condition_chips(obj: Mapping[str, Any], limit: int) -> tuple[Span, ...]:
    """Return an object's conditions as chips, such as ``Ready=True``, in the syntax of ``kubectl wait``.

    Chips of conditions that are not good contain the reason.
    """
    status = mapping(obj, "status")
    chips = tuple(condition_chip(each) for each in islice(conditions(status), limit))
    left = len(status["conditions"]) - limit if len(chips) == limit else 0
    return (*chips, Span(f"and {left:,} more", Tone.MUTED)) if left > 0 else chips


def condition_chip(condition: Mapping[str, Any]) -> Span:
    """Return a condition as a chip.

    The tooltip contains reason, message and lastTransitionTime.
    """
    tone = condition_tone(condition)
    name, status = inline(condition.get("type"), 60), inline(condition.get("status"), 20)
    reason = inline(condition.get("reason"), 60) if tone not in (Tone.GOOD, Tone.PLAIN) else ""
    details = ("reason", "message", "lastTransitionTime")
    title = "\n".join(filter(None, (inline(condition.get(each), 300) for each in details)))
    return Span(f"{name}={status}" + (f" {reason}" if reason else ""), tone, title, chip=True)


def condition_tone(condition: Mapping[str, Any]) -> Tone:
    """Return whether a condition is good, bad or neutral."""
    name, status = condition.get("type"), condition.get("status")
    if not isinstance(name, str) or status not in ("True", "False"):
        return Tone.WARN
    if _PASSING.search(name):
        # A Deployment with Progressing=False is stuck; other conditions of this kind are just not active.
        return Tone.BAD if name == "Progressing" and status == "False" else Tone.PLAIN
    if _ABNORMAL.search(name):
        return Tone.BAD if status == "True" else Tone.GOOD
    if status == "True":
        return Tone.GOOD
    return Tone.PLAIN if condition.get("reason") == "PodCompleted" else Tone.BAD


def conditions(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the well-formed conditions of a status."""
    found = status.get("conditions")
    if isinstance(found, list | tuple):
        yield from (each for each in found[:_MOST] if isinstance(each, Mapping) and "type" in each)


def mapping(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field that should be a map; an empty map if it is not."""
    found = obj.get(name)
    return found if isinstance(found, Mapping) else {}


def _is_scale(obj: Mapping[str, Any]) -> bool:
    return obj.get("kind") == "Scale" and str(obj.get("apiVersion")).startswith("autoscaling/")


def _main_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    known = {str(each["type"]): each for each in conditions(status)}
    names = ("Ready", "Available", "Healthy", "Complete", "Failed", "Established", "Accepted")
    return next((known[name] for name in names if name in known), {})


def _counts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield (ready, desired) counts, from the fields of the kinds that have them."""
    containers = status.get("containerStatuses")
    if isinstance(containers, list | tuple) and 0 < len(containers) <= _MOST:
        ready = sum(isinstance(each, Mapping) and each.get("ready") is True for each in containers)
        yield ready, len(containers)
    if (wanted := _number(status, "desiredNumberScheduled")) is not None:
        yield _number(status, "numberReady") or 0, wanted
    if (wanted := _number(spec, "replicas")) is not None and ("replicas" in status or "readyReplicas" in status):
        yield _number(status, "readyReplicas") or 0, wanted
    if (wanted := _number(spec, "completions")) is not None:
        yield _number(status, "succeeded") or 0, wanted


def _number(part: Mapping[str, Any], name: str) -> int | None:
    found = part.get(name)
    return found if type(found) is int and abs(found) < 10**12 else None


def _waiting(status: Mapping[str, Any]) -> Iterator[str]:
    """Yield why containers wait or ended, like STATUS of ``kubectl get pods``."""
    for name in ("initContainerStatuses", "containerStatuses"):
        found = status.get(name)
        for each in found[:_MOST] if isinstance(found, list | tuple) else ():
            state = mapping(each, "state") if isinstance(each, Mapping) else {}
            for kind in ("waiting", "terminated"):
                reason = inline(mapping(state, kind).get("reason"), 60)
                if reason and reason != "Completed":
                    yield reason
