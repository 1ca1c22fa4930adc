"""Events of objects: read from ``v1`` Events, joined if they say the same, sorted by time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, overload

from dynkube._displayable import Displayable, text_without_heading
from dynkube._text.tables import printable
from dynkube.meta import Unstructured
from dynkube.meta._versions import version_order


@dataclass(frozen=True, slots=True)
class ObjectEvent(Displayable):
    """What happened to an object, perhaps several times.

    Attributes:
        type: ``"Normal"`` or ``"Warning"``.
        reason: the reason in one word: ``"FailedScheduling"``.
        message: what happened.
        count: how often it was reported.
        first: when it was reported first; ``None`` if unknown. So may ``last``.
        last: when it was reported last.
        source: the component that reported it.
        kind: kind of the object that it is about.
        namespace: its namespace; ``""`` for a cluster-scoped object.
        name: its name.
        uid: its UID; may be empty.
        object: the newest of the Events that were joined.
    """

    type: str
    reason: str
    message: str
    count: int
    first: datetime | None
    last: datetime | None
    source: str
    kind: str
    namespace: str
    name: str
    uid: str
    object: Unstructured

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return printable(f"{self.type} {self.reason} {self.kind.lower()}/{self.name}: {self.message}{times}")


class ObjectEvents(Displayable, Sequence[ObjectEvent]):
    """Events of objects, the latest last; prints as a table.

    Those of the same time (most have no fractions of a second) are in the order in which the server stored them.

    Attributes:
        notes: why events may be missing.
    """

    __slots__ = ("_events", "notes")

    def __init__(self, events: Iterable[ObjectEvent], notes: Iterable[str] = ()) -> None:
        self._events = tuple(events)
        self.notes: tuple[str, ...] = tuple(notes)

    @overload
    def __getitem__(self, index: int) -> ObjectEvent: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ObjectEvent]: ...
    def __getitem__(self, index: int | slice) -> ObjectEvent | Sequence[ObjectEvent]:
        return self._events[index]

    def __len__(self) -> int:
        return len(self._events)

    @property
    def warnings(self) -> tuple[ObjectEvent, ...]:
        """The events of type ``Warning``."""
        return tuple(event for event in self._events if event.type == "Warning")

    def __str__(self) -> str:
        return text_without_heading(self)

    def __repr__(self) -> str:
        return f"<ObjectEvents {len(self)}>"


def joined_events(events: Iterable[Unstructured]) -> list[ObjectEvent]:
    """Return events in the order of :func:`_order`, those that say the same of one object as one."""
    found: dict[tuple[str, ...], ObjectEvent] = {}
    for event in map(read_event, events):
        group = _text(_mapping(event.object, "involvedObject"), "apiVersion").rpartition("/")[0]
        identity = event.uid or f"{group}/{event.kind}/{event.namespace}/{event.name}"
        key = (identity, event.type, event.reason, event.message, event.source)
        found[key] = _joined(found[key], event) if key in found else event
    return sorted(found.values(), key=_order)


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def _order(event: ObjectEvent) -> tuple[datetime, tuple[int, str], str, str]:
    """Sort by time, then by resourceVersion, then by namespace and name.

    Most recorders write times without fractions of a second. Events of one second are in the order in which the server
    stored them: resourceVersions of one resource are numbers that grow (promised since Kubernetes 1.35).
    """
    stored = version_order(event.object.resource_version) or (0, "")
    return event.last or _LONG_AGO, stored, event.object.namespace or "", event.object.name


def read_event(event: Unstructured) -> ObjectEvent:
    """Read an Event of ``v1``; fields of an unexpected type are ignored."""
    about, series, source = (_mapping(event, name) for name in ("involvedObject", "series", "source"))
    count = series.get("count") or event.get("count")
    single = event.get("eventTime")
    # The latest of these is also the most exact: lastTimestamp has no fractions of a second, the others have.
    given = series.get("lastObservedTime"), event.get("lastTimestamp"), single
    last = max((time for time in map(_time, given) if time is not None), default=None)
    return ObjectEvent(
        type=_text(event, "type"),
        reason=_text(event, "reason"),
        message=_text(event, "message").strip(),
        count=count if type(count) is int and count > 0 else 1,
        first=_time(event.get("firstTimestamp")) or _time(single) or _created(event),
        last=last or _created(event),
        source=_text(source, "component") or _text(event, "reportingComponent"),
        kind=_text(about, "kind"),
        namespace=_text(about, "namespace"),
        name=_text(about, "name"),
        uid=_text(about, "uid"),
        object=event,
    )


def _joined(one: ObjectEvent, other: ObjectEvent) -> ObjectEvent:
    newer = max(one, other, key=_order)
    times = [time for time in (one.first, other.first) if time is not None]
    return replace(newer, count=one.count + other.count, first=min(times, default=None))


def _mapping(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = obj.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(obj: Mapping[str, Any], name: str) -> str:
    found = obj.get(name)
    return found if isinstance(found, str) else ""


def _created(event: Unstructured) -> datetime | None:
    return _time(_mapping(event, "metadata").get("creationTimestamp"))


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
