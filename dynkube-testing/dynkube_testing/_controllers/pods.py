"""Termination of pods: there is no kubelet, so deleted pods are removed at once."""

from __future__ import annotations

from dynkube_testing._calls.delete_options import DeleteOptions
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.work import Allowance
from dynkube_testing._verbs.deleting import Deletes

_PODS = "pods"
_OVER = DeleteOptions(grace_period=0)


class PodTermination:
    """Removes pods that are being deleted, without waiting for the grace period.

    As in a real cluster, a watch gets an event for the ``deletionTimestamp`` first, and then one for the removal. A pod
    with finalizers stays until they are removed.
    """

    def __init__(self, storage: Storage, registry: Registry, deletes: Deletes) -> None:
        self._storage = storage
        self._registry = registry
        self._deletes = deletes
        self._dirty: dict[str, None] = {}
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Remove pods that are being deleted, within ``allowance``.

        Returns:
            Whether there were pods to check.
        """
        acted = bool(self._dirty)
        current, kind = self._storage.collection(_PODS).current, self._registry.stored(_PODS)
        for key in tuple(self._dirty):
            if allowance.spent:
                break
            del self._dirty[key]
            version = current.get(key)
            if version is not None and version.deleting and kind is not None:
                allowance.take()
                self._deletes.delete_version(kind, version, _OVER)
        return acted

    def _changed(self, group: str, change: Change) -> None:
        after, before = change.after, change.before
        if group == _PODS and after is not None and after.deleting and not (before is not None and before.deleting):
            self._dirty[after.key] = None
