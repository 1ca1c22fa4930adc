"""Rules of namespaces.

A namespace must exist before objects are created in it, and is emptied before it is removed.
"""

from __future__ import annotations

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._verbs.objectmeta import finalizer_problem
from dynkube_testing._verbs.rules import KindRules

NAMESPACES = "namespaces"
INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
# The managed fields (FieldsV1) of the labels of a namespace that was created with only a name.
NAME_LABEL_FIELDS: JSONObject = {".": {}, "f:kubernetes.io/metadata.name": {}}
_IMMORTAL = {"default", "kube-system", "kube-public"}


class Namespaces:
    """Checks whether objects may be created in a namespace."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

    @property
    def kind(self) -> Kind | None:
        """The kind ``Namespace``; ``None`` if it is not served.

        In that case any namespace is accepted.
        """
        return self._registry.stored(NAMESPACES)

    def check_open(self, kind: Kind, namespace: str, name: str) -> None:
        """Check that an object may be created in the namespace.

        Raises:
            NotFound: The namespace does not exist.
            Forbidden: The namespace is being deleted.
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
    return version.field("status.phase") == "Terminating"


class NamespaceRules(KindRules):
    """Rules for writes and deletes of namespaces.

    A namespace is removed only after its contents.
    """

    def causes(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[StatusCause]:
        """Validate finalizers and phase, and return the causes of a 422.

        The phase must match deletionTimestamp.

        A finalizer must be a built-in one or be qualified by a domain.
        """
        phase, ends = (obj.get("status") or {}).get("phase", ""), "deletionTimestamp" in obj["metadata"]
        right, when = ("Terminating", "not empty") if ends else ("Active", "empty")
        why = f"may only be '{right}' if `deletionTimestamp` is {when}"
        return [bad_value("status.Phase", phase, why)] * (old is not None and phase != right) + [
            bad_value(f"spec.finalizers[{index}]", name, problem)
            for index, name in enumerate(obj.get("spec", {}).get("finalizers") or ())
            if (problem := finalizer_problem(name))
        ]

    def in_two_steps(self, kind: Kind) -> bool:
        """Return ``True``, since the contents are deleted first."""
        return True

    def before_delete(self, kind: Kind, obj: JSONObject) -> None:
        """Set the phase to Terminating.

        Raises:
            Forbidden: The namespace is one that every cluster requires.
        """
        if obj["metadata"]["name"] in _IMMORTAL:
            raise refuse.forbidden(kind, obj["metadata"]["name"], "this namespace may not be deleted")
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def holds(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether the namespace is not emptied yet.

        Then it still has finalizers in its spec.
        """
        return bool(obj.get("spec", {}).get("finalizers"))
