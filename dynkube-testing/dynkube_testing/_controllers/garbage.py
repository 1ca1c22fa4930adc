"""Garbage collection by ownerReferences.

The rules are those of https://kubernetes.io/docs/concepts/architecture/garbage-collection/: an object is deleted once
none of its owners exists. An owner deleted in the foreground is removed after its dependents with
``blockOwnerDeletion``. If an owner is deleted with the policy ``Orphan``, its dependents are kept, without the
reference to it.

Known limits: if the kind of an owner is not served, the owner cannot be looked up (as in a real cluster), and none of
the references of the dependent are processed until the kind is served.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TypeAlias

from dynkube.errors import APIError
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.delete_options import DeleteOptions
from dynkube_testing._controllers.owners import Owners, State
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, stored_kind
from dynkube_testing._store.work import Allowance
from dynkube_testing._verbs.deleting import FOREGROUND, ORPHAN, Deletes
from dynkube_testing._verbs.writing import Writes

Address: TypeAlias = tuple[str, str]  # storage group and key
_USER_AGENT = "kube-controller-manager"


class GarbageCollector:
    """The garbage collector.

    It is level-triggered: it acts on the current state of an object and its owners, not on single changes.
    """

    def __init__(self, storage: Storage, registry: Registry, deletes: Deletes, writes: Writes) -> None:
        self._storage = storage
        self._registry = registry
        self._deletes = deletes
        self._writes = writes
        self._owners = Owners(storage, registry)
        self._dirty: OrderedDict[Address, None] = OrderedDict()
        # Dependents by the UID of the owner, which may not exist.
        self._dependents: dict[str, dict[Address, None]] = {}
        # Owners with the finalizer for orphaning or foreground deletion, by UID.
        self._held: dict[str, Address] = {}
        # UIDs of removed owners, as long as an object refers to them.
        self._gone: set[str] = set()
        # Objects with an owner whose kind is not served, to be reconciled again when the served kinds change.
        self._unknown: dict[Address, None] = {}
        self._kinds_seen = -1
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Reconcile changed objects within ``allowance``; return whether there were any."""
        if self._kinds_seen != self._registry.revision:
            self._kinds_seen = self._registry.revision
            self._dirty.update(self._unknown)
            self._unknown.clear()
        acted = bool(self._dirty)
        while self._dirty and not allowance.spent:
            address, _ = self._dirty.popitem(last=False)
            self._reconcile(address, allowance)
        return acted

    # ── tracking of changes ───────────────────────────────────────────────────────────────────

    def _changed(self, group: str, change: Change) -> None:
        before, after = change.before, change.after
        old, new = before.owners if before else (), after.owners if after else ()
        version = after or before
        assert version is not None
        if not (old or new or version.finalizers or version.uid in self._dependents):
            return  # most objects neither have owners nor own any
        address = group, version.key
        for uid in (*old, *new):
            if uid in self._held:
                self._dirty[self._held[uid]] = None
        if old != new:
            self._refer(address, old, new)
            if after is not None:
                self._dirty[address] = None
        self._note_owner(address, before, after)

    def _refer(self, address: Address, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        for uid in old:
            dependents = self._dependents.get(uid, {})
            dependents.pop(address, None)
            if not dependents:
                self._dependents.pop(uid, None)
                self._gone.discard(uid)
        for uid in new:
            self._dependents.setdefault(uid, {})[address] = None

    def _note_owner(self, address: Address, before: Version | None, after: Version | None) -> None:
        if before is not None and (after is None or after.uid != before.uid):
            self._held.pop(before.uid, None)
            if before.uid in self._dependents:
                self._gone.add(before.uid)
                self._dirty.update(self._dependents[before.uid])
        if after is None:
            return
        if after.deleting and not {FOREGROUND, ORPHAN}.isdisjoint(after.finalizers):
            if after.uid not in self._held and FOREGROUND in after.finalizers:
                self._dirty.update(self._dependents.get(after.uid, {}))
            self._held[after.uid] = address
            self._dirty[address] = None
        else:
            self._held.pop(after.uid, None)

    # ── reconciliation ───────────────────────────────────────────────────────────────

    def _reconcile(self, address: Address, allowance: Allowance) -> None:
        group, key = address
        version = self._storage.collection(group).current.get(key)
        kind = self._registry.stored(group)
        if version is None or kind is None:
            return
        kind = stored_kind(kind, version)
        if not version.deleting:
            if version.owners:
                self._look_at_owners(address, kind, version, allowance)
        elif ORPHAN in version.finalizers:
            self._let_dependents_stay(address, kind, version, allowance)
        elif FOREGROUND in version.finalizers and not self._blocked(version.uid):
            self._drop_finalizer(kind, version, FOREGROUND, allowance)

    def _look_at_owners(self, address: Address, kind: Kind, version: Version, allowance: Allowance) -> None:
        owners = self._owners.classify(kind, version, self._gone)
        if State.UNKNOWN in owners:
            self._unknown[address] = None
        elif State.INVALID in owners:
            return
        elif State.SOLID in owners:
            if lost := owners.uids(State.DANGLING, State.WAITING):
                self._drop_references(kind, version, lost, allowance)
        elif State.WAITING in owners and version.uid in self._dependents:
            if any(self._waits(dependent) for dependent in self._dependents[version.uid]):
                # There may be a cycle of owners that wait for each other, so this object must not block its owners.
                version = self._unblock(kind, version, allowance)
            self._delete(kind, version, DeleteOptions(propagation="Foreground"), allowance)
        else:
            self._delete(kind, version, DeleteOptions(propagation=_own_policy(version)), allowance)

    def _let_dependents_stay(self, address: Address, kind: Kind, version: Version, allowance: Allowance) -> None:
        for group, key in tuple(self._dependents.get(version.uid, ())):
            if allowance.spent:
                self._dirty[address] = None
                return
            dependent = self._storage.collection(group).current.get(key)
            dependent_kind = self._registry.stored(group)
            if dependent is not None and dependent_kind is not None:
                dependent_kind = stored_kind(dependent_kind, dependent)
                self._drop_references(dependent_kind, dependent, {version.uid}, allowance)
        self._drop_finalizer(kind, version, ORPHAN, allowance)

    def _blocked(self, uid: str) -> bool:
        """Return whether a dependent blocks the removal of the owner with this UID."""
        return any(self._blocks(address, uid) for address in self._dependents.get(uid, ()))

    def _blocks(self, address: Address, uid: str) -> bool:
        group, key = address
        version = self._storage.collection(group).current.get(key)
        kind = self._registry.stored(group)
        if version is None or kind is None:
            return False
        references = version.decode(stored_kind(kind, version))["metadata"].get("ownerReferences") or ()
        return any(reference.get("uid") == uid and reference.get("blockOwnerDeletion") for reference in references)

    def _waits(self, address: Address) -> bool:
        version = self._storage.collection(address[0]).current.get(address[1])
        return version is not None and version.deleting and FOREGROUND in version.finalizers

    # ── changes ───────────────────────────────────────────────────────────────────────────

    def _delete(self, kind: Kind, version: Version, options: DeleteOptions, allowance: Allowance) -> None:
        allowance.take()
        with suppress(APIError):  # the object cannot be deleted, like the namespace default
            self._deletes.delete_version(kind, version, options)

    def _drop_finalizer(self, kind: Kind, version: Version, finalizer: str, allowance: Allowance) -> None:
        obj = version.decode(kind)
        obj["metadata"]["finalizers"] = [name for name in version.finalizers if name != finalizer]
        self._write(kind, obj, allowance)

    def _drop_references(self, kind: Kind, version: Version, uids: set[str], allowance: Allowance) -> None:
        obj = version.decode(kind)
        references = [owner for owner in obj["metadata"]["ownerReferences"] if owner.get("uid") not in uids]
        obj["metadata"]["ownerReferences"] = references
        if not references:
            del obj["metadata"]["ownerReferences"]
        self._write(kind, obj, allowance)

    def _unblock(self, kind: Kind, version: Version, allowance: Allowance) -> Version:
        obj = version.decode(kind)
        for reference in obj["metadata"]["ownerReferences"]:
            if reference.get("blockOwnerDeletion"):
                reference["blockOwnerDeletion"] = False
        self._write(kind, obj, allowance)
        return self._storage.collection(kind.storage_group).current[version.key]

    def _write(self, kind: Kind, obj: JSONObject, allowance: Allowance) -> None:
        allowance.take()
        metadata = obj["metadata"]
        call = Call(
            verb="update",
            kind=kind,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            body=obj,
            user_agent=_USER_AGENT,
        ).with_options()
        with suppress(APIError):  # for example, it is invalid by a new schema; a real cluster would retry forever
            self._writes.update(call)


def _own_policy(version: Version) -> str:
    """Return the propagation policy in the finalizers of the object, else Background."""
    if ORPHAN in version.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in version.finalizers else "Background"
