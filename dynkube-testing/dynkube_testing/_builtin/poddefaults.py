"""Defaults of pods, pod templates and their parts."""

from __future__ import annotations

import re

from dynkube_testing._builtin.sections import complete_pair, items
from dynkube_testing._builtin.typedefaults import Table
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import each

_MODE = {"defaultMode": 0o644}
_PORT_LISTS = ("initContainers", "containers")


def _complete_pod(pod: JSONObject) -> None:
    spec = pod["spec"] = pod.get("spec") or {}
    spec["enableServiceLinks"] = True if spec.get("enableServiceLinks") is None else spec["enableServiceLinks"]
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in (container for name in _PORT_LISTS for container in items(spec, name)):
        resources = container.get("resources") or {}
        if limits := each(resources, "limits"):
            resources["requests"] = {**limits, **each(resources, "requests")}
    if isinstance(status := pod.get("status"), dict):
        complete_pair(status, "podIP", "podIPs", "ip")


def _complete_spec(spec: JSONObject) -> None:
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if spec.get("hostNetwork"):
        for container in (container for name in _PORT_LISTS for container in items(spec, name)):
            for port in items(container, "ports"):
                port["hostPort"] = port.get("hostPort") or port.get("containerPort")


def _complete_container(container: JSONObject) -> None:
    container["imagePullPolicy"] = container.get("imagePullPolicy") or _pull_policy(container.get("image") or "")


def _pull_policy(image: str) -> str:
    """Return the default pull policy of an image.

    It is ``Always`` for an image that may change: one with the tag ``latest`` or without a tag or digest.
    """
    if "@" in image:
        return "IfNotPresent"
    tag = re.search(r":([^/:]+)$", image)
    return "Always" if tag is None or tag[1] == "latest" else "IfNotPresent"


def _complete_probe(probe: JSONObject) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        probe[name] = probe.get(name) or value


def _complete_volume(volume: JSONObject) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
    if isinstance(image := volume.get("image"), dict):
        image["pullPolicy"] = image.get("pullPolicy") or _pull_policy(image.get("reference") or "")


def _complete_field_source(source: JSONObject) -> None:
    """Set the divisor of a resource to 0, which a real server writes for 1."""
    if isinstance(resource := source.get("resourceFieldRef"), dict):
        resource["divisor"] = "0" if resource.get("divisor") is None else resource["divisor"]


_CONTAINER = (
    _complete_container,
    {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
)

DEFAULTS: Table = {
    "core.v1.Pod": (_complete_pod,),
    "core.v1.PodSpec": (
        {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "securityContext": {},
        },
        _complete_spec,
    ),
    "core.v1.Container": _CONTAINER,
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.ContainerPort": ({"protocol": "TCP"},),
    "core.v1.EnvVarSource": (_complete_field_source,),
    "core.v1.Probe": (_complete_probe,),
    "core.v1.GRPCAction": (lambda grpc: grpc.setdefault("service", ""),),
    "core.v1.HTTPGetAction": ({"path": "/", "scheme": "HTTP"},),
    "core.v1.ObjectFieldSelector": ({"apiVersion": "v1"},),
    "core.v1.Volume": (_complete_volume,),
    "core.v1.DownwardAPIVolumeFile": (_complete_field_source,),
    "core.v1.HostPathVolumeSource": (lambda source: source.setdefault("type", ""),),
    "core.v1.SecretVolumeSource": (_MODE,),
    "core.v1.ConfigMapVolumeSource": (_MODE,),
    "core.v1.DownwardAPIVolumeSource": (_MODE,),
    "core.v1.ProjectedVolumeSource": (_MODE,),
    "core.v1.ServiceAccountTokenProjection": ({"expirationSeconds": 3600},),
    "core.v1.ISCSIVolumeSource": ({"iscsiInterface": "default"},),
    "core.v1.RBDVolumeSource": ({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},),
    "core.v1.ScaleIOVolumeSource": ({"storageMode": "ThinProvisioned", "fsType": "xfs"},),
    "core.v1.AzureDiskVolumeSource": (
        {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    ),
    "core.v1.PersistentVolumeClaimSpec": ({"volumeMode": "Filesystem"},),
}
