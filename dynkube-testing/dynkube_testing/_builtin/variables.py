"""Validation of environment variables, and of references to fields and resources, which volumes have too."""

from __future__ import annotations

import re

from dynkube_testing._builtin import checks, typechecks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Rules
from dynkube_testing._kinds import naming

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ONE_SOURCE = "may not have more than one field specified at a time"
_VARIABLE_HELP = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_POD_FIELDS = {
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
}  # fmt: skip
_IN_VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_IN_VOLUMES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
VARIABLE = checks.matching(lambda name: "" if re.fullmatch("[ -<>-~]+", name) else _VARIABLE_HELP)


def _check_source(variable: Field) -> None:
    source = variable.at("valueFrom")
    if source.value is None:
        return
    source.check()
    if not (chosen := source.given(_SOURCES)):
        source.invalid(_NO_SOURCE, "")
    elif variable.get("value"):
        source.invalid("may not be specified when `value` is not empty", "")
    elif len(chosen) > 1:
        source.invalid(_ONE_SOURCE, "")


def _check_object_name(name: Field) -> None:
    name.invalid(naming.subdomain_problem(name.value or ""), name.value or "")


def _check_env_from(source: Field) -> None:
    chosen, around = source.given(("configMapRef", "secretRef")), source.renamed(source.path.rpartition("[")[0])
    if not chosen:
        around.invalid("must specify one of: `configMapRef` or `secretRef`", "")
    elif len(chosen) > 1:
        around.invalid(_ONE_SOURCE, "")


def check_field_path(reference: Field) -> None:
    """Check a reference to a field of the pod, in a variable or a file of a volume."""
    field, path = reference.at("fieldPath"), reference.get("fieldPath") or ""
    if not path:
        field.required()
        return
    base, bracket, key = path.removesuffix("']").partition("['")
    subscripted = bool(base and bracket) and path.endswith("']")
    problem = _label_problem(reference.get("apiVersion"), base if subscripted else path, path, subscripted)
    if problem:
        field.invalid(f"error converting fieldPath: {problem}", path)
    elif subscripted:
        key = key.lower() if base == "metadata.annotations" else key
        for text in naming.qualified_name_problems(key):
            reference.invalid(text, key)
    else:
        field.one_of(_supported(reference), path)


def _label_problem(version: object, base: str, path: str, subscripted: bool) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted and base not in {"metadata.annotations", "metadata.labels"}:
        return f"field label does not support subscript: {path}"
    return "" if base in _POD_FIELDS else f"field label not supported: {path}"


def _supported(reference: Field) -> tuple[str, ...]:
    variable = reference.owner is not None and reference.owner.type.endswith("EnvVarSource")
    return _IN_VARIABLES if variable else _IN_VOLUMES


def check_resource_field(reference: Field) -> None:
    """Check a reference to a resource of a container, in a variable or a file of a volume."""
    resource = reference.get("resource") or ""
    in_volume = reference.owner is not None and not reference.owner.type.endswith("EnvVarSource")
    if in_volume and not reference.get("containerName"):
        reference.at("containerName").required()
    elif not resource:
        reference.at("resource").required()
    elif not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        reference.at("resource").one_of(_RESOURCES)


_KEY: Rules = (("name", _check_object_name), ("key!", checks.config_key))
CHECKS: typechecks.Table = {
    "core.v1.EnvVar": (("name!", VARIABLE), _check_source),
    "core.v1.EnvVarSource": _SOURCES,
    "core.v1.ConfigMapKeySelector": _KEY,
    "core.v1.SecretKeySelector": _KEY,
    "core.v1.FileKeySelector": (("key!", VARIABLE), ("volumeName!", checks.label), ("path!", checks.no_backsteps)),
    "core.v1.ObjectFieldSelector": (check_field_path,),
    "core.v1.ResourceFieldSelector": (check_resource_field,),
    "core.v1.EnvFromSource": (("prefix?", VARIABLE), "configMapRef", "secretRef", _check_env_from),
    "core.v1.ConfigMapEnvSource": (("name!", checks.subdomain),),
    "core.v1.SecretEnvSource": (("name!", checks.subdomain),),
}
