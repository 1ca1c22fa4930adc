"""PersistentVolumeClaims, PersistentVolumes, storage classes and related kinds."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import fill, section
from dynkube_testing._builtin.volumewarnings import claim_warnings
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import each, value_of

_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_OLD_SOURCES = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLAIM_UPDATE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
# The fields of a PersistentVolume's spec other than the volume source.
_VOLUME_FIELDS = {
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
}


def protect(obj: JSONObject, old: JSONObject | None, finalizer: str) -> None:
    """Add ``finalizer`` to a new object, to protect it while it is in use."""
    finalizers = obj["metadata"].get("finalizers") or []
    if old is None and finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


def _decide_claim(obj: JSONObject, old: JSONObject | None) -> None:
    _settle_data_source(obj["spec"], old["spec"] if old is not None else {})
    fill(section(obj, "status"), phase="Pending")
    protect(obj, old, "kubernetes.io/pvc-protection")


def _decide_volume(obj: JSONObject, old: JSONObject | None) -> None:
    status = section(obj, "status")
    fill(status, phase="Pending")
    if old is None:
        fill(status, lastPhaseTransitionTime=obj["metadata"]["creationTimestamp"])
    protect(obj, old, "kubernetes.io/pv-protection")


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def _check_modes(spec: Field) -> None:
    modes = spec.at("accessModes")
    for mode in modes.value or ():
        modes.one_of(_ACCESS, mode)
    given = set(modes.value or ()) & set(_ACCESS)
    if "ReadWriteOncePod" in given and len(given) > 1:
        modes.forbidden("may not use ReadWriteOncePod with other access modes")


def _check_storage(spec: Field) -> None:
    field = spec.at("resources").key("storage").with_value(spec.get("resources", "requests", "storage"))
    if field.value is None:
        field.required()
    else:
        checks.positive_quantity(field)


def _check_data_source(source: Field) -> None:
    """Check a reference to the data of a new volume, in either of two fields."""
    kind, group = source.get("kind") or "", source.at("apiGroup")
    for name in ("name", "kind"):
        if not source.get(name):
            source.at(name).required()
    if group.value:
        checks.subdomain(group)
    elif kind != "PersistentVolumeClaim":
        source.invalid("must be 'PersistentVolumeClaim' when referencing the default apiGroup", kind)
    if source.get("namespace"):
        checks.label(source.at("namespace"))


def _check_data_sources(spec: Field) -> None:
    source, reference = spec.at("dataSource"), spec.at("dataSourceRef")
    if source.value is None or reference.value is None:
        return
    parts = ("apiGroup", "kind", "name")
    if reference.get("namespace"):
        spec.invalid("may not be specified when dataSourceRef.namespace is specified", {})
    elif [source.get(part) for part in parts] != [reference.get(part) for part in parts]:
        spec.invalid("must match dataSourceRef", {})


def _check_volume(spec: Field) -> None:
    capacity = spec.at("capacity")
    if not capacity.value:
        capacity.required()
    if set(capacity.value or ()) != {"storage"}:
        capacity.unsupported(("storage",), capacity.value or None)
    spec.at("persistentVolumeReclaimPolicy").one_of(("Delete", "Recycle", "Retain"))
    first, *others = [field for field in spec.value if field not in _VOLUME_FIELDS] or [""]
    if first:
        spec.at(first).check()
    else:
        spec.required("must specify a volume type")
    for extra in others:
        spec.at(extra).forbidden("may not specify more than 1 volume type")


# ── changes, defaults, warnings ───────────────────────────────────────────────────────────────


def _settle_data_source(spec: JSONObject, before: JSONObject) -> None:
    """Set each of the two fields for a data source from the other one.

    The older field may only name claims and snapshots, and the newer one nothing in another namespace, as that is a
    feature which is disabled by default; anything else is dropped from a new object.
    """
    if not before.get("dataSourceRef") and (spec.get("dataSourceRef") or {}).get("namespace"):
        del spec["dataSourceRef"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        if before.get("dataSource") or (source.get("apiGroup") or "", source.get("kind")) in _OLD_SOURCES:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif reference is not None and source is None:
        spec["dataSource"] = dict(reference)


def _keep_claim(claim: Field, old: JSONObject) -> None:
    """Check that the spec of a claim is unchanged.

    The storage request of a bound claim may grow, and a missing storage class may be set.
    """
    new, before = copy.deepcopy(claim.get("spec")), copy.deepcopy(old["spec"])
    bound = (old.get("status") or {}).get("phase") == "Bound"
    if not before.get("volumeName"):
        new.pop("volumeName", None)
        before.pop("volumeName", None)
    if before.get("storageClassName") is None:
        new.pop("storageClassName", None)
    wanted, asked = (value_of(each(spec["resources"], "requests").get("storage", 0)) for spec in (new, before))
    if bound and wanted >= asked:
        new["resources"] = before["resources"]
    if bound:
        new.pop("volumeAttributesClassName", None)
        before.pop("volumeAttributesClassName", None)
    if new != before:
        claim.at("spec").forbidden(_CLAIM_UPDATE)


def _decide_attachment(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "status").setdefault("attached", False)


def _caution_claim(obj: JSONObject, old: JSONObject | None) -> list[str]:
    warnings = [f'metadata.annotations[{_BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead']
    given = _BETA_CLASS in (obj["metadata"].get("annotations") or {})
    return [*(warnings if given else ()), *claim_warnings("spec", obj["spec"])]


DEFAULTS: typedefaults.Table = {
    "core.v1.TypedLocalObjectReference": ({"apiGroup": None},),
    "core.v1.TypedObjectReference": ({"apiGroup": None},),
    "core.v1.PersistentVolumeClaimCondition": ({"lastProbeTime": None, "lastTransitionTime": None},),
    "core.v1.PersistentVolumeSpec": ({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},),
    "storage.v1.StorageClass": ({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},),
    "storage.v1.CSIDriverSpec": (
        {
            "attachRequired": True,
            "podInfoOnMount": False,
            "volumeLifecycleModes": ["Persistent"],
            "storageCapacity": False,
            "fsGroupPolicy": "ReadWriteOnceWithFSType",
            "requiresRepublish": False,
            "seLinuxMount": False,
        },
    ),
}
CHECKS: typechecks.Table = {
    "core.v1.PersistentVolumeClaim": ("spec",),
    "core.v1.PersistentVolumeClaimSpec": (
        ("accessModes", checks.required("at least 1 access mode is required")),
        "selector",
        _check_modes,
        _check_storage,
        ("storageClassName?", checks.subdomain),
        ("volumeMode", checks.one_of("Block", "Filesystem")),
        "dataSource",
        "dataSourceRef",
        _check_data_sources,
        ("volumeAttributesClassName?", checks.subdomain),
    ),
    "core.v1.TypedLocalObjectReference": (_check_data_source,),
    "core.v1.TypedObjectReference": (_check_data_source,),
    "core.v1.PersistentVolume": ("spec",),
    "core.v1.PersistentVolumeSpec": (
        "accessModes!",
        _check_modes,
        _check_volume,
        ("storageClassName?", checks.subdomain),
        ("volumeMode", checks.one_of("Block", "Filesystem")),
    ),
    "storage.v1.StorageClass": (
        "provisioner!",
        ("reclaimPolicy", checks.one_of("Delete", "Retain")),
        ("volumeBindingMode", checks.one_of("Immediate", "WaitForFirstConsumer")),
    ),
}
RULES: Mapping[str, Factory] = {
    "persistentvolumeclaims": partial(
        BuiltinRules, decides=_decide_claim, changes=_keep_claim, cautions=_caution_claim
    ),
    "persistentvolumes": partial(BuiltinRules, decides=_decide_volume),
    "storageclasses.storage.k8s.io": partial(
        BuiltinRules, fixed=("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    ),
    "volumeattachments.storage.k8s.io": partial(BuiltinRules, decides=_decide_attachment),
    "volumeattributesclasses.storage.k8s.io": partial(
        BuiltinRules, decides=lambda obj, old: protect(obj, old, "kubernetes.io/vac-protection")
    ),
}
