"""What the ownerReferences of an object point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._store.storage import Storage
from dynkube.testing._store.versions import Version
from dynkube.testing._verbs.deleting import FOREGROUND


class State(Enum):
    """What one reference points to."""

    SOLID = auto()  #: An owner that is there to stay.
    WAITING = auto()  #: An owner that waits for its dependents to go (foreground deletion).
    DANGLING = auto()  #: Nothing: no such object, or another one of that name.
    UNKNOWN = auto()  #: A kind that is not served, so that it cannot be determined.
    INVALID = auto()  #: A namespaced owner of a cluster-scoped object: never looked at.


@dataclass(slots=True)
class Classified:
    """The references of one object, by what they point to."""

    by_state: dict[State, list[JSONObject]] = field(default_factory=dict)

    def add(self, state: State, reference: JSONObject) -> None:
        """Note one."""
        self.by_state.setdefault(state, []).append(reference)

    def uids(self, *states: State) -> set[str]:
        """The UIDs of the references in these states."""
        return {reference["uid"] for state in states for reference in self.by_state.get(state, ())}

    def __contains__(self, state: State) -> bool:
        return state in self.by_state


class Owners:
    """Looks up owners, as ``metadata.ownerReferences`` name them: in the namespace of the object itself."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry
        self._kinds: dict[tuple[str, str], Kind | None] = {}
        self._revision = -1

    def classify(self, kind: Kind, version: Version, gone: set[str]) -> Classified:
        """The references of the object, by what they point to; ``gone`` are UIDs known to be no more."""
        classified = Classified()
        for reference in version.decode(kind)["metadata"].get("ownerReferences") or ():
            classified.add(self._state(version, reference, gone), reference)
        return classified

    def _state(self, version: Version, reference: JSONObject, gone: set[str]) -> State:
        uid = reference.get("uid", "")
        owner_kind = self._kind(reference.get("apiVersion", ""), reference.get("kind", ""))
        if owner_kind is not None and owner_kind.namespaced and not version.namespace:
            return State.INVALID
        if uid in gone:
            return State.DANGLING
        if owner_kind is None:
            return State.UNKNOWN
        namespace = version.namespace if owner_kind.namespaced else ""
        owner = self._storage.get(owner_kind, namespace, reference.get("name", ""))
        if owner is None or owner.uid != uid:
            return State.DANGLING
        return State.WAITING if owner.deleting and FOREGROUND in owner.finalizers else State.SOLID

    def _kind(self, api_version: str, kind: str) -> Kind | None:
        if self._revision != self._registry.revision:
            self._revision, self._kinds = self._registry.revision, {}
        key = api_version, kind
        if key not in self._kinds:
            self._kinds[key] = self._registry.find(api_version, kind)
        return self._kinds[key]
