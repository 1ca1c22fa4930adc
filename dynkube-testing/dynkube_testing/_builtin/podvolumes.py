"""Validation of the volumes of pods, and of the sources that PersistentVolumes have too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.containers import descending
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Rules, Table
from dynkube_testing._builtin.variables import check_field_path, check_resource_field
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import value_of

VOLUME_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk",
    "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_PROJECTED = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_NAME_FORMATS = {
    "iqn": r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[A-Za-z0-9]{16}$",
    "naa": r"^naa.[A-Za-z0-9]{32}$",
}
_LONG_PORTAL = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
_IN_TEMPLATES = {"annotations", "labels", "creationTimestamp"}
# The least and the greatest lifetime of a projected token, in seconds.
_SHORTEST, _LONGEST = 600, 1 << 32
_LUN = checks.between(0, 255)


def check_iscsi_name(field: Field, wrong_kind: str = "must be valid format starting with iqn, eui, or naa") -> None:
    """Check the name of an iSCSI target or initiator; ``wrong_kind`` is the text for one of an unknown kind."""
    pattern = _NAME_FORMATS.get(field.value[:3])
    if pattern is None:
        field.invalid(wrong_kind)
    elif not re.search(pattern, field.value):
        field.invalid("must be valid format")


def _check_iscsi(source: Field) -> None:
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        source.at("secretRef").required()
    if source.get("initiatorName") is None:
        return
    check_iscsi_name(source.at("initiatorName").renamed(f"{source.path}.initiatorname"))
    volume = source.owner
    name = volume.get("name") or "" if volume is not None else ""
    if volume is not None and len(f"{name}:{source.get('targetPortal') or ''}") > 64:
        volume.at("name").invalid(_LONG_PORTAL, name)


def _check_size_limit(source: Field) -> None:
    if value_of(source.get("sizeLimit")) < 0:
        source.at("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity")


def _check_claim_in_use(volume: Field) -> None:
    """Check that a volume does not use a claim which belongs to an ephemeral volume of the same pod."""
    spec = volume.above("PodSpec")
    pod = spec.owner.get("metadata", "name") if spec.owner is not None and spec.owner.type.endswith("v1.Pod") else None
    claim = volume.at("persistentVolumeClaim", "claimName")
    created = {f"{pod}-{each.get('name')}" for each in spec.get("volumes") if each.get("ephemeral") is not None}
    if pod and claim.value in created:
        claim.invalid("must not reference a PVC that gets created for an ephemeral volume")


def _check_ephemeral(volume: Field) -> None:
    spec = volume.above("PodSpec")
    if volume.get("ephemeral") is None or spec.owner is None or not spec.owner.type.endswith("v1.Pod"):
        return
    claim = f"{spec.owner.get('metadata', 'name') or ''}-{volume.get('name')}"
    if problem := naming.subdomain_problem(claim):
        volume.at("name").invalid(f'PVC name "{claim}": {problem}')


def _check_template_metadata(template: Field) -> None:
    metadata = template.at("metadata")
    checks.labels(metadata.at("labels"))
    for name in sorted(name for name in metadata.value or {} if name not in _IN_TEMPLATES and metadata.get(name)):
        metadata.at(name).forbidden("cannot be set")


# ── files in volumes ──────────────────────────────────────────────────────────────────────────


def _check_files(source: Field) -> None:
    """Check the files of a source for fields of the pod; as in a real server, without indexes."""
    for item in source.each("items"):
        _check_file(item.renamed(source.path))


def _check_file(file: Field) -> None:
    path = file.at("path")
    if not path.value:
        path.required()
    checks.local_path(path)
    field, resource = file.at("fieldRef"), file.at("resourceFieldRef")
    if field.value is not None:
        check_field_path(field)
        if resource.value is not None:
            file.invalid("fieldRef and resourceFieldRef can not be specified simultaneously", "resource")
    elif resource.value is not None:
        check_resource_field(resource)
    else:
        file.required("one of fieldRef and resourceFieldRef is required")
    checks.permissions(file.at("mode"))


def _check_projected(volume: Field) -> None:
    paths: set[str] = set()
    for source in volume.each("sources"):
        chosen = source.given(_PROJECTED)
        for name in chosen:
            part = source.at(name)
            part.check()
            if name == "serviceAccountToken":
                _check_token(part, volume)
            for path, shown in _written(part):
                if path in paths:
                    volume.invalid("conflicting duplicate paths", shown)
                paths.add(path)
        if len(chosen) > 1:
            source.forbidden("may not specify more than 1 volume type per source")


def _check_token(token: Field, volume: Field) -> None:
    seconds, path = token.at("expirationSeconds"), token.at("path").renamed(f"{volume.path}.path")
    if seconds.value < _SHORTEST:
        seconds.invalid("may not specify a duration less than 10 minutes")
    if seconds.value > _LONGEST:
        seconds.invalid("may not specify a duration larger than 2^32 seconds")
    if path.value:
        checks.local_path(path)
    else:
        path.required()


def _written(part: Field) -> Iterator[tuple[str, object]]:
    """Yield the path of each file of a source, and the value that a cause shows for it."""
    for item in part.get("items") or ():
        if path := item.get("path"):
            yield path, part.get("name") if part.name in {"secret", "configMap"} else path
    if part.name == "clusterTrustBundle":
        yield part.get("path") or "", part.get("path") or ""


def _check_bundle(bundle: Field) -> None:
    name, signer = bundle.at("name"), bundle.at("signerName")
    if name.value is not None and signer.value is not None:
        bundle.invalid("only one of name and signerName may be used")
    elif name.value is None and signer.value is None:
        bundle.required("either name or signerName must be specified")
    elif name.value == "":
        name.required("must be a valid object name")
    elif signer.value == "":
        signer.required("must be a valid signer name")
    if not bundle.get("path"):
        bundle.at("path").required()
    checks.local_path(bundle.at("path"))


_FILES: Rules = (("defaultMode", checks.permissions), "items")
_PROJECTED_FILES: Rules = ("name!", "items")

CHECKS: Table = {
    "core.v1.Volume": (
        checks.only_one(VOLUME_SOURCES, "may not specify more than 1 volume type", "must specify a volume type"),
        _check_ephemeral,
        ("name!", checks.label),
        checks.unique("name"),
        _check_claim_in_use,
    ),
    "core.v1.EmptyDirVolumeSource": (_check_size_limit,),
    "core.v1.HostPathVolumeSource": (("path!", checks.no_backsteps), ("type?", checks.one_of(*_HOST_PATH_TYPES))),
    "core.v1.GitRepoVolumeSource": ("repository!", ("directory", descending)),
    "core.v1.GCEPersistentDiskVolumeSource": ("pdName!",),
    "core.v1.AWSElasticBlockStoreVolumeSource": ("volumeID!",),
    "core.v1.SecretVolumeSource": ("secretName!", *_FILES),
    "core.v1.ConfigMapVolumeSource": ("name!", *_FILES),
    "core.v1.KeyToPath": ("key!", "path!", ("path", checks.local_path), ("mode", checks.permissions)),
    "core.v1.NFSVolumeSource": ("server!", "path!"),
    "core.v1.ISCSIVolumeSource": ("targetPortal!", ("iqn!", check_iscsi_name), ("lun", _LUN), _check_iscsi),
    "core.v1.GlusterfsVolumeSource": ("endpoints!", "path!"),
    "core.v1.PersistentVolumeClaimVolumeSource": ("claimName!",),
    "core.v1.RBDVolumeSource": ("monitors!", "image!"),
    "core.v1.CinderVolumeSource": ("volumeID!",),
    "core.v1.CephFSVolumeSource": ("monitors!",),
    "core.v1.DownwardAPIVolumeSource": (("defaultMode", checks.permissions), _check_files),
    "core.v1.FlexVolumeSource": ("driver!",),
    "core.v1.AzureFileVolumeSource": ("secretName!", "shareName!"),
    "core.v1.VsphereVirtualDiskVolumeSource": ("volumePath!",),
    "core.v1.PhotonPersistentDiskVolumeSource": ("pdID!",),
    "core.v1.PortworxVolumeSource": ("volumeID!",),
    "core.v1.ScaleIOVolumeSource": ("gateway!", "system!", "volumeName!"),
    "core.v1.CSIVolumeSource": (("driver!", checks.subdomain), "nodePublishSecretRef.name!"),
    "core.v1.ImageVolumeSource": (("pullPolicy!", checks.one_of("Always", "IfNotPresent", "Never")),),
    "core.v1.EphemeralVolumeSource": ("volumeClaimTemplate!",),
    "core.v1.PersistentVolumeClaimTemplate": (_check_template_metadata, "spec"),
    "core.v1.ProjectedVolumeSource": (("defaultMode", checks.permissions), _check_projected),
    "core.v1.SecretProjection": _PROJECTED_FILES,
    "core.v1.ConfigMapProjection": _PROJECTED_FILES,
    "core.v1.DownwardAPIProjection": (_check_files,),
    "core.v1.ClusterTrustBundleProjection": (_check_bundle,),
}
