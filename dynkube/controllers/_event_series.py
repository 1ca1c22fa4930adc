"""Which events become an Event, and which are counted in one. Pure: no I/O, and the time is passed in.

Series are those of client-go's ``tools/events``, the limit for each object is ``EventSourceObjectSpamFilter`` of its
``tools/record``.
"""

from __future__ import annotations

import math
import re
import uuid
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from dynkube.errors import InvalidInput
from dynkube.meta import Unstructured
from dynkube.meta._arguments import a_type, brief
from dynkube.meta._names import MAX_SUBDOMAIN, label_key_problem

FINISH: Final = 6 * 60.0
"""Seconds without a repetition after which a series ends, and its last count is written."""
REFRESH: Final = 30 * 60.0
"""Seconds between writes of the counts of series that go on. Servers delete Events an hour after their last write."""
MAX_SERIES: Final = 4096
"""How many series, and how many objects with a limit, are remembered; the least recently used are forgotten first."""
MAX_NOTE: Final = 1024
"""Bytes of a note that kube-apiserver accepts (``NoteLengthLimit``)."""

MAX_TEXT: Final = 128
"""Bytes of reason, action and reportingInstance that it accepts."""

_WORD: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

EventType: TypeAlias = Literal["Normal", "Warning"]
DropReason: TypeAlias = Literal["spam", "queue_full", "refused", "unreachable"]
"""Why something was not written; see :class:`EventRecorderStatistics`."""


# ── Event objects ─────────────────────────────────────────────────────────────────────────────


class ObjectIdentity(NamedTuple):
    """What identifies an object that events are about.

    Without its resourceVersion, which client-go compares as well: an object that changes between two events would never
    have a series (https://github.com/kube-rs/kube/pull/1655).
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, obj: Unstructured) -> ObjectIdentity:
        """Return the identity of ``obj``."""
        return cls(obj.api_version, obj.kind, obj.namespace, obj.name, obj.uid)


class EventKey(NamedTuple):
    """What equal events have in common (``getKey`` of client-go). The note is not part of it.

    Controller and instance are not either, as they are the same for all events of a recorder.
    """

    type: str
    reason: str
    action: str
    regarding: ObjectIdentity
    related: ObjectIdentity | None


def object_reference(obj: Unstructured) -> dict[str, str]:
    """Return a ``v1.ObjectReference`` to ``obj``, without the fields that it does not have."""
    fields = {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "namespace": obj.namespace,
        "name": obj.name,
        "uid": obj.uid,
        "resourceVersion": obj.resource_version,
    }
    return {name: value for name, value in fields.items() if value}


def event_name(name: str, nanoseconds: int, rng: Random) -> str:
    """Return ``NAME.HEX``, as client-go names Events; or a UUID, if that is too long or not a DNS subdomain.

    Objects of some kinds have names that Events cannot have, such as ``2001:db8::1`` and ``system:node``
    (https://issues.k8s.io/127594).
    """
    name = f"{name}.{nanoseconds:x}"
    if len(name) <= MAX_SUBDOMAIN and _SUBDOMAIN.fullmatch(name):
        return name
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def micro_time(time: datetime) -> str:
    """Return a time as ``metav1.MicroTime`` is written."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def limited_note(note: str) -> str:
    """Return a note that servers accept: at most 1,024 bytes of UTF-8, with an ellipsis where it was cut."""
    encoded = note.encode("utf-8", "replace")  # lone surrogates cannot be sent
    if len(encoded) > MAX_NOTE:
        return encoded[: MAX_NOTE - len("…".encode())].decode("utf-8", "ignore") + "…"
    return encoded.decode("utf-8")


@dataclass(slots=True, eq=False, kw_only=True)
class EventSeries:
    """Equal events, and the Event that stands for them.

    Attributes:
        key: what the events have in common.
        content: the Event of the first one, without its name.
        name: ``metadata.name`` of the Event.
        observed: the time of the last event, as :func:`micro_time` has it.
        ends_at: when the series ends unless the event occurs again, on a monotonic clock.
        count: how often the event has occurred.
        written: the last count that was written, refused or given up.
        exists: whether the server has confirmed the Event.
        attempted: whether a request to create it was sent.
        queued: whether it waits to be written, or is being written.
    """

    key: EventKey
    content: Mapping[str, object]
    name: str
    observed: str
    ends_at: float = -math.inf
    count: int = 1
    written: int = 0
    exists: bool = False
    attempted: bool = False
    queued: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the Event: that of the object; for cluster-scoped ones ``default``, as servers demand."""
        return self.key.regarding.namespace or "default"

    def patch(self) -> dict[str, object]:
        """Return the merge patch that writes the count; ``{}`` for a single event."""
        if self.count < 2:
            return {}
        return {"series": {"count": self.count, "lastObservedTime": self.observed}}

    def document(self) -> dict[str, object]:
        """Return the Event as it is created."""
        metadata = {"name": self.name, "namespace": self.namespace}
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": metadata,
            **self.content,
            **self.patch(),
        }


# ── which are sent ────────────────────────────────────────────────────────────────────────────


class SpamFilter:
    """Limits the new Events about each object: a token bucket for each.

    Args:
        burst: Events that may follow each other without a delay.
        refill_seconds: seconds until another one may follow.
        size: how many objects are remembered.
    """

    def __init__(self, burst: int, refill_seconds: float, size: int = MAX_SERIES) -> None:
        self._refill = refill_seconds
        self._spread = (burst - 1) * refill_seconds
        self._size = size
        self._full_at: OrderedDict[ObjectIdentity, float] = OrderedDict()  # when a bucket has all its tokens again

    def allows(self, subject: ObjectIdentity, now: float) -> bool:
        """Take a token of the object's bucket, and return whether there was one."""
        full_at = max(self._full_at.pop(subject, now), now)
        allowed = full_at - now <= self._spread
        self._full_at[subject] = full_at + self._refill if allowed else full_at
        if len(self._full_at) > self._size:
            self._full_at.popitem(last=False)
        return allowed


class EventCorrelator:
    """Combines equal events into series, and decides which one is written next.

    Its queue has those that wait to be written: new ones, and those that became a series. The counts of all others are
    written when their series ends, and every half hour. ``now`` is always a monotonic clock in seconds.

    Args:
        spam_filter: limits the new Events about each object.
        queue_size: how many may wait.
        size: how many series are remembered.
    """

    def __init__(self, spam_filter: SpamFilter, queue_size: int, size: int = MAX_SERIES) -> None:
        self._spam_filter = spam_filter
        self._queue_size = queue_size
        self._size = size
        self._queue: deque[EventSeries] = deque()
        self._series: OrderedDict[EventKey, EventSeries] = OrderedDict()  # in the order in which they will end
        self._refresh_at = -math.inf

    def __len__(self) -> int:
        """Return how many wait to be written."""
        return len(self._queue)

    def repeated(self, key: EventKey, observed: str, now: float) -> bool:
        """Count an event in its series; return ``False`` if there is none, or it has ended."""
        series = self._series.get(key)
        if series is None or now >= series.ends_at:
            return False
        series.count += 1
        series.observed = observed
        series.ends_at = now + FINISH
        self._series.move_to_end(key)
        if series.count == 2:
            self._enqueue(series)
        return True

    def add(self, series: EventSeries, now: float) -> Literal["spam", "queue_full"] | None:
        """Begin a series with its first event; return why it was dropped, or ``None``."""
        if len(self._queue) >= self._queue_size:
            return "queue_full"
        if not self._spam_filter.allows(series.key.regarding, now):
            return "spam"
        series.ends_at = now + FINISH
        self._enqueue(series)
        if (ended := self._series.pop(series.key, None)) is not None:
            self._enqueue(ended)
        self._series[series.key] = series
        if len(self._series) > self._size:
            _, forgotten = self._series.popitem(last=False)
            self._enqueue(forgotten)
        return None

    def due(self, now: float) -> EventSeries | None:
        """Return what is to be written now, or ``None``. It stays the same until :meth:`done` is called for it."""
        while not self._queue and self._series:
            series = next(iter(self._series.values()))
            if now < series.ends_at:
                break
            del self._series[series.key]
            self._enqueue(series)
        if not self._queue and now >= self._refresh_at:
            self._refresh_at = now + REFRESH
            for series in self._series.values():
                self._enqueue(series)
        return self._queue[0] if self._queue else None

    def deadline(self) -> float:
        """Return when something will be due, if no event occurs until then."""
        if not self._series:
            return math.inf
        return min(self._refresh_at, next(iter(self._series.values())).ends_at)

    def done(self, series: EventSeries, count: int) -> None:
        """Note that ``series``, which was due, was written with ``count``, or refused, or given up."""
        self._queue.popleft()
        series.queued = False
        series.written = count
        # It may have become a series, or even have ended, while it was being written.
        if count == 1 or self._series.get(series.key) is not series:
            self._enqueue(series)

    def write_all(self) -> None:
        """Make every count due that was not written yet. The limit of the queue does not apply."""
        for series in self._series.values():
            self._enqueue(series, limit=math.inf)

    def _enqueue(self, series: EventSeries, *, limit: float | None = None) -> None:
        """Have a series written, if there is something to write. In a full queue, a count waits for the next time."""
        limit = self._queue_size if limit is None else limit
        if series.count > series.written and not series.queued and len(self._queue) < limit:
            series.queued = True
            self._queue.append(series)


# ── arguments ────────────────────────────────────────────────────────────────────────────────


def check_source(controller: object, instance: object) -> None:
    """Reject a reportingController and a reportingInstance that servers would reject.

    Raises:
        InvalidInput: one of them is invalid.
    """
    problem = f"is {a_type(controller)}" if not isinstance(controller, str) else label_key_problem(controller)
    if problem is not None:
        raise InvalidInput(f"controller={brief(controller)} {problem}: pass a name like 'example.com/shop'")
    if not isinstance(instance, str) or not 0 < len(instance.encode("utf-8", "replace")) <= MAX_TEXT:
        raise InvalidInput(f"instance={brief(instance)}: pass 1 to {MAX_TEXT} bytes, such as the name of the pod")


def check_event(kind: object, note: object, **words: object) -> None:
    """Reject an event that servers would reject, or that has no CamelCase words where the API conventions want them.

    Raises:
        InvalidInput: the type, the note, or one of the words is invalid.
    """
    if kind not in get_args(EventType):
        raise InvalidInput(f"type={brief(kind)}: pass 'Normal' or 'Warning'")
    for name, word in words.items():
        if not isinstance(word, str) or not _WORD.fullmatch(word) or len(word) > MAX_TEXT:
            raise InvalidInput(
                f"{name}={brief(word)}: pass one CamelCase word like 'ScaledUp', of at most {MAX_TEXT} characters"
            )
    if not isinstance(note, str):
        raise InvalidInput(f"note is {a_type(note)}: pass a string")


def check_object(argument: str, obj: object) -> None:
    """Reject what an Event cannot refer to.

    Raises:
        InvalidInput: it is no Unstructured, or has no kind or name.
    """
    if not isinstance(obj, Unstructured):
        raise InvalidInput(f"{argument} is {a_type(obj)}: pass an Unstructured, as the client returns it")
    if not obj.kind or not obj.name:
        raise InvalidInput(f"{argument}={brief(obj)} has no {'name' if obj.kind else 'kind'}: an Event refers to both")
