"""Namespaces: objects are created in existing ones only, and deleting one empties it first."""

from __future__ import annotations

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._store.storage import Storage
from dynkube.testing._store.versions import Version
from dynkube.testing._verbs.objectmeta import finalizer_problem
from dynkube.testing._verbs.rules import KindRules

NAMESPACES = "namespaces"
INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
# The managed fields (FieldsV1) of a namespace that was created with nothing but its name.
NAME_LABEL_FIELDS: JSONObject = {".": {}, "f:kubernetes.io/metadata.name": {}}
_IMMORTAL = {"default", "kube-system", "kube-public"}


class Namespaces:
    """Checks of namespaces for writes into them."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

    @property
    def kind(self) -> Kind | None:
        """The kind ``Namespace``; ``None`` if the engine does not serve it, so that any namespace is accepted."""
        return next(iter(self._registry.of_storage(NAMESPACES)), None)

    def check_open(self, kind: Kind, namespace: str, name: str) -> None:
        """Check that an object may be created in the namespace.

        Raises:
            NotFound: There is no such namespace.
            Forbidden: It is being deleted.
        """
        if not kind.namespaced or (own := self.kind) is None:
            return
        found = self._storage.get(own, "", namespace)
        if found is None:
            raise refuse.not_found(own, namespace)
        if terminating(found):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            detail = f"namespace {namespace} is being terminated"
            raise refuse.forbidden(kind, name, why, StatusCause("metadata.namespace", "NamespaceTerminating", detail))


def terminating(version: Version) -> bool:
    """Return whether a namespace is being deleted."""
    return version.fields.get("status.phase") == "Terminating"


class NamespaceRules(KindRules):
    """Rules of namespaces: they are deleted in two steps, after their contents."""

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Check that finalizers are built-in or qualified by a domain, and that the phase matches deletionTimestamp."""
        phase, ends = (obj.get("status") or {}).get("phase", ""), "deletionTimestamp" in obj["metadata"]
        right, when = ("Terminating", "not empty") if ends else ("Active", "empty")
        why = f"may only be '{right}' if `deletionTimestamp` is {when}"
        return [refuse.bad_value("status.Phase", phase, why)] * (old is not None and phase != right) + [
            refuse.bad_value(f"spec.finalizers[{index}]", name, problem)
            for index, name in enumerate(obj.get("spec", {}).get("finalizers") or ())
            if (problem := finalizer_problem(name))
        ]

    def in_two_steps(self, kind: Kind) -> bool:
        """Return true: the contents are deleted first."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the phase to Terminating.

        Raises:
            Forbidden: It is one of the namespaces that a cluster requires.
        """
        if obj["metadata"]["name"] in _IMMORTAL:
            raise refuse.forbidden(kind, obj["metadata"]["name"], "this namespace may not be deleted")
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether the namespace has not been emptied yet."""
        return bool(obj.get("spec", {}).get("finalizers"))
