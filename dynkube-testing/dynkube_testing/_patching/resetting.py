"""Fields that a request cannot write.

The writer does not own these fields, and has no conflicts about them. A request for the whole object cannot write the
status if there is a ``status`` subresource. A request for the status can only write the status and, depending on the
kind, all of the metadata, a part of it or none. The rules are those of ``GetResetFields`` of each kind's strategy in
the real server.
"""

from __future__ import annotations

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.elements import Path

_SPEC, _STATUS, _METADATA = ("f:spec",), ("f:status",), ("f:metadata",)
_STATUSES: dict[str, tuple[Path, ...]] = {
    "certificatesigningrequests.certificates.k8s.io": (_SPEC, ("f:status", "f:conditions")),
    "deployments.apps": (_SPEC, ("f:metadata", "f:labels")),
    "pods": (_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
}
_ALL_METADATA = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "servicecidrs.networking.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
# Kinds whose spec is immutable.
_ONCE = {"certificatesigningrequests.certificates.k8s.io"}


def reset_fields(kind: Kind, subresource: str) -> tuple[Path, ...]:
    """Return the paths of the fields that a write through ``subresource`` cannot change.

    Each path stands for the field and everything below it. ``subresource`` is ``""`` for the object itself.
    """
    resource = kind.storage_group
    match subresource:
        case "":
            once = (_SPEC,) if resource in _ONCE else ()
            return (*once, _STATUS) if "status" in kind.subresources else once
        case "status" if kind.crd_uid is not None or resource in _ALL_METADATA:
            return (_METADATA, _SPEC)
        case "status":
            return _STATUSES.get(resource, (_SPEC,))
        case "approval":
            return (_SPEC, ("f:status", "f:certificate"))
        case "finalize":
            return (_STATUS,)
    return ()
