"""Lookup of the owners in the ownerReferences of an object."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs.deleting import FOREGROUND


class State(Enum):
    """The state of the owner in one ownerReference."""

    SOLID = auto()  #: The owner exists, and does not wait for its dependents.
    WAITING = auto()  #: The owner waits for the deletion of its dependents (foreground deletion).
    DANGLING = auto()  #: The owner does not exist, or an object of the same name has another UID.
    UNKNOWN = auto()  #: The kind of the owner is not served, so the owner cannot be looked up.
    INVALID = auto()  #: The owner is namespaced, but the dependent is cluster-scoped. It is never deleted.


@dataclass(slots=True)
class Classified:
    """The ownerReferences of one object, by state."""

    by_state: dict[State, list[JSONObject]] = field(default_factory=dict)

    def add(self, state: State, reference: JSONObject) -> None:
        """Add a reference with its state."""
        self.by_state.setdefault(state, []).append(reference)

    def uids(self, *states: State) -> set[str]:
        """Return the UIDs of the references in any of ``states``."""
        return {reference["uid"] for state in states for reference in self.by_state.get(state, ())}

    def __contains__(self, state: State) -> bool:
        return state in self.by_state


class Owners:
    """Looks up owners, which are in the namespace of the dependent or cluster-scoped."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry
        self._kinds: dict[tuple[str, str], Kind | None] = {}
        self._revision = -1

    def classify(self, kind: Kind, version: Version, gone: set[str]) -> Classified:
        """Return the ownerReferences of an object, by state.

        ``gone`` are UIDs of objects that are known to have been removed.
        """
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
