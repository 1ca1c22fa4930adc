"""``Availability``: whether a resource is served, why, and in which incarnation."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from dynkube.meta import GVR

# The groups of kube-apiserver 1.36 with a dot. Custom resources have other groups below k8s.io, too, such as
# gateway.networking.k8s.io. A group that is missing here is only judged sooner.
_BUILT_IN: Final = frozenset(
    f"{group}.k8s.io"
    for group in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)


class Presence(enum.Enum):
    """Whether a resource is served; UNKNOWN if that is not known yet."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class ServedAs:
    """How the objects of a resource are requested.

    Attributes:
        version: the API version; for a resource without a version in its GVR the one that the server prefers.
        namespaced: the scope.
        kind: the kind of the objects; ``""`` if it is not known. Not compared.
    """

    version: str
    namespaced: bool
    kind: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a resource: it ends when its CRD is deleted, or another version is preferred.

    A CRD that is created again with the same name is another generation, whose objects are unrelated. Objects of
    another version are the same ones in another form.

    Attributes:
        uid: uid of the CRD; ``""`` for built-in and aggregated resources, and if CRDs cannot be read.
        served_as: the resource's version and scope.
    """

    uid: str
    served_as: ServedAs

    def continues(self, before: Generation | None) -> bool:
        """Return whether ``before`` is the same incarnation.

        An unknown uid (``""``) is assumed to be the same.
        """
        if before is None or self.served_as != before.served_as:
            return False
        return self.uid == before.uid or "" in (self.uid, before.uid)


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source cannot be read: a CamelCase reason and the error message."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """An absence that is not confirmed.

    Attributes:
        since: when the first response without the resource was requested.
        read_at: when discovery has to be read again.
        awaits_ready: whether a report that the API server is ready, requested after ``since``, would confirm it sooner.
    """

    since: float
    read_at: float
    awaits_ready: bool = False


@dataclass(frozen=True, slots=True)
class Availability:
    """The verdict on one resource.

    Attributes:
        presence: the verdict.
        reason: its reason as one CamelCase word; :class:`~dynkube.informers.State` lists them.
        message: a human-readable explanation.
        generation: the incarnation of the resource; ``None`` unless present.
        lost: why the source of an ABSENT verdict cannot be read any more, so that the verdict may be outdated; ``None``
            while it can be read.
        awaits_discovery: whether discovery must be read for a more certain verdict.
        crd_deleted: whether the resource is absent because its CRD was deleted, and so were its objects.
        doubt: what is needed to confirm that the resource is absent; ``None`` if that is certain, or not suspected. Not
            compared.
    """

    presence: Presence
    reason: str = ""
    message: str = ""
    generation: Generation | None = None
    lost: SourceFailure | None = None
    awaits_discovery: bool = False
    crd_deleted: bool = False
    doubt: Doubt | None = field(default=None, compare=False)


def unknown(reason: str, message: str = "") -> Availability:
    """Return the verdict that it is not yet known whether the resource is served."""
    return Availability(Presence.UNKNOWN, reason, message)


def absent(reason: str, message: str, lost: SourceFailure | None = None, *, crd_deleted: bool = False) -> Availability:
    """Return the verdict that the resource is not served."""
    return Availability(Presence.ABSENT, reason, message, lost=lost, crd_deleted=crd_deleted)


def present(reason: str, served_as: ServedAs, *, awaits_discovery: bool = False) -> Availability:
    """Return the verdict that a resource is served whose CRD is not known."""
    return Availability(
        Presence.PRESENT, reason, generation=Generation("", served_as), awaits_discovery=awaits_discovery
    )


def may_be_custom(gvr: GVR) -> bool:
    """Return whether a CRD could define ``gvr``: CRDs have a dot in their group."""
    return "." in gvr.group


def is_custom(gvr: GVR) -> bool:
    """Return whether ``gvr`` is not built in: then the list of CRDs shows as well as discovery whether it is served."""
    return may_be_custom(gvr) and gvr.group not in _BUILT_IN
