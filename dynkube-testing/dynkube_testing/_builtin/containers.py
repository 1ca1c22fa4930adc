"""Validation of containers: ports, variables, mounts, probes, resources, security."""

from __future__ import annotations

import re

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.resourcechecks import check_resources
from dynkube_testing._builtin.typechecks import Rules, Table
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ONE_SOURCE = "may not have more than one field specified at a time"
_VARIABLE_HELP = "a valid environment variable name must consist only of printable ASCII characters other than '='"
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


# ── variables ─────────────────────────────────────────────────────────────────────────────────


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
_HANDLER = checks.only_one(_HANDLERS, "may not specify more than 1 handler type", "must specify a handler type")
_KEY: Rules = (("name", _check_object_name), ("key!", checks.config_key))

CHECKS: Table = {
    "core.v1.Container": _CONTAINER,
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.ContainerPort": (
        _check_port_name,
        ("containerPort!", checks.port),
        ("hostPort?", checks.port),
        ("protocol!", checks.one_of(*checks.PROTOCOLS)),
    ),
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
    "core.v1.SecurityContext": (
        ("runAsUser", checks.user_id),
        ("runAsGroup", checks.user_id),
        ("procMount?", checks.one_of("Default", "Unmasked")),
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
