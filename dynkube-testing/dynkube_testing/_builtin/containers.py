"""Validation of containers: ports, mounts, probes, resources, security."""

from __future__ import annotations

import re

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.resourcechecks import check_resources
from dynkube_testing._builtin.typechecks import Rules, Table
from dynkube_testing._calls.api import JSONObject

_HEADER_HELP = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NOT_RESTARTED = "may not be set for init containers without restartPolicy=Always"
# Fields of an ephemeral container that a real server rejects, in the order of the Go struct.
_NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip
# The fields of a security context by Go name, in the order of the Go struct.
_SECURITY = (
    "Capabilities", "Privileged", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot",
    "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation", "ProcMount", "SeccompProfile", "AppArmorProfile",
)  # fmt: skip


# ── mounts, ports, resources ──────────────────────────────────────────────────────────────────


def valid_volumes(spec: Field) -> dict[str, JSONObject]:
    """Return the volumes of a pod spec by name, without those in which violations have been found."""
    wrong = [cause.field for cause in spec.causes if cause.field.startswith(f"{spec.path}.volumes[")]
    valid = (each for each in spec.each("volumes") if not any(field.startswith(each.path) for field in wrong))
    return {each.get("name"): each.value for each in valid}


def _check_mounts(container: Field) -> None:
    volumes = valid_volumes(container.above("PodSpec")) if container.get("volumeMounts") else {}
    devices = {item.get("name"): item.get("devicePath") for item in container.get("volumeDevices") or ()}
    paths: set[str] = set()
    for mount in container.each("volumeMounts"):
        name, where, around = mount.get("name") or "", mount.get("mountPath") or "", f"{container.path}.volumeMounts"
        if not name:
            mount.at("name").required()
        if name not in volumes:
            mount.at("name").not_found()
        if not where:
            mount.at("mountPath").required()
        if where in paths:
            mount.at("mountPath").invalid("must be unique", where)
        paths.add(where)
        if name in devices:
            mount.at("name").invalid("must not already exist in volumeDevices")
        if where in devices.values():
            mount.at("mountPath").invalid("must not already exist as a path in volumeDevices")
        for field in ("subPath", "subPathExpr"):
            if field == "subPathExpr" and mount.get(field) and mount.get("subPath"):
                mount.at(field).invalid("subPathExpr and subPath are mutually exclusive")
            descending(mount.at(field).renamed(f"{around}.{field}"))
        _check_propagation(container, mount)


def _check_propagation(container: Field, mount: Field) -> None:
    field = mount.at("mountPropagation").renamed(f"{container.path}.volumeMounts.mountPropagation")
    if field.value is None:
        return
    field.one_of(("Bidirectional", "HostToContainer", "None"))
    if field.value == "Bidirectional" and not container.get("securityContext", "privileged"):
        field.forbidden("Bidirectional mount propagation is available only to privileged containers")


def descending(field: Field) -> None:
    """Check that a path, if present, is relative and has no element ``..``."""
    if str(field.value or "").startswith("/"):
        field.invalid("must be a relative path")
    checks.no_backsteps(field)


def _check_devices(container: Field) -> None:
    if not container.get("volumeDevices"):
        return
    volumes = valid_volumes(container.above("PodSpec"))
    for device in container.each("volumeDevices"):
        name, path = device.at("name"), device.at("devicePath")
        volume = volumes.get(name.value)
        if volume is None:
            name.not_found()
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            name.invalid("can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
        if not path.value:
            path.required()
        elif any(other.get("devicePath") == path.value for other in device.earlier()):
            path.invalid("must be unique")


def _check_port_name(port: Field) -> None:
    before = len(port.causes)
    if port.get("name"):
        checks.port_name(port.at("name"))
        if len(port.causes) == before:
            checks.unique("name")(port)


def check_host_ports(containers: list[Field]) -> None:
    """Check that no two of ``containers`` use the same port of the host."""
    taken: set[str] = set()
    for port in (port for container in containers for port in container.each("ports")):
        if number := port.get("hostPort"):
            key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{number}"
            if key in taken:
                port.at("hostPort").duplicate(key)
            taken.add(key)


def _check_resize_policies(container: Field) -> None:
    """Check the policies; as in a real server, most causes have no index."""
    path, never = f"{container.path}.resizePolicy", container.above("PodSpec").get("restartPolicy") == "Never"
    for policy in container.each("resizePolicy"):
        name, restart = policy.at("resourceName").renamed(path), policy.at("restartPolicy").renamed(path)
        if any(other.get("resourceName") == name.value for other in policy.earlier()):
            policy.duplicate(name.value)
        for field, values in ((name, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            field.one_of(values) if field.value else field.required()
        if never and restart.value != "NotRequired":
            restart.invalid("must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _check_escalation(context: Field) -> None:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    shown = {name: context.get(name[:1].lower() + name[1:]) for name in _SECURITY}
    if (capabilities := shown["Capabilities"]) is not None:
        shown["Capabilities"] = {"Add": capabilities.get("add"), "Drop": capabilities.get("drop")}
    if context.get("privileged"):
        context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true", shown)
    if "CAP_SYS_ADMIN" in (context.get("capabilities", "add") or ()):
        context.invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN", shown)


# ── types of containers ───────────────────────────────────────────────────────────────────────


def _check_own(container: Field) -> None:
    """Check what depends on the list that a container is in."""
    match container.name:
        case "containers":
            _check_name(container, [])
            _check_handlers(container)
            _check_restart_rules(container)
        case "initContainers":
            _check_restart_rules(container)
            _check_name(container, ["containers"])
            check_host_ports([container])
            if container.get("restartPolicy") == "Always":
                _check_handlers(container)
            else:
                for name in container.given(("lifecycle", *_PROBES)):
                    container.at(name).forbidden(_NOT_RESTARTED)
        case "ephemeralContainers":
            _check_name(container, ["containers", "initContainers"])
            _check_ephemeral(container)


def _check_name(container: Field, lists: list[str]) -> None:
    """Check that the name differs from those of earlier containers and of those in ``lists``."""
    spec = container.above("PodSpec")
    others = [*(other for name in lists for other in spec.get(name) or ()), *container.earlier()]
    if container.get("name") and any(other.get("name") == container.get("name") for other in others):
        container.at("name").duplicate()


def _check_ephemeral(container: Field) -> None:
    spec, target = container.above("PodSpec"), container.at("targetContainerName")
    names = {other.get("name") for name in ("containers", "initContainers") for other in spec.get(name) or ()}
    if target.value and target.value not in names:
        target.not_found()
    for name in _NOT_EPHEMERAL:
        checks.forbidden("cannot be set for an Ephemeral Container")(container.at(name))


def _check_handlers(container: Field) -> None:
    for name in ("lifecycle", *_PROBES):
        if container.get(name) is not None:
            container.at(name).check()
        if name in {"livenessProbe", "startupProbe"} and container.get(name) is not None:
            checks.only("must be 1", 1, None)(container.at(name, "successThreshold"))
    if container.get("readinessProbe", "terminationGracePeriodSeconds") is not None:
        container.at("readinessProbe", "terminationGracePeriodSeconds").invalid("must not be set for readinessProbes")


def _check_restart_rules(container: Field) -> None:
    policy, rules = container.at("restartPolicy"), container.at("restartPolicyRules")
    if policy.value is not None:
        policy.one_of(("Always", "Never", "OnFailure"))
    elif rules.value:
        policy.required("must specify restartPolicy when restart rules are used")
    checks.at_most(20)(rules)
    rules.check()


def _check_sleep(action: Field) -> None:
    grace, seconds = action.above("PodSpec").get("terminationGracePeriodSeconds"), action.get("seconds") or 0
    if grace is not None and not 0 <= seconds <= grace:
        action.invalid(f"must be non-negative and less than terminationGracePeriodSeconds ({grace})", seconds)


def _check_headers(action: Field) -> None:
    for header in action.each("httpHeaders"):
        if not re.fullmatch("[-A-Za-z0-9]+", name := header.get("name") or ""):
            action.at("httpHeaders").invalid(_HEADER_HELP, name)


_CONTAINER: Rules = (
    ("name!", checks.label),
    "image!",
    ("terminationMessagePolicy!", checks.one_of("File", "FallbackToLogsOnError")),
    "ports",
    "env",
    "envFrom",
    _check_mounts,
    _check_devices,
    ("imagePullPolicy!", checks.one_of("Always", "IfNotPresent", "Never")),
    ("resources", check_resources),
    _check_resize_policies,
    "securityContext",
    _check_own,
)


def _check_unmasked(mount: Field) -> None:
    if mount.value == "Unmasked" and mount.above("PodSpec").get("hostUsers") is not False:
        mount.invalid("`hostUsers` must be false to use `Unmasked`")


_HANDLER = checks.only_one(_HANDLERS, "may not specify more than 1 handler type", "must specify a handler type")

CHECKS: Table = {
    "core.v1.Container": _CONTAINER,
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.ContainerPort": (
        _check_port_name,
        ("containerPort!", checks.port),
        ("hostPort?", checks.port),
        ("protocol!", checks.one_of(*checks.PROTOCOLS)),
    ),
    "core.v1.SecurityContext": (
        ("runAsUser", checks.user_id),
        ("runAsGroup", checks.user_id),
        ("procMount?", checks.one_of("Default", "Unmasked"), _check_unmasked),
        _check_escalation,
    ),
    "core.v1.Probe": (
        _HANDLER,
        ("initialDelaySeconds", checks.not_negative),
        ("timeoutSeconds", checks.not_negative),
        ("periodSeconds", checks.not_negative),
        ("successThreshold", checks.not_negative),
        ("failureThreshold", checks.not_negative),
        ("terminationGracePeriodSeconds", checks.at_least(1, "must be greater than 0")),
    ),
    "core.v1.Lifecycle": ("postStart", "preStop"),
    "core.v1.LifecycleHandler": (_HANDLER,),
    "core.v1.ExecAction": ("command!",),
    "core.v1.HTTPGetAction": (
        "path!",
        ("port", checks.port_or_name),
        ("scheme", checks.one_of("HTTP", "HTTPS")),
        _check_headers,
    ),
    "core.v1.TCPSocketAction": (("port", checks.port_or_name),),
    "core.v1.GRPCAction": (("port", checks.port),),
    "core.v1.SleepAction": (_check_sleep,),
    "core.v1.ContainerRestartRule": (
        ("action", checks.one_of("Restart", "RestartAllContainers")),
        ("exitCodes", checks.required("must be specified")),
    ),
    "core.v1.ContainerRestartRuleOnExitCodes": (
        ("operator", checks.one_of("In", "NotIn")),
        ("values", checks.at_most(255)),
    ),
}
