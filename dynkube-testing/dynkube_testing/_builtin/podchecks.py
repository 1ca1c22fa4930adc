"""Validation of the specs of pods and pod templates."""

from __future__ import annotations

from dynkube_testing._builtin.containerchecks import check_containers
from dynkube_testing._builtin.findings import BuiltinFindings, given, indexed
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_ONE_DAY = 2147483647
_VOLUME_SOURCES = (
    "emptyDir",
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "flocker",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "storageos",
    "photonPersistentDisk",
    "projected",
    "portworxVolume",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
# The required field of a volume source, by type of volume.
_NAMED = {
    "secret": "secretName",
    "configMap": "name",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
}


def check_template(findings: BuiltinFindings, path: str, template: JSONObject) -> None:
    """Validate the labels and the spec of the pod template at ``path``."""
    findings.labels(f"{path}.labels", template["metadata"].get("labels"))
    check_pod_spec(findings, f"{path}.spec", template["spec"])
    if template["spec"].get("ephemeralContainers"):
        findings.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def check_pod_spec(findings: BuiltinFindings, path: str, spec: JSONObject) -> None:
    """Validate the pod spec at ``path``."""
    volumes = _check_volumes(findings, path, spec)
    check_containers(findings, path, spec, volumes)
    findings.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART)
    findings.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    findings.labels(f"{path}.nodeSelector", spec.get("nodeSelector"))
    user = (spec.get("securityContext") or {}).get("runAsUser")
    if user is not None and not 0 <= user <= _ONE_DAY:
        findings.invalid(f"{path}.securityContext.runAsUser", user, f"must be between 0 and {_ONE_DAY}, inclusive")
    findings.name(f"{path}.serviceAccountName", spec.get("serviceAccountName"))
    findings.name(f"{path}.nodeName", spec.get("nodeName"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _ONE_DAY:
        findings.invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_ONE_DAY}, inclusive")
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            findings.text(f"{path}.{field}", naming.label_problem(name), name)
    _check_tolerations(findings, path, spec)
    findings.name(f"{path}.priorityClassName", spec.get("priorityClassName"))
    _check_spread(findings, path, spec)


def _check_volumes(findings: BuiltinFindings, path: str, spec: JSONObject) -> set[str]:
    """Validate the volumes, and return their names."""
    names: set[str] = set()
    for at, volume in indexed(spec, path, "volumes"):
        sources = given(volume, _VOLUME_SOURCES)
        for extra in sources[1:]:
            findings.forbidden(f"{at}.{extra}", "may not specify more than 1 volume type")
        source = sources[0] if sources else ""
        field = _NAMED.get(source)
        if field and not volume[source].get(field):
            findings.required(f"{at}.{source}.{field}")
        name = volume.get("name") or ""
        if name in names and name:
            findings.duplicate(f"{at}.name", name)
        else:
            findings.label(f"{at}.name", name)
        names.add(name)
    return names


def _check_tolerations(findings: BuiltinFindings, path: str, spec: JSONObject) -> None:
    for at, toleration in indexed(spec, path, "tolerations"):
        key, operator, value = (toleration.get(field) or "" for field in ("key", "operator", "value"))
        if key:
            findings.text(f"{at}.key", naming.qualified_name_problem(key), key)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            findings.invalid(f"{at}.operator", operator, detail)
        effect = toleration.get("effect")
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            findings.invalid(f"{at}.effect", effect or "", detail)
        if operator == "Exists" and value:
            findings.invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
        elif operator in {"", "Equal"}:
            findings.text(f"{at}.operator", naming.label_value_problem(value), value)
        else:
            findings.one_of(f"{at}.operator", operator, _OPERATORS)
        findings.one_of(f"{at}.effect", effect, _EFFECTS, empty=True)


def _check_spread(findings: BuiltinFindings, path: str, spec: JSONObject) -> None:
    for at, constraint in indexed(spec, path, "topologySpreadConstraints"):
        if constraint.get("maxSkew", 0) <= 0:
            findings.invalid(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        if not constraint.get("topologyKey"):
            findings.required(f"{at}.topologyKey", "can not be empty")
        choices = ("DoNotSchedule", "ScheduleAnyway")
        findings.one_of(f"{at}.whenUnsatisfiable", constraint.get("whenUnsatisfiable"), choices)
