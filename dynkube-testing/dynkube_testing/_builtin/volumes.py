"""PersistentVolumeClaims, PersistentVolumes, storage classes and related kinds."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from dynkube_testing._builtin.findings import BuiltinFindings, fill, section
from dynkube_testing._builtin.podspecs import complete_claim_spec
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._builtin.volumewarnings import claim_warnings
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import each, normalize, value_of

_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_MODES = ("Block", "Filesystem")
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


def _complete_claim(obj: JSONObject) -> None:
    complete_claim_spec(section(obj, "spec"))
    normalize(section(obj, "status"), "capacity")


def _decide_claim(obj: JSONObject, old: JSONObject | None) -> None:
    fill(section(obj, "status"), phase="Pending")
    protect(obj, old, "kubernetes.io/pvc-protection")


def _complete_volume(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    normalize(spec, "capacity")
    if isinstance(host_path := spec.get("hostPath"), dict):
        host_path.setdefault("type", "")


def _decide_volume(obj: JSONObject, old: JSONObject | None) -> None:
    status = section(obj, "status")
    fill(status, phase="Pending")
    if old is None:
        fill(status, lastPhaseTransitionTime=obj["metadata"]["creationTimestamp"])
    protect(obj, old, "kubernetes.io/pv-protection")


def _check_claim(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    if not spec.get("accessModes"):
        findings.required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes") or ():
        findings.one_of("spec.accessModes", mode, _ACCESS)
    storage = each(spec["resources"], "requests").get("storage")
    if storage is None:
        findings.required("spec.resources[storage]")
    elif value_of(storage) <= 0:
        findings.invalid("spec.resources[storage]", storage, "must be greater than zero")
    findings.name("spec.storageClassName", spec.get("storageClassName"))
    findings.one_of("spec.volumeMode", spec["volumeMode"], _MODES)


def _keep_claim(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    """Check that the spec of a claim is unchanged.

    The storage request of a bound claim may grow, and a missing storage class may be set.
    """
    assert old is not None, "called for updates"
    new, before = copy.deepcopy(obj["spec"]), copy.deepcopy(old["spec"])
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
        findings.forbidden("spec", _CLAIM_UPDATE)


def _check_volume(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    if not spec.get("accessModes"):
        findings.required("spec.accessModes")
    for mode in spec.get("accessModes") or ():
        findings.one_of("spec.accessModes", mode, _ACCESS)
    capacity = each(spec, "capacity")
    if not capacity:
        findings.required("spec.capacity")
    if set(capacity) != {"storage"}:
        findings.causes.append(refuse.not_supported("spec.capacity", capacity or None, ["storage"]))
    findings.one_of(
        "spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"], ("Delete", "Recycle", "Retain")
    )
    sources = [field for field in spec if field not in _VOLUME_FIELDS]
    if not sources:
        findings.required("spec", "must specify a volume type")
    for extra in sources[1:]:
        findings.forbidden(f"spec.{extra}", "may not specify more than 1 volume type")
    findings.name("spec.storageClassName", spec.get("storageClassName"))
    findings.one_of("spec.volumeMode", spec["volumeMode"], _MODES)


def _complete_class(obj: JSONObject) -> None:
    fill(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _check_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    if not obj.get("provisioner"):
        findings.required("provisioner")
    findings.one_of("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))
    findings.one_of("volumeBindingMode", obj["volumeBindingMode"], ("Immediate", "WaitForFirstConsumer"))


def _keep_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        findings.immutable(field, obj.get(field), old.get(field))


def _complete_driver(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, attachRequired=True, podInfoOnMount=False, volumeLifecycleModes=["Persistent"], storageCapacity=False)
    fill(spec, fsGroupPolicy="ReadWriteOnceWithFSType", requiresRepublish=False, seLinuxMount=False)


def _complete_capacity(obj: JSONObject) -> None:
    normalize(obj, "capacity", "maximumVolumeSize")


def _decide_attachment(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "status").setdefault("attached", False)


def _caution_claim(obj: JSONObject, old: JSONObject | None) -> list[str]:
    warnings = [f'metadata.annotations[{_BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead']
    given = _BETA_CLASS in (obj["metadata"].get("annotations") or {})
    return [*(warnings if given else ()), *claim_warnings("spec", obj["spec"])]


RULES: Mapping[str, BuiltinRules] = {
    "persistentvolumeclaims": BuiltinRules(
        defaults=_complete_claim,
        decides=_decide_claim,
        checks=_check_claim,
        changes=_keep_claim,
        cautions=_caution_claim,
    ),
    "persistentvolumes": BuiltinRules(defaults=_complete_volume, decides=_decide_volume, checks=_check_volume),
    "storageclasses.storage.k8s.io": BuiltinRules(defaults=_complete_class, checks=_check_class, changes=_keep_class),
    "csidrivers.storage.k8s.io": BuiltinRules(defaults=_complete_driver),
    "csistoragecapacities.storage.k8s.io": BuiltinRules(defaults=_complete_capacity),
    "volumeattachments.storage.k8s.io": BuiltinRules(decides=_decide_attachment),
    "volumeattributesclasses.storage.k8s.io": BuiltinRules(
        decides=lambda obj, old: protect(obj, old, "kubernetes.io/vac-protection")
    ),
}
