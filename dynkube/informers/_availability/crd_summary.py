"""The parts of CRDs that are kept: served versions, scope and printer columns.

No I/O. CRDs are kept without their schemas: a schema may have a megabyte, the rest of a CRD some hundred bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from dynkube.informers._availability.availability import Availability, Generation, Presence, ServedAs, absent
from dynkube.meta import GVR, Unstructured
from dynkube.meta._gvr import version_priority
from dynkube.meta._wire.objects import ObjectDecoder


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


class _Status(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    conditions: list[_Condition] | None = None
    accepted_names: _Names | None = None


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
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # a copy of the whole CRD


class SlimCRDDecoder(ObjectDecoder):
    """Decodes CRDs without their schemas and everything else that is not needed."""

    __slots__ = ()

    def decode(self, raw: bytes) -> Unstructured:
        """Decode one CRD, without its schemas."""
        crd = _crds.decode(raw)
        if crd.metadata.annotations:
            crd.metadata.annotations.pop(_LAST_APPLIED, None)
        return super().decode(msgspec.json.encode(crd))


def judge_crd(gvr: GVR, obj: Unstructured) -> Availability:
    """Return the verdict on ``gvr`` from its CRD.

    Without a version in ``gvr`` it is the served version that comes first in discovery (``version_priority``).
    """
    crd = _crds.decode(obj.json)
    conditions = {condition.type: condition for condition in crd.status.conditions or ()}
    refused = conditions.get("NamesAccepted")
    established = conditions.get("Established")
    if established is None or established.status != "True":
        if refused is not None and refused.status == "False":
            return absent("NamesNotAccepted", f"CRD {obj.name} is not served: {refused.message or refused.reason}")
        return absent("NotEstablished", f"CRD {obj.name} is not established yet")
    served = [version.name for version in crd.spec.versions if version.served]
    version = gvr.version or min(served, key=version_priority, default="")
    if version not in served:
        others = f", only {', '.join(served)}" if served else ""
        return absent("VersionNotServed", f"CRD {obj.name} does not serve {version or 'any version'}{others}")
    kind = (crd.status.accepted_names or crd.spec.names).kind  # differs from the spec while a new one is in conflict
    return Availability(
        Presence.PRESENT,
        "Terminating" if crd.metadata.deletion_timestamp else "Established",
        generation=Generation(obj.uid, ServedAs(version, crd.spec.scope == "Namespaced", kind)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrinterColumn:
    """One of a CRD's ``additionalPrinterColumns``.

    Attributes:
        name: the column's header.
        type: ``string``, ``integer``, ``number``, ``boolean`` or ``date``.
        json_path: the JSONPath of the value as in the CRD, without braces.
        description: a human-readable description; may be empty.
        priority: above 0 for columns that are shown in wide tables only (``kubectl get -o wide``).
    """

    name: str
    type: str
    json_path: str
    description: str = ""
    priority: int = 0


def printer_columns(gvr: GVR, obj: Unstructured) -> tuple[PrinterColumn, ...]:
    """Return the printer columns of a CRD for the version of ``gvr``."""
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
