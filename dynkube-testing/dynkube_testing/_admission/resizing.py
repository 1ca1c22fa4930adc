"""PersistentVolumeClaimResize: which claims may ask for more storage."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube_testing._admission.amounts import Amount, read_amounts
from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._verbs.admission import Attributes

_UNBOUND = "Only bound persistent volume claims can be expanded"
_FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


@dataclass(frozen=True, slots=True)
class ClaimResize:
    """The plugin; it acts on updates of claims."""

    objects: Objects

    def validate(self, attributes: Attributes) -> None:
        """Check a claim that asks for more storage than before.

        Raises:
            Forbidden: It is not bound, or its storage class does not allow that.
        """
        old = attributes.old
        if (
            attributes.resource != "persistentvolumeclaims"
            or attributes.operation != "UPDATE"
            or attributes.subresource
        ):
            return
        if old is None or _storage(attributes.new).value <= _storage(old).value:
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden(_UNBOUND)
        name = class_of(attributes.new)
        found = self.objects.get(attributes.storage, "storageclasses.storage.k8s.io", "", name) if name else None
        if found is None or name != class_of(old) or not found.get("allowVolumeExpansion"):
            raise attributes.forbidden(_FIXED)


def class_of(claim: JSONObject) -> str:
    """Return the name of a claim's storage class, or ``""``; the older annotation has precedence."""
    annotations = claim["metadata"].get("annotations") or {}
    named = annotations.get("volume.beta.kubernetes.io/storage-class")
    return str(named if named is not None else claim["spec"].get("storageClassName") or "")


def _storage(claim: JSONObject) -> Amount:
    return read_amounts((claim["spec"].get("resources") or {}).get("requests")).get("storage", Amount())
