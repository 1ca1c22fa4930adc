"""Namespaces: nothing is created outside of one, and deleting one empties it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynkube.errors import StatusCause
from dynkube.testing import _status
from dynkube.testing._api import JSONObject
from dynkube.testing._kinds import Kind, Registry
from dynkube.testing._storage import Change, Storage, Version

if TYPE_CHECKING:
    from dynkube.testing._deleting import Deletes

NAMESPACES = "namespaces"
INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
_IMMORTAL = {"default", "kube-system", "kube-public"}


class Namespaces:
    """What the server knows about namespaces when it writes into them."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

    @property
    def kind(self) -> Kind | None:
        """The kind ``Namespace``; ``None`` on an engine that does not serve it, where any namespace will do."""
        return next(iter(self._registry.of_storage(NAMESPACES)), None)

    def check_open(self, kind: Kind, namespace: str, name: str) -> None:
        """Whether an object may be created there.

        Raises:
            NotFound: There is no such namespace.
            Forbidden: It is being deleted.
        """
        if not kind.namespaced or (own := self.kind) is None:
            return
        found = self._storage.get(own, "", namespace)
        if found is None:
            raise _status.not_found(own, namespace)
        if terminating(found):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            detail = f"namespace {namespace} is being terminated"
            raise _status.forbidden(kind, name, why, StatusCause("metadata.namespace", "NamespaceTerminating", detail))

    @staticmethod
    def holds(kind: Kind, obj: JSONObject) -> bool:
        """Whether ``obj`` is a namespace that still has to be emptied."""
        return kind.storage_group == NAMESPACES and bool(obj.get("spec", {}).get("finalizers"))


def terminating(version: Version) -> bool:
    """Whether a namespace is being deleted."""
    return version.fields.get("status.phase") == "Terminating"


def before_delete(kind: Kind, obj: JSONObject) -> None:
    """What a delete writes into a namespace that it cannot remove yet.

    Raises:
        Forbidden: It is one that a cluster cannot be without.
    """
    if obj["metadata"]["name"] in _IMMORTAL:
        raise _status.forbidden(kind, obj["metadata"]["name"], "this namespace may not be deleted")
    obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}


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
                self._deletes.remove_or_mark(kind, version)
                left = left or version.key in collection.current
        return left
