"""Whether a resource exists, in which generation, and why not: the verdict that informers follow.

Pure: from what is known of CRDs and of discovery to a verdict. "Nobody could tell" and "it is not
there" are different verdicts throughout.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec

from dynkube.meta import GVR, ObjectDecoder, Unstructured


class Presence(enum.Enum):
    """The verdict in one word."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a resource: objects of two have nothing to do with each other.

    ``uid`` is the CRD's; ``""`` for built-in and aggregated resources, and where CRDs cannot be read.
    """

    uid: str
    namespaced: bool

    def continues(self, before: Generation | None) -> bool:
        """Whether ``before`` is the same incarnation, as far as can be told."""
        if before is None or self.namespaced != before.namespaced:
            return False
        return self.uid == before.uid or "" in (self.uid, before.uid)


@dataclass(frozen=True, slots=True)
class Availability:
    """The verdict on one resource.

    Attributes:
        presence: the verdict.
        reason: why, as one CamelCase word; see :class:`~dynkube.informers.State`.
        message: why, in words.
        generation: which incarnation of the resource it is; ``None`` unless present.
    """

    presence: Presence
    reason: str = ""
    message: str = ""
    generation: Generation | None = None


def unknown(reason: str, message: str = "") -> Availability:
    """Nobody could tell."""
    return Availability(Presence.UNKNOWN, reason, message)


def absent(reason: str, message: str) -> Availability:
    """The server was asked, and it is not there."""
    return Availability(Presence.ABSENT, reason, message)


# ── CRDs, without their schemas ──────────────────────────────────────────────────────────────


class _Names(msgspec.Struct, gc=False):
    plural: str = ""
    kind: str = ""


class _PrinterColumn(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    name: str = ""
    type: str = ""
    json_path: str = ""
    description: str = ""
    priority: int = 0


class _Version(msgspec.Struct, gc=False, rename="camel"):
    name: str
    served: bool = False
    storage: bool = False
    additional_printer_columns: list[_PrinterColumn] | None = None


class _Spec(msgspec.Struct, gc=False):
    group: str = ""
    scope: str = "Namespaced"
    names: _Names = msgspec.field(default_factory=_Names)
    versions: list[_Version] = msgspec.field(default_factory=list)


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _Metadata(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _CRD(msgspec.Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_crds = msgspec.json.Decoder(_CRD)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the whole CRD once more


class SlimCRDDecoder(ObjectDecoder):
    """Keeps of each CRD what a verdict needs: a schema may have a megabyte, this has some hundred bytes."""

    __slots__ = ()

    def decode(self, raw: bytes) -> Unstructured:
        """One CRD without its schemas."""
        crd = _crds.decode(raw)
        if crd.metadata.annotations:
            crd.metadata.annotations.pop(_LAST_APPLIED, None)
        return super().decode(msgspec.json.encode(crd))


def judge_crd(gvr: GVR, obj: Unstructured) -> Availability:
    """The verdict on ``gvr`` from its CRD (of which :class:`SlimCRDDecoder` kept what is read here)."""
    crd = _crds.decode(obj.json)
    conditions = {condition.type: condition for condition in crd.status.conditions or ()}
    refused = conditions.get("NamesAccepted")
    established = conditions.get("Established")
    if established is None or established.status != "True":
        if refused is not None and refused.status == "False":
            return absent("NamesNotAccepted", f"CRD {obj.name} is not served: {refused.message or refused.reason}")
        return absent("NotEstablished", f"CRD {obj.name} is not established yet")
    served = [version.name for version in crd.spec.versions if version.served]
    if gvr.version not in served:
        return absent(
            "VersionNotServed",
            f"CRD {obj.name} does not serve {gvr.version}, only {', '.join(served) or 'nothing'}",
        )
    return Availability(
        Presence.PRESENT,
        "Terminating" if crd.metadata.deletion_timestamp else "Established",
        generation=Generation(obj.uid, crd.spec.scope == "Namespaced"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """A column that a definition wants in tables of its objects: one of ``additionalPrinterColumns``.

    Attributes:
        name: the heading.
        type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
        json_path: where the value is, as the definition has it: without braces.
        description: what it means; may be empty.
        priority: above 0 for columns that only wide tables show.
    """

    name: str
    type: str
    json_path: str
    description: str = ""
    priority: int = 0


def printer_columns(gvr: GVR, obj: Unstructured) -> tuple[PrinterColumn, ...]:
    """The columns that a CRD wants to be shown of ``gvr``."""
    crd = _crds.decode(obj.json)
    found = next((version for version in crd.spec.versions if version.name == gvr.version), None)
    return tuple(
        PrinterColumn(
            name=column.name,
            type=column.type,
            json_path=column.json_path,
            description=column.description,
            priority=column.priority,
        )
        for column in (found.additional_printer_columns if found is not None else None) or ()
    )


def may_be_custom(gvr: GVR) -> bool:
    """Whether a CRD could define it: the group of a CRD is a domain, so it has a dot."""
    return "." in gvr.group


@dataclass(frozen=True, slots=True)
class Served:
    """What discovery said of one group-version: the resources in it and whether each is namespaced.

    ``resources`` is ``None`` where the group-version itself is not served. ``blind`` where CRDs could not be seen when
    it was asked, so that what it serves may well be theirs.
    """

    resources: Mapping[str, bool] | None
    blind: bool = False

    def judge(self, gvr: GVR) -> Availability:
        """The verdict on ``gvr``, of which there is no CRD."""
        namespaced = (self.resources or {}).get(gvr.resource)
        if namespaced is None:
            return self._absent(gvr)
        reason = "ServedUnseen" if self.blind else "Served"
        return Availability(Presence.PRESENT, reason, generation=Generation("", namespaced))

    def _absent(self, gvr: GVR) -> Availability:
        hint = ""
        if near := get_close_matches(gvr.resource, self.resources or (), n=1):
            hint = f"; its version serves {GVR(gvr.group, gvr.version, near[0])} (resources are named by their plural)"
        if may_be_custom(gvr):
            return absent("CRDNotFound", f"no CRD {gvr.crd_name} is installed{hint}")
        return absent("NotServed", f"the server does not serve {gvr}{hint}")
