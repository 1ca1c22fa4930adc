"""Tables of volumes, claims, storage classes and drivers."""

from __future__ import annotations

from collections.abc import Sequence

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, NAME, Cell, Column, Printer, column, wide
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import UNSET

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _volume(obj: Fields, ages: Ages) -> Sequence[Cell]:
    claim = obj.at("spec.claimRef")
    return [
        obj.name,
        obj.scalar("spec.capacity.storage", "0"),
        _access_modes(obj.texts("spec.accessModes")),
        obj.text("spec.persistentVolumeReclaimPolicy", "Retain"),
        _phase(obj),
        f"{claim.text('namespace')}/{claim.text('name')}" if obj.has("spec.claimRef") else "",
        _storage_class(obj),
        obj.text("spec.volumeAttributesClassName", UNSET),
        obj.text("status.reason"),
        ages.of(obj),
        obj.text("spec.volumeMode", "Filesystem"),
    ]


def _claim(obj: Fields, ages: Ages) -> Sequence[Cell]:
    bound = bool(obj.text("spec.volumeName"))
    return [
        obj.name,
        _phase(obj),
        obj.text("spec.volumeName"),
        obj.scalar("status.capacity.storage", "0") if bound else "",
        _access_modes(obj.texts("status.accessModes")) if bound else "",
        _storage_class(obj),
        obj.text("spec.volumeAttributesClassName", UNSET),
        ages.of(obj),
        obj.text("spec.volumeMode", "Filesystem"),
    ]


def _phase(obj: Fields) -> str:
    return "Terminating" if obj.deleting else obj.text("status.phase", "Pending")


def _access_modes(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _storage_class(obj: Fields) -> str:
    annotated = obj.mapping("metadata.annotations").get(_BETA_CLASS)
    return annotated if isinstance(annotated, str) else obj.text("spec.storageClassName")


def _class(obj: Fields, ages: Ages) -> Sequence[Cell]:
    annotations = obj.mapping("metadata.annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{obj.name} (default)" if default else obj.name,
        obj.text("provisioner"),
        obj.text("reclaimPolicy", "Delete"),
        obj.text("volumeBindingMode", "Immediate"),
        obj.flag("allowVolumeExpansion"),
        ages.of(obj),
    ]


def _driver(obj: Fields, ages: Ages) -> Sequence[Cell]:
    spec = obj.at("spec")
    audiences = ",".join(request.text("audience") for request in spec.each("tokenRequests"))
    return [
        obj.name,
        spec.flag("attachRequired", True),
        spec.flag("podInfoOnMount"),
        spec.flag("storageCapacity"),
        audiences if spec.has("tokenRequests") else UNSET,
        spec.flag("requiresRepublish"),
        ",".join(spec.texts("volumeLifecycleModes")) or "Persistent",
        ages.of(obj),
    ]


def _node(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, len(obj.each("spec.drivers")), ages.of(obj)]


def _attachment(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [
        obj.name,
        obj.text("spec.attacher"),
        obj.text("spec.source.persistentVolumeName"),
        obj.text("spec.nodeName"),
        obj.flag("status.attached"),
        ages.of(obj),
    ]


def _attributes_class(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("driverName"), ages.of(obj)]


_ATTRIBUTES = column("VolumeAttributesClass", "Class of the volume's attributes")
_VOLUME_MODE = wide("VolumeMode", "Whether it is a file system or a raw block device")

VOLUMES = Printer(
    (
        NAME,
        column("Capacity", "Size of the volume"),
        column("Access Modes", "How it can be mounted"),
        column("Reclaim Policy", "What becomes of it once it is released"),
        column("Status", "Whether it is available, bound, released or failed"),
        column("Claim", "Claim it is bound to"),
        column("StorageClass", "Storage class of the volume"),
        _ATTRIBUTES,
        column("Reason", "Why it is in this status"),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
CLAIMS = Printer(
    (
        NAME,
        column("Status", "Whether it is pending, bound or lost"),
        column("Volume", "Volume it is bound to"),
        column("Capacity", "Size of that volume"),
        column("Access Modes", "How that volume can be mounted"),
        column("StorageClass", "Storage class it asks for"),
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
CLASSES = Printer(
    (
        NAME,
        column("Provisioner", "What makes volumes of this class"),
        column("ReclaimPolicy", "What becomes of its volumes once they are released"),
        column("VolumeBindingMode", "When claims are bound"),
        column("AllowVolumeExpansion", "Whether volumes can grow"),
        AGE,
    ),
    _class,
)
DRIVERS = Printer(
    (
        NAME,
        column("AttachRequired", "Whether volumes have to be attached to nodes", "boolean"),
        column("PodInfoOnMount", "Whether the driver is told about the pod", "boolean"),
        column("StorageCapacity", "Whether the driver says how much room it has", "boolean"),
        column("TokenRequests", "Audiences of the tokens that the driver wants"),
        column("RequiresRepublish", "Whether the driver is asked again and again", "boolean"),
        column("Modes", "Kinds of volumes it has"),
        AGE,
    ),
    _driver,
)
NODES = Printer((NAME, column("Drivers", "How many drivers the node has", "integer"), AGE), _node)
ATTACHMENTS = Printer(
    (
        NAME,
        Column(name="Attacher", format="name", description="Driver that attaches the volume"),
        column("PV", "Volume that is attached"),
        column("Node", "Node it is attached to"),
        column("Attached", "Whether it is attached by now", "boolean"),
        AGE,
    ),
    _attachment,
)
ATTRIBUTES_CLASSES = Printer((NAME, column("DriverName", "Driver it is for"), AGE), _attributes_class)
