"""Validation of the containers of a pod."""

from __future__ import annotations

import re

from dynkube_testing._builtin.findings import BuiltinFindings, given, indexed
from dynkube_testing._builtin.resourcechecks import check_resources
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_VARIABLE_HELP = "a valid environment variable name must consist only of printable ASCII characters other than '='"


_IDS = range(2**31)
# The fields of a security context by Go name, in the order of the Go struct.
_SECURITY = (
    "Capabilities",
    "Privileged",
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "ReadOnlyRootFilesystem",
    "AllowPrivilegeEscalation",
    "ProcMount",
    "SeccompProfile",
    "AppArmorProfile",
)


def check_containers(findings: BuiltinFindings, path: str, spec: JSONObject, volumes: set[str]) -> None:
    """Validate the containers, init containers and ephemeral containers of a pod spec.

    ``volumes`` are the names of the volumes that containers may mount.
    """
    if not spec.get("containers"):
        findings.required(f"{path}.containers")
    names: set[str] = set()
    host_ports: set[str] = set()
    for at, container in indexed(spec, path, "containers"):
        _check_container(findings, at, container, volumes, names)
        _check_host_ports(findings, at, container, host_ports)
    for field in ("initContainers", "ephemeralContainers"):
        for at, container in indexed(spec, path, field):
            _check_container(findings, at, container, volumes, names)


def check_images(findings: BuiltinFindings, path: str, spec: JSONObject) -> None:
    """Validate the images of a pod. A real server does not check those of templates."""
    for field in ("containers", "initContainers", "ephemeralContainers"):
        for at, container in indexed(spec, path, field):
            image = container.get("image") or ""
            if image != image.strip():
                findings.invalid(f"{at}.image", image, "must not have leading or trailing whitespace")


def _check_container(
    findings: BuiltinFindings, at: str, container: JSONObject, volumes: set[str], names: set[str]
) -> None:
    name = container.get("name") or ""
    findings.label(f"{at}.name", name)
    if not container.get("image"):
        findings.required(f"{at}.image")
    _check_ports(findings, at, container)
    _check_variables(findings, at, container)
    _check_mounts(findings, at, container, volumes)
    findings.one_of(f"{at}.imagePullPolicy", container.get("imagePullPolicy"), _POLICIES)
    check_resources(findings, f"{at}.resources", container.get("resources") or {})
    _check_security(findings, f"{at}.securityContext", container.get("securityContext") or {})
    if name in names and name:
        findings.duplicate(f"{at}.name", name)
    names.add(name)
    for probe_name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(probe := container.get(probe_name), dict):
            _check_probe(findings, f"{at}.{probe_name}", probe, once=probe_name != "readinessProbe")


def _check_security(findings: BuiltinFindings, path: str, context: JSONObject) -> None:
    for field in ("runAsUser", "runAsGroup"):
        number = context.get(field)
        if number is not None and number not in _IDS:
            findings.invalid(f"{path}.{field}", number, f"must be between 0 and {_IDS[-1]}, inclusive")
    if context.get("allowPrivilegeEscalation") is False and context.get("privileged"):
        shown = {name: context.get(name[:1].lower() + name[1:]) for name in _SECURITY}
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        findings.invalid(path, shown, detail)


def _check_ports(findings: BuiltinFindings, at: str, container: JSONObject) -> None:
    names: set[str] = set()
    for path, port in indexed(container, at, "ports"):
        if name := port.get("name"):
            problem = naming.port_name_problem(name)
            findings.text(f"{path}.name", problem, name)
            if not problem and name in names:
                findings.duplicate(f"{path}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            findings.required(f"{path}.containerPort")
        else:
            findings.port(f"{path}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            findings.port(f"{path}.hostPort", port["hostPort"])
        findings.one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)


def _check_host_ports(findings: BuiltinFindings, at: str, container: JSONObject, taken: set[str]) -> None:
    for path, port in indexed(container, at, "ports"):
        if number := port.get("hostPort"):
            key = f"{port.get('protocol')}/{port.get('hostIP', '')}/{number}"
            if key in taken:
                findings.duplicate(f"{path}.hostPort", key)
            taken.add(key)


def _check_variables(findings: BuiltinFindings, at: str, container: JSONObject) -> None:
    for path, variable in indexed(container, at, "env"):
        name = variable.get("name") or ""
        if not name:
            findings.required(f"{path}.name")
        elif not re.fullmatch("[ -<>-~]+", name):
            findings.invalid(f"{path}.name", name, _VARIABLE_HELP)
        source = variable.get("valueFrom")
        if not isinstance(source, dict):
            continue
        chosen = given(source, _SOURCES)
        for reference in ("configMapKeyRef", "secretKeyRef"):
            if reference in chosen and not source[reference].get("key"):
                findings.required(f"{path}.valueFrom.{reference}.key")
        if not chosen:
            detail = (
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            )
            findings.invalid(f"{path}.valueFrom", "", detail)
        elif variable.get("value"):
            findings.invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
        elif len(chosen) > 1:
            findings.invalid(f"{path}.valueFrom", "", "may not have more than one field specified at a time")


def _check_mounts(findings: BuiltinFindings, at: str, container: JSONObject, volumes: set[str]) -> None:
    paths: set[str] = set()
    for path, mount in indexed(container, at, "volumeMounts"):
        name, where = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            findings.required(f"{path}.name")
        elif name not in volumes:
            findings.not_found(f"{path}.name", name)
        if not where:
            findings.required(f"{path}.mountPath")
        elif where in paths:
            findings.invalid(f"{path}.mountPath", where, "must be unique")
        paths.add(where)


def _check_probe(findings: BuiltinFindings, path: str, probe: JSONObject, *, once: bool) -> None:
    """Validate a probe; with ``once``, its success threshold must be 1."""
    chosen = given(probe, _HANDLERS)
    for extra in chosen[1:]:
        findings.forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
    if not chosen:
        findings.required(path, "must specify a handler type")
    for name in chosen[:1]:
        handler = probe[name]
        if name == "exec" and not handler.get("command"):
            findings.required(f"{path}.exec.command")
        elif name != "exec":
            findings.port_or_name(f"{path}.{name}.port", handler.get("port", 0))
    findings.not_negative(probe, path, *_COUNTS)
    if once and probe.get("successThreshold", 1) != 1:
        findings.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
