"""The namespace controller, which empties and then removes deleted namespaces."""

from __future__ import annotations

from dynkube.errors import APIError
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.delete_options import DeleteOptions
from dynkube_testing._controllers.conditions import Remains, set_conditions
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import stored_kind
from dynkube_testing._store.work import Allowance
from dynkube_testing._verbs.deleting import Deletes
from dynkube_testing._verbs.namespaces import NAMESPACES, terminating

_FINALIZER = "kubernetes"
_BACKGROUND = DeleteOptions(propagation="Background")


class NamespaceController:
    """Empties namespaces that are being deleted, and then removes them.

    It reports its progress in the conditions of the namespace. Once the namespace is empty, it removes the finalizer
    ``kubernetes`` from ``spec.finalizers``. Other finalizers, in the spec or the metadata, must be removed by clients.
    """

    def __init__(self, storage: Storage, registry: Registry, deletes: Deletes) -> None:
        self._storage = storage
        self._registry = registry
        self._deletes = deletes
        self._dirty: dict[str, None] = {}
        # Namespaces that wait for an aggregated API to become available, reconciled again when the registry changes.
        self._waiting: dict[str, None] = {}
        self._kinds_seen = -1
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Reconcile changed namespaces within ``allowance``; return whether any changed."""
        if self._kinds_seen != self._registry.revision:
            self._kinds_seen = self._registry.revision
            self._dirty |= self._waiting
            self._waiting.clear()
        dirty, self._dirty = self._dirty, {}
        for name in dirty:
            self._reconcile(name, allowance)
        return bool(dirty)

    def _changed(self, group: str, change: Change) -> None:
        if group == NAMESPACES:
            if change.after is not None and terminating(change.after):
                self._dirty[change.after.name] = None
            return
        version = change.after or change.before
        assert version is not None
        if not version.namespace or (change.after is not None and not change.after.deleting):
            return
        namespace = self._storage.collection(NAMESPACES).current.get(version.namespace)
        if namespace is not None and terminating(namespace):
            self._dirty[namespace.name] = None

    def _reconcile(self, name: str, allowance: Allowance) -> None:
        version = self._storage.collection(NAMESPACES).current.get(name)
        kind = self._registry.stored(NAMESPACES)
        if version is None or kind is None:
            return
        namespace = version.decode(kind)
        if _FINALIZER not in namespace["spec"].get("finalizers", ()):
            if not namespace["spec"].get("finalizers") and not version.finalizers:
                self._storage.remove(NAMESPACES, version.key)
            return
        remains = self._empty_out(name, allowance)
        if allowance.spent:
            self._dirty[name] = None  # the remaining content is only known once all objects were deleted
            return
        if set_conditions(namespace, remains, self._deletes.identity.timestamp()):
            allowance.take()
            self._storage.put(kind, namespace)
        if remains.undiscovered:
            self._waiting[name] = None
        if not remains:
            self._finalize(kind, namespace)

    def _finalize(self, kind: Kind, namespace: JSONObject) -> None:
        others = [name for name in namespace["spec"]["finalizers"] if name != _FINALIZER]
        if not others and not namespace["metadata"].get("finalizers"):
            self._storage.remove(NAMESPACES, namespace["metadata"]["name"])
            return
        namespace["spec"] = {**namespace["spec"], "finalizers": others}
        if not others:
            del namespace["spec"]["finalizers"]
        self._storage.put(kind, namespace)

    def _empty_out(self, name: str, allowance: Allowance) -> Remains:
        """Delete the objects in the namespace; return the remaining content."""
        remains = Remains(undiscovered=tuple(sorted(map(str, self._registry.unavailable))))
        for group in tuple(self._storage.collections()):
            kind = self._registry.stored(group)
            if kind is None or not kind.namespaced or kind.gvr.group_version in self._registry.unavailable:
                continue
            self._empty_of(kind, name, remains, allowance)
            if allowance.spent:
                break
        return remains

    def _empty_of(self, kind: Kind, name: str, remains: Remains, allowance: Allowance) -> None:
        collection = self._storage.collection(kind.storage_group)
        for version in collection.walk(f"{name}/"):
            if allowance.spent:
                return
            if not version.deleting:
                allowance.take()
                try:
                    self._deletes.delete_version(stored_kind(kind, version), version, _BACKGROUND)
                except APIError as error:
                    remains.refusals.append(error.status.message)
            if (left := collection.current.get(version.key)) is not None:
                remains.add(kind.gvr, left.finalizers)
