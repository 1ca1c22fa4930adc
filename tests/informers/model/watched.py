"""An informer under test: its settings, and the objects that it should show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from dynkube import GVR, LIVE, Informer, LabelSelector, NamespaceSet, Unstructured
from dynkube.informers import IndexFunc, Transform, drop_managed_fields
from dynkube.informers._namespace_set import namespaces_text
from dynkube.meta._object import Key
from tests.informers.model.expected_state import ExpectedState, StoredObject
from tests.informers.model.filters import NamedFilters

if TYPE_CHECKING:
    from tests.informers.model.listener import Listener

INDEXED: Final = {"team": ("x", "y"), "size": ("big", "small")}
"""The indexes of all informers, and their possible values."""


def _team_of(obj: Unstructured) -> list[str]:
    return [team for label, team in obj.labels.items() if label == "team"]


INDEXES: Final[Mapping[str, str | IndexFunc]] = {"team": _team_of, "size": "{.metadata.annotations.size}"}


def slim(obj: Unstructured) -> Unstructured:
    """A transform that removes the content."""
    body = obj.to_dict()
    return Unstructured({name: value for name, value in body.items() if name not in ("spec", "data")})


TRANSFORMS: Final[Mapping[str, Transform | None]] = {"usual": drop_managed_fields, "none": None, "slim": slim}


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of objects that an informer requests."""

    namespace: str | None = None
    namespaces: tuple[str, ...] | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    by_label: bool = False
    """Whether it is the set of namespaces that have the label ``chosen``."""
    changing: bool = False
    """Whether it is a set of namespaces that the script changes."""

    @property
    def params(self) -> list[tuple[str, str, str]]:
        """The namespace and the selectors, as in each of the requests."""
        places = self.namespaces or (self.namespace or "",)
        return [(place, self.label_selector or "", self.field_selector or "") for place in places]

    @property
    def of_namespaces(self) -> bool:
        """Whether it is restricted to namespaces, so that the resource has to be namespaced."""
        return (self.namespace, self.namespaces) != (None, None) or self.by_label or self.changing

    def selects(self, stored: StoredObject) -> bool:
        """Return whether the server has to send the object."""
        return (
            self.namespace in (None, stored.key[0])
            and (self.namespaces is None or stored.key[0] in self.namespaces)
            and (self.label_selector is None or stored.labels.get("team") == "x")
            and (self.field_selector is None or stored.key[1] == "a")
        )


SELECTIONS: Final[Mapping[str, Selection]] = {
    "everything": Selection(),
    "namespace blue": Selection(namespace="blue"),
    "namespaces blue and green": Selection(namespaces=("blue", "green")),
    "labels team=x": Selection(label_selector="team=x"),
    "fields name=a": Selection(field_selector="metadata.name=a"),
}


CHOSEN: Final = "chosen=yes"
FILLERS: Final = ("aa", "ab", "ac", "ca", "cc", "ee")
"""Namespaces of a set that do not exist, between those that do."""
SETS: Final[Mapping[str, Selection]] = {
    "names": Selection(namespaces=("blue", "default", "green")),
    "many names": Selection(namespaces=("blue", "default", "green", *FILLERS)),
    "labels": Selection(by_label=True),
    "changing": Selection(changing=True),
    "names, team=x": Selection(namespaces=("blue", "default", "green"), label_selector="team=x"),
}
"""The sets of namespaces."""


@dataclass(slots=True, kw_only=True, eq=False)
class Watched:
    """One informer under test."""

    informer: Informer
    gvr: GVR
    selection: Selection
    transform: str
    shown: str
    """The filter, as an expression."""
    listeners: list[Listener] = field(default_factory=list)
    early: tuple[Listener, ...] = ()
    """The handlers that were added before it was entered; ``has_synced`` depends on them."""
    closed: bool = False
    entered_at: float = 0.0
    """When it was entered, on trio's clock."""
    filters: list[tuple[int, str]] = field(default_factory=list)
    """Every filter it had, each with the moment (of the ledger) at which it was set."""
    entered: int = 0
    """When it was entered, as a moment of the ledger."""
    last_shown: tuple[int, Sequence[Unstructured]] = (0, ())
    """The objects that it showed last, with the moment of the ledger at which it did."""
    synced: bool = False
    """Whether ``has_synced`` was true before."""

    @property
    def namespaces_text(self) -> str:
        """The set of namespaces, as observers get it."""
        if self.selection.by_label:
            return namespaces_text(LabelSelector.parse(CHOSEN))
        if self.selection.changing:
            return namespaces_text(NamespaceSet())
        return namespaces_text(frozenset(self.selection.namespaces)) if self.selection.namespaces else ""

    @property
    def live_namespaces(self) -> set[str]:
        """The namespaces of a set whose objects are shown."""
        return {name for name, status in self.informer.namespaces.items() if status.state.phase is LIVE}

    def __str__(self) -> str:
        return f"{self.gvr} in {self.namespaces_text or self.selection.namespace or 'all namespaces'}"

    def shown_since(self, begin: int, end: int) -> Iterator[str]:
        """Yield the filters in force at some moment from ``begin`` to ``end``."""
        for number, (moment, shown) in enumerate(self.filters):
            later = self.filters[number + 1][0] if number + 1 < len(self.filters) else end + 1
            if moment <= end and later > begin:
                yield shown

    @property
    def key(self) -> tuple[GVR, Selection, str]:
        """Informers with the same key share one watch."""
        return self.gvr, self.selection, self.transform

    def expected(self, expected_state: ExpectedState, filters: NamedFilters) -> dict[Key, StoredObject]:
        """Return the objects that it has to show once the world is quiet."""
        if self.closed or not self.exists(expected_state):
            return {}
        objects = filter(self.selection.selects, expected_state.of(self.gvr).values())
        return {stored.key: stored for stored in objects if filters.matches(self.shown, stored)}

    def exists(self, expected_state: ExpectedState) -> bool:
        """Return whether its collection exists: a cluster-scoped resource has none in a namespace."""
        return expected_state.is_served(self.gvr) and (
            not self.selection.of_namespaces or expected_state.is_namespaced(self.gvr)
        )

    def contradictions(self) -> Iterator[str]:
        """Yield contradictions between its reads; may be called at any time."""
        listed = self.informer.list()
        by_key = {obj.key: obj for obj in listed}
        if len(by_key) != len(listed):
            yield f"list() shows an object twice: {listed}"
        for name, values in INDEXED.items():
            for value in values:
                found = {obj.key: obj for obj in self.informer.by_index(name, value)}
                fitting = {key: obj for key, obj in by_key.items() if value in _values(name, obj)}
                if {key: id(obj) for key, obj in found.items()} != {key: id(obj) for key, obj in fitting.items()}:
                    yield f"by_index({name!r}, {value!r}) shows {found}, and list() {fitting}"
        for key, obj in by_key.items():
            if self.informer.get(key[1], namespace=key[0] or None) is not obj:
                yield f"get() does not show {obj!r}, and list() does"


def _values(name: str, obj: Unstructured) -> list[object]:
    return [obj.labels.get("team")] if name == "team" else [obj["metadata"].get("annotations", {}).get("size")]
