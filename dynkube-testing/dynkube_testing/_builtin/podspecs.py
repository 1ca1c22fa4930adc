"""Defaults of the specs of pods, pod templates and claims."""

from __future__ import annotations

import re

from dynkube_testing._builtin.findings import fill, items, section
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import normalize

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def complete_template(owner: JSONObject) -> None:
    """Set the defaults of the pod template in ``owner``."""
    template = section(owner, "template")
    section(template, "metadata")
    complete_pod_spec(section(template, "spec"))


def complete_pod_spec(spec: JSONObject) -> None:
    """Set the defaults of a pod spec."""
    fill(spec, restartPolicy="Always", terminationGracePeriodSeconds=30, dnsPolicy="ClusterFirst")
    fill(spec, schedulerName="default-scheduler")
    section(spec, "securityContext")
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field in CONTAINER_LISTS:
        for container in items(spec, field):
            _complete_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in items(spec, "volumes"):
        _complete_volume(volume)
    normalize(spec, "overhead")
    if "resources" in spec:
        normalize(spec["resources"], "limits", "requests")


def _complete_container(container: JSONObject, *, host_network: bool) -> None:
    fill(container, imagePullPolicy=_pull_policy(container.get("image") or ""))
    fill(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
    normalize(section(container, "resources"), "limits", "requests")
    for port in items(container, "ports"):
        fill(port, protocol="TCP")
        if host_network:
            fill(port, hostPort=port.get("containerPort"))
    for variable in items(container, "env"):
        source = variable.get("valueFrom")
        if isinstance(source, dict):
            _complete_field_ref(source)
    for name in PROBES:
        if isinstance(probe := container.get(name), dict):
            _complete_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _complete_http_get(hook)


def _pull_policy(image: str) -> str:
    """Return the default pull policy of an image.

    It is ``Always`` for an image that may change: one with the tag ``latest`` or without a tag or digest.
    """
    if "@" in image:
        return "IfNotPresent"
    tag = re.search(r":([^/:]+)$", image)
    return "Always" if tag is None or tag[1] == "latest" else "IfNotPresent"


def _complete_probe(probe: JSONObject) -> None:
    fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    for name in ("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        if probe[name] == 0:
            probe[name] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1}.get(name, 3)
    _complete_http_get(probe)
    if isinstance(grpc := probe.get("grpc"), dict):
        grpc.setdefault("service", "")


def _complete_http_get(handler: JSONObject) -> None:
    if isinstance(get := handler.get("httpGet"), dict):
        fill(get, path="/", scheme="HTTP")


def _complete_field_ref(owner: JSONObject) -> None:
    if isinstance(reference := owner.get("fieldRef"), dict):
        fill(reference, apiVersion="v1")
    if isinstance(reference := owner.get("resourceFieldRef"), dict):
        fill(reference, divisor="0")
        normalize(reference, "divisor")


_MODES = ("secret", "configMap", "projected", "downwardAPI")


def _complete_volume(volume: JSONObject) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
    for kind in _MODES:
        if isinstance(source := volume.get(kind), dict):
            fill(source, defaultMode=0o644)
    if isinstance(host_path := volume.get("hostPath"), dict):
        host_path.setdefault("type", "")
    if isinstance(empty := volume.get("emptyDir"), dict):
        normalize(empty, "sizeLimit")
    for item in items(volume.get("downwardAPI") or {}, "items"):
        _complete_field_ref(item)
    for source in items(volume.get("projected") or {}, "sources"):
        if isinstance(token := source.get("serviceAccountToken"), dict):
            fill(token, expirationSeconds=3600)
        for item in items(source.get("downwardAPI") or {}, "items"):
            _complete_field_ref(item)
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if isinstance(claim, dict):
        complete_claim_spec(section(claim, "spec"))


def complete_claim_spec(spec: JSONObject) -> None:
    """Set the defaults of the spec of a PersistentVolumeClaim or a claim template."""
    fill(spec, volumeMode="Filesystem")
    normalize(section(spec, "resources"), "limits", "requests")
