"""Removal of the finalizers that protect claims and volumes in use.

kube-apiserver adds the finalizers (such as ``kubernetes.io/pvc-protection``), and a controller in
kube-controller-manager removes them. Without it, no claim could be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._store.work import Allowance

_PODS = "pods"
_CLAIMS = "persistentvolumeclaims"
_VOLUMES = "persistentvolumes"
_CLASSES = "volumeattributesclasses.storage.k8s.io"
_FINALIZERS: Mapping[str, str] = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
    _CLASSES: "kubernetes.io/vac-protection",
}
# By storage group, the storage group of the objects used. They may lose their finalizer once a user is removed.
_USED_BY = {_PODS: _CLAIMS, _CLAIMS: _VOLUMES}


class VolumeProtection:
    """Removes the protecting finalizer of deleted objects that are not in use.

    A claim is in use while a pod in its namespace refers to it, a volume while the claim exists that it is bound to. A
    VolumeAttributesClass never counts as in use.
    """

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry
        self._dirty: dict[tuple[str, str], None] = {}
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Remove finalizers within ``allowance``; return whether any object was checked."""
        acted = bool(self._dirty)
        for group, key in tuple(self._dirty):
            if allowance.spent:
                break
            del self._dirty[group, key]
            version = self._storage.collection(group).current.get(key)
            kind = self._registry.stored(group)
            if version is not None and kind is not None and version.deleting:
                allowance.take()
                self._release(group, kind, version)
        return acted

    def _changed(self, group: str, change: Change) -> None:
        if group in _FINALIZERS and change.after is not None and change.after.deleting:
            self._dirty[group, change.after.key] = None
        elif change.after is None and (used := _USED_BY.get(group)):
            waiting = self._storage.collection(used).current
            self._dirty.update(((used, key), None) for key, version in waiting.items() if version.deleting)

    def _release(self, group: str, kind: Kind, version: Version) -> None:
        obj = version.decode(kind)
        finalizers = obj["metadata"].get("finalizers") or []
        if _FINALIZERS[group] not in finalizers or self._used(group, obj):
            return
        if left := [name for name in finalizers if name != _FINALIZERS[group]]:
            obj["metadata"]["finalizers"] = left
            self._storage.put(kind, obj)
        else:
            self._storage.remove(group, version.key)

    def _used(self, group: str, obj: JSONObject) -> bool:
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace", "")
        if group == _CLAIMS:
            return any(name in _claims(pod) for pod in self._pods(namespace))
        claim = obj.get("spec", {}).get("claimRef") or {}
        key = f"{claim.get('namespace')}/{claim.get('name')}"
        return group == _VOLUMES and key in self._storage.collection(_CLAIMS).current

    def _pods(self, namespace: str) -> list[JSONObject]:
        kind = self._registry.stored(_PODS)
        if kind is None:
            return []
        versions = self._storage.collection(_PODS).at(self._storage.revision, f"{namespace}/")
        return [version.decode(kind) for version in versions]


def _claims(pod: JSONObject) -> set[str]:
    """Return the names of the claims that a pod refers to."""
    volumes = pod.get("spec", {}).get("volumes") or ()
    return {
        volume["persistentVolumeClaim"].get("claimName", "")
        for volume in volumes
        if volume.get("persistentVolumeClaim")
    }
