"""Volumes that are being deleted: kept as long as they are used, and let go then.

kube-apiserver puts the finalizers on (``kubernetes.io/pvc-protection`` and its like), a controller of
kube-controller-manager takes them off; without it no claim would ever go.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._store.history import Change
from dynkube.testing._store.storage import Storage
from dynkube.testing._store.versions import Version
from dynkube.testing._store.work import Allowance

_PODS = "pods"
_CLAIMS = "persistentvolumeclaims"
_VOLUMES = "persistentvolumes"
_CLASSES = "volumeattributesclasses.storage.k8s.io"
_FINALIZERS: Mapping[str, str] = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
    _CLASSES: "kubernetes.io/vac-protection",
}
# When one of these goes, what it used may go too.
_USED_BY = {_PODS: _CLAIMS, _CLAIMS: _VOLUMES}


class VolumeProtection:
    """Takes the protecting finalizer off what is being deleted and used no more.

    A claim is used while a pod of its namespace names it; a volume while the claim it is bound to is there. Classes
    of volume attributes are not followed to their users.
    """

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry
        self._dirty: dict[tuple[str, str], None] = {}
        storage.listen(self._changed)

    def settle(self, allowance: Allowance) -> bool:
        """Let go what is used no more, as far as the allowance goes; whether there was anything to look at."""
        acted = bool(self._dirty)
        for group, key in tuple(self._dirty):
            if allowance.spent:
                break
            del self._dirty[group, key]
            version = self._storage.collection(group).current.get(key)
            kind = next(iter(self._registry.of_storage(group)), None)
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
        kind = next(iter(self._registry.of_storage(_PODS)), None)
        if kind is None:
            return []
        versions = self._storage.collection(_PODS).at(self._storage.revision, f"{namespace}/")
        return [version.decode(kind) for version in versions]


def _claims(pod: JSONObject) -> set[str]:
    """The claims that a pod names."""
    volumes = pod.get("spec", {}).get("volumes") or ()
    return {
        volume["persistentVolumeClaim"].get("claimName", "")
        for volume in volumes
        if volume.get("persistentVolumeClaim")
    }
