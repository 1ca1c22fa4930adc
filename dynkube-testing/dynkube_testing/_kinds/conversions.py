"""Built-in kinds whose versions differ: their objects are converted to the stored version, and from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from dynkube.meta import GVK
from dynkube_testing._kinds.autoscalers import shown_in_v1, stored_from_v1
from dynkube_testing._kinds.kinds import Kind

Object: TypeAlias = dict[str, Any]

#: Events of their own group, which are stored as those of v1.
EVENTS = GVK("events.k8s.io", "v1", "Event")
#: The fields of Events for selectors, in v1.
CORE_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
# Fields of Events whose names differ in v1 and events.k8s.io/v1, by the name in v1, in which Events are stored.
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_STORED_EVENT_FIELDS = {name: stored for stored, name in _EVENT_FIELDS.items()}
# Strings that are never omitted in v1, and omitted in events.k8s.io/v1 if they are empty.
_EVENT_TEXTS = ("reportingComponent", "reportingInstance")


class Conversion:
    """The :class:`~dynkube_testing._kinds.kinds.Content` of a version that is not the stored one.

    Args:
        store: Function that converts an object of this version to the stored one.
        show: Function that converts a stored object to this version.
    """

    __slots__ = ("_encoded", "_show", "_store")

    def __init__(self, store: Callable[[Object], Object], show: Callable[[Object], Object]) -> None:
        self._store, self._show = store, show
        self._encoded: WeakKeyDictionary[object, bytes] = WeakKeyDictionary()

    @property
    def shape(self) -> object:
        """``None``, as for objects written in the stored version."""
        return None

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """A cache of encoded objects in this version, by the stored object."""
        return self._encoded

    def to_keep(self, obj: Object) -> Object:
        """Convert ``obj`` from this version to the stored one."""
        return self._store(obj)

    def shows_as_kept(self, shape: object) -> bool:
        """Return ``False``, since objects differ in this version."""
        return False

    def lost_version(self, shape: object) -> str:
        """Return ``""``: versions of built-in kinds do not go."""
        return ""

    def kept_as(self, shape: object, kept: Object, obj: Object) -> bool:
        """Return whether writing ``obj`` would change nothing in storage."""
        return self._store(obj) == kept

    def shown(self, obj: Object, shape: object = None) -> Object:
        """Convert ``obj`` from the stored version to this one."""
        return self._show(obj)


def _stored_event(event: Object) -> Object:
    stored = {_STORED_EVENT_FIELDS.get(name, name): value for name, value in event.items()}
    return {**stored, **{name: stored.get(name) or "" for name in _EVENT_TEXTS}}


def _shown_event(event: Object) -> Object:
    present = {name: value for name, value in event.items() if value or name not in _EVENT_TEXTS}
    return {_EVENT_FIELDS.get(name, name): value for name, value in present.items()}


_CONVERTED: Mapping[GVK, tuple[Callable[[Object], Object], Callable[[Object], Object]]] = {
    EVENTS: (_stored_event, _shown_event),
    GVK("autoscaling", "v1", "HorizontalPodAutoscaler"): (stored_from_v1, shown_in_v1),
}


def conversion_of(gvk: GVK) -> Conversion | None:
    """Return the conversion of a version; ``None`` if its objects are those that are stored."""
    functions = _CONVERTED.get(gvk)
    return None if functions is None else Conversion(*functions)


def kept_fields(kind: Kind) -> tuple[str, ...]:
    """Return the paths of the fields that are kept for field selectors, in the stored version of ``kind``."""
    return CORE_EVENT_FIELDS if kind.gvk == EVENTS else kind.selectable_fields


def kept_field(kind: Kind, path: str) -> str:
    """Return the path in the stored version of a field that selectors name in the version of ``kind``."""
    if kind.gvk != EVENTS:
        return path
    first, separator, rest = path.partition(".")
    return f"{_STORED_EVENT_FIELDS.get(first, first)}{separator}{rest}"
