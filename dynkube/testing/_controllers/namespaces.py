"""Namespaces that are being deleted: emptied, and let go once they are empty."""

from __future__ import annotations

from dynkube.testing._calls.delete_options import DeleteOptions
from dynkube.testing._kinds.kinds import Registry
from dynkube.testing._store.storage import Change, Storage
from dynkube.testing._verbs.deleting import Deletes
from dynkube.testing._verbs.namespaces import NAMESPACES, terminating


class NamespaceController:
    """Empties namespaces that are being deleted, and lets them go once they are empty."""

    def __init__(self, storage: Storage, registry: Registry, deletes: Deletes) -> None:
        self._storage = storage
        self._registry = registry
        self._deletes = deletes
        self._dirty: dict[str, None] = {}
        storage.listen(self._changed)

    def settle(self) -> bool:
        """Act on what has changed; whether there was anything to do."""
        dirty, self._dirty = self._dirty, {}
        for name in dirty:
            self._reconcile(name)
        return bool(dirty)

    def _changed(self, group: str, change: Change) -> None:
        if group == NAMESPACES:
            if change.after is not None and terminating(change.after):
                self._dirty[change.after.name] = None
        elif change.after is None and change.before is not None and change.before.namespace:
            namespace = self._storage.collection(NAMESPACES).current.get(change.before.namespace)
            if namespace is not None and terminating(namespace):
                self._dirty[namespace.name] = None

    def _reconcile(self, name: str) -> None:
        version = self._storage.collection(NAMESPACES).current.get(name)
        kind = next(iter(self._registry.of_storage(NAMESPACES)), None)
        if version is None or kind is None or self._empty_out(name):
            return
        namespace = version.decode(kind)
        if namespace["metadata"].get("finalizers"):
            if namespace["spec"].pop("finalizers", None):
                self._storage.put(kind, namespace)
        else:
            self._storage.remove(NAMESPACES, version.key)

    def _empty_out(self, name: str) -> bool:
        """Delete what is in the namespace; whether finalizers keep anything there."""
        left = False
        for group, collection in tuple(self._storage.collections().items()):
            kind = next(iter(self._registry.of_storage(group)), None)
            if kind is None or not kind.namespaced:
                continue
            for version in collection.at(self._storage.revision, f"{name}/"):
                self._deletes.delete_version(kind, version, DeleteOptions(propagation="Background"))
                left = left or version.key in collection.current
        return left
