"""Validation of the specs of pods and pod templates."""

from __future__ import annotations

import re

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.containers import check_host_ports
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Table
from dynkube_testing._kinds import naming

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_SYSCTL = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_LENGTH = 253
_SWAPPED = str.maketrans("./", "/.")
_IPC = {
    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced", "kernel.shm",
    "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg",
}  # fmt: skip
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
_MOST_SERVERS, _MOST_SEARCHES, _MOST_CHARACTERS = 3, 32, 2048
_UNDERSCORES = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_UNDERSCORES_HELP = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_UNDERSCORES}')"
)


# ── Pod ───────────────────────────────────────────────────────────────────────────────────────


def _check_pod(pod: Field) -> None:
    """Check what is valid in a pod template, but not in a pod."""
    spec = pod.at("spec")
    if pod.creating and spec.get("ephemeralContainers"):
        spec.at("ephemeralContainers").forbidden("cannot be set on create")
    if not spec.get("serviceAccountName"):
        for volume in spec.each("volumes"):
            for source in volume.each("projected", "sources"):
                if source.get("serviceAccountToken") is not None:
                    detail = "must not be specified when serviceAccountName is not set"
                    source.at("serviceAccountToken").forbidden(detail)
    for container in (each for name in CONTAINER_LISTS for each in spec.each(name)):
        image = container.get("image") or ""
        if image != image.strip():
            container.at("image").invalid("must not have leading or trailing whitespace")


def check_pod_addresses(pod: Field) -> None:
    """Check the addresses in the status of a pod."""
    for item in pod.each("status", "podIPs"):
        if not checks.is_address(item.get("ip") or ""):
            item.invalid(checks.NO_ADDRESS, item.get("ip") or "")
    for item in list(pod.each("status", "hostIPs"))[:1]:
        if item.get("ip") != pod.get("status", "hostIP"):
            item.at("ip").invalid("must be equal to `hostIP`")


def _check_template(template: Field) -> None:
    checks.labels(template.at("metadata", "labels").renamed(f"{template.path}.labels"))
    template.at("spec").check()
    if template.get("spec", "ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        template.at("spec", "ephemeralContainers").forbidden(detail)


# ── PodSpec ───────────────────────────────────────────────────────────────────────────────────


def _check_host_network(spec: Field) -> None:
    check_host_ports(list(spec.each("containers")))
    pod = spec.owner is not None and spec.owner.type.endswith("core.v1.Pod")
    if not spec.get("hostNetwork"):
        return
    for port in (port for container in spec.each("containers") for port in container.each("ports")):
        own = port.get("hostPort") or 0
        if (pod or own) and own != (port.get("containerPort") or 0):
            port.at("hostPort").invalid("must match `containerPort` when `hostNetwork` is true", own)


def _check_sysctls(context: Field) -> None:
    spec = context.owner.value if context.owner is not None else {}
    for sysctl in context.each("sysctls"):
        name = sysctl.at("name")
        text = name.value or ""
        if not text:
            name.required()
        elif len(text) > _SYSCTL_LENGTH or not re.fullmatch(_SYSCTL, text):
            name.invalid(f"must have at most {_SYSCTL_LENGTH} characters and match regex ^{_SYSCTL}$")
        elif any(other.get("name") == text for other in sysctl.earlier()):
            name.duplicate()
        dotted = text.translate(_SWAPPED) if re.match("[^./]*/", text) else text
        if spec.get("hostNetwork") and dotted.startswith("net."):
            name.invalid("may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted in _IPC or dotted.startswith("fs.mqueue.")):
            name.invalid("may not be specified when 'hostIPC' is true")


def _check_shared_processes(context: Field) -> None:
    spec = context.owner
    if spec is not None and spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        context.at("shareProcessNamespace").invalid(detail, True)


def _check_dns(spec: Field) -> None:
    config = spec.at("dnsConfig")
    servers = config.at("nameservers")
    if spec.get("dnsPolicy") == "None":
        if config.value is None:
            config.required("must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers.value:
            servers.required("must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if config.value is not None:
        config.check()


def _check_searches(config: Field) -> None:
    servers, searches = config.at("nameservers"), config.at("searches")
    if len(servers.value or ()) > _MOST_SERVERS:
        servers.invalid(f"must not have more than {_MOST_SERVERS} nameservers")
    for index in range(len(servers.value or ())):
        checks.address(servers.item(index))
    if len(searches.value or ()) > _MOST_SEARCHES:
        searches.invalid(f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches.value or ())) > _MOST_CHARACTERS:
        searches.invalid(f"must not have more than {_MOST_CHARACTERS} characters (including spaces) in the search list")
    for index, search in enumerate(searches.value or ()):
        if search != "." and not re.fullmatch(_UNDERSCORES, text := search.removesuffix(".")):
            searches.item(index).invalid(_UNDERSCORES_HELP, text)
    for option in config.each("options"):
        if not option.get("name"):
            option.required("must not be empty")


def _check_gates(spec: Field) -> None:
    for gate in spec.each("schedulingGates"):
        name = gate.get("name") or ""
        for problem in naming.qualified_name_problems(name):
            gate.invalid(problem, name)
        if any(other.get("name") == name for other in gate.earlier()):
            gate.duplicate(name)


def _check_toleration(toleration: Field) -> None:
    key, operator, value = (toleration.get(field) or "" for field in ("key", "operator", "value"))
    if key:
        checks.qualified_name(toleration.at("key"))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        toleration.at("operator").invalid(detail, operator)
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        toleration.at("effect").invalid(detail, toleration.get("effect") or "")
    match operator:
        case "Exists":
            detail = "value must be empty when `operator` is 'Exists'"
            toleration.at("operator").invalid(detail if value else "", value)
        case "" | "Equal":
            toleration.at("operator").invalid(naming.label_value_problem(value), value)
        case _:
            # The comparing operators belong to a feature that is disabled by default.
            comparing = ("Lt", "Gt") if operator in {"Lt", "Gt"} else ()
            toleration.at("operator").unsupported(("Equal", "Exists", *comparing))


def _check_repeated(constraint: Field) -> None:
    """Check that no later constraint has the same key and action."""
    key, action = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
    others = (constraint.owner.get(constraint.name) if constraint.owner is not None else [])[constraint.index + 1 :]
    if any((other.get("topologyKey"), other.get("whenUnsatisfiable")) == (key, action) for other in others):
        field = constraint.renamed(f"{constraint.path}.{{topologyKey, whenUnsatisfiable}}")
        field.duplicate(f"{{{key}, {action}}}")


def _check_domains(constraint: Field) -> None:
    domains, action = constraint.at("minDomains"), constraint.get("whenUnsatisfiable") or ""
    if domains.value is not None:
        checks.at_least(1, "must be greater than zero")(domains)
        if action != "DoNotSchedule":
            domains.invalid(f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


def _check_namespaces(term: Field) -> None:
    for name in term.get("namespaces") or ():
        term.renamed(f"{term.path}.namespace").invalid(naming.label_problem(name), name)


def _check_topology_key(term: Field) -> None:
    if not term.get("topologyKey"):
        term.at("topologyKey").required("can not be empty")
    checks.qualified_name(term.at("topologyKey"))


_WEIGHT = checks.between(1, 100, "must be in the range 1-100")
_AFFINITY = (_REQUIRED_TERMS, _PREFERRED_TERMS)

CHECKS: Table = {
    "core.v1.Pod": ("spec", _check_pod),
    "core.v1.PodTemplate": ("template",),
    "core.v1.PodTemplateSpec": (_check_template,),
    "core.v1.PodSpec": (
        "volumes",
        "resourceClaims",
        "containers!",
        "initContainers",
        "ephemeralContainers",
        _check_host_network,
        ("restartPolicy!", checks.one_of("Always", "OnFailure", "Never")),
        ("dnsPolicy!", checks.one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")),
        ("nodeSelector", checks.labels),
        "securityContext",
        "affinity",
        _check_dns,
        "readinessGates",
        _check_gates,
        "topologySpreadConstraints",
        ("serviceAccountName?", checks.subdomain),
        ("nodeName?", checks.subdomain),
        ("activeDeadlineSeconds", checks.between(1, 2**31 - 1)),
        ("hostname?", checks.label),
        ("subdomain?", checks.label),
        "tolerations",
        "hostAliases",
        ("priorityClassName?", checks.subdomain),
        ("runtimeClassName?", checks.subdomain),
        ("preemptionPolicy?", checks.one_of("PreemptLowerPriority", "Never")),
    ),
    "core.v1.PodSecurityContext": (
        ("fsGroup", checks.user_id),
        ("runAsUser", checks.user_id),
        ("runAsGroup", checks.user_id),
        ("supplementalGroups[]", checks.user_id),
        _check_shared_processes,
        _check_sysctls,
        ("fsGroupChangePolicy?", checks.one_of("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy?", checks.one_of("Merge", "Strict")),
        ("seLinuxChangePolicy?", checks.one_of("MountOption", "Recursive")),
    ),
    "core.v1.PodDNSConfig": (_check_searches,),
    "core.v1.PodReadinessGate": (("conditionType", checks.qualified_name),),
    "core.v1.Affinity": ("nodeAffinity", "podAffinity", "podAntiAffinity"),
    "core.v1.NodeAffinity": _AFFINITY,
    "core.v1.PodAffinity": _AFFINITY,
    "core.v1.PodAntiAffinity": _AFFINITY,
    "core.v1.PreferredSchedulingTerm": (("weight", _WEIGHT), "preference"),
    "core.v1.WeightedPodAffinityTerm": (("weight", _WEIGHT), "podAffinityTerm"),
    "core.v1.PodAffinityTerm": ("labelSelector", "namespaceSelector", _check_namespaces, _check_topology_key),
    "core.v1.TopologySpreadConstraint": (
        ("maxSkew", checks.at_least(1, "must be greater than zero")),
        ("topologyKey", checks.required("can not be empty")),
        ("whenUnsatisfiable", checks.one_of("DoNotSchedule", "ScheduleAnyway")),
        _check_repeated,
        _check_domains,
        ("nodeAffinityPolicy?", checks.one_of("Honor", "Ignore")),
        ("nodeTaintsPolicy?", checks.one_of("Honor", "Ignore")),
        "labelSelector",
    ),
    "core.v1.Toleration": (_check_toleration, ("effect?", checks.one_of(*EFFECTS))),
    "core.v1.HostAlias": (("ip", checks.address), ("hostnames[]", checks.subdomain)),
    "core.v1.Taint": (
        ("key", checks.qualified_name),
        ("value", checks.label_value),
        ("effect!", checks.one_of(*EFFECTS)),
    ),
}
