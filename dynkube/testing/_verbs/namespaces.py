"""Namespaces: nothing is created outside of one, and deleting one empties it first."""

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
# What is owned of a namespace that says nothing but its name, as FieldsV1.
NAME_LABEL_FIELDS: JSONObject = {".": {}, "f:kubernetes.io/metadata.name": {}}
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
            raise refuse.not_found(own, namespace)
        if terminating(found):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            detail = f"namespace {namespace} is being terminated"
            raise refuse.forbidden(kind, name, why, StatusCause("metadata.namespace", "NamespaceTerminating", detail))


def terminating(version: Version) -> bool:
    """Whether a namespace is being deleted."""
    return version.fields.get("status.phase") == "Terminating"


class NamespaceRules(KindRules):
    """Namespaces go in two steps: what is in them goes first."""

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Finalizers are the server's own or qualified by a domain; the phase says whether it was deleted."""
        phase, ends = (obj.get("status") or {}).get("phase", ""), "deletionTimestamp" in obj["metadata"]
        right, when = ("Terminating", "not empty") if ends else ("Active", "empty")
        why = f"may only be '{right}' if `deletionTimestamp` is {when}"
        return [refuse.bad_value("status.Phase", phase, why)] * (old is not None and phase != right) + [
            refuse.bad_value(f"spec.finalizers[{index}]", name, problem)
            for index, name in enumerate(obj.get("spec", {}).get("finalizers") or ())
            if (problem := finalizer_problem(name))
        ]

    def in_two_steps(self, kind: Kind) -> bool:
        """Always."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Mark it as on its way.

        Raises:
            Forbidden: It is one that a cluster cannot be without.
        """
        if obj["metadata"]["name"] in _IMMORTAL:
            raise refuse.forbidden(kind, obj["metadata"]["name"], "this namespace may not be deleted")
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Until it has been emptied."""
        return bool(obj.get("spec", {}).get("finalizers"))
