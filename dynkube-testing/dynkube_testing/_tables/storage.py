"""Tables of volumes, claims, storage classes and drivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynkube_testing._tables.columns import (
    AGE,
    NAME,
    Cell,
    Printer,
    boolean,
    column,
    count,
    flag,
    joined,
    scalar,
    text,
    wide,
)
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import UNSET

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _claim_of(obj: Fields) -> Cell:
    claim = obj.at("spec.claimRef")
    return f"{claim.text('namespace')}/{claim.text('name')}" if obj.has("spec.claimRef") else ""


def _phase(obj: Fields) -> Cell:
    return "Terminating" if obj.deleting else obj.text("status.phase", "Pending")


def _size(obj: Fields) -> Cell:
    return obj.scalar("status.capacity.storage", "0") if obj.text("spec.volumeName") else ""


def _modes(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _storage_class(obj: Fields) -> Cell:
    annotated = obj.mapping("metadata.annotations").get(_BETA_CLASS)
    return annotated if isinstance(annotated, str) else obj.text("spec.storageClassName")


def _class_name(obj: Fields) -> str:
    annotations = obj.mapping("metadata.annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return f"{obj.name} (default)" if default else obj.name


def _audiences(obj: Fields) -> Cell:
    requests = obj.each("spec.tokenRequests")
    return ",".join(each.text("audience") for each in requests) if obj.has("spec.tokenRequests") else UNSET


_ATTRIBUTES = column(
    "VolumeAttributesClass", "Class of the volume's attributes", text("spec.volumeAttributesClassName", UNSET)
)
_VOLUME_MODE = wide(
    "VolumeMode", "Whether it is a file system or a raw block device", text("spec.volumeMode", "Filesystem")
)

VOLUMES = Printer(
    (
        NAME,
        column("Capacity", "Size of the volume", scalar("spec.capacity.storage", "0")),
        column("Access Modes", "How it can be mounted", lambda obj: _modes(obj.texts("spec.accessModes"))),
        column(
            "Reclaim Policy",
            "What becomes of it once it is released",
            text("spec.persistentVolumeReclaimPolicy", "Retain"),
        ),
        column("Status", "Whether it is available, bound, released or failed", _phase),
        column("Claim", "Claim it is bound to", _claim_of),
        column("StorageClass", "Storage class of the volume", _storage_class),
        _ATTRIBUTES,
        column("Reason", "Why it is in this status", "status.reason"),
        AGE,
        _VOLUME_MODE,
    )
)
CLAIMS = Printer(
    (
        NAME,
        column("Status", "Whether it is pending, bound or lost", _phase),
        column("Volume", "Volume it is bound to", "spec.volumeName"),
        column("Capacity", "Size of that volume", _size),
        column(
            "Access Modes",
            "How that volume can be mounted",
            lambda obj: _modes(obj.texts("status.accessModes")) if obj.text("spec.volumeName") else "",
        ),
        column("StorageClass", "Storage class it asks for", _storage_class),
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    )
)
CLASSES = Printer(
    (
        replace(NAME, cell=lambda obj, _ages: _class_name(obj)),
        column("Provisioner", "What makes volumes of this class", "provisioner"),
        column("ReclaimPolicy", "What becomes of its volumes once they are released", text("reclaimPolicy", "Delete")),
        column("VolumeBindingMode", "When claims are bound", text("volumeBindingMode", "Immediate")),
        column("AllowVolumeExpansion", "Whether volumes can grow", flag("allowVolumeExpansion")),
        AGE,
    )
)
DRIVERS = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes have to be attached to nodes", "spec.attachRequired", True),
        boolean("PodInfoOnMount", "Whether information about the pod is passed to the driver", "spec.podInfoOnMount"),
        boolean("StorageCapacity", "Whether the driver says how much room it has", "spec.storageCapacity"),
        column("TokenRequests", "Audiences of the tokens that the driver wants", _audiences),
        boolean("RequiresRepublish", "Whether the driver is asked again and again", "spec.requiresRepublish"),
        column("Modes", "Kinds of volumes it has", joined("spec.volumeLifecycleModes", "Persistent")),
        AGE,
    )
)
NODES = Printer((NAME, column("Drivers", "How many drivers the node has", count("spec.drivers"), "integer"), AGE))
ATTACHMENTS = Printer(
    (
        NAME,
        replace(column("Attacher", "Driver that attaches the volume", "spec.attacher"), format="name"),
        column("PV", "Volume that is attached", "spec.source.persistentVolumeName"),
        column("Node", "Node it is attached to", "spec.nodeName"),
        boolean("Attached", "Whether it is attached by now", "status.attached"),
        AGE,
    )
)
ATTRIBUTES_CLASSES = Printer((NAME, column("DriverName", "Driver it is for", "driverName"), AGE))
