"""The Pod Security Standards: which checks each level of the policy has, in each of its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from dynkube_testing._admission import podsecurity_checks as checks
from dynkube_testing._admission.podsecurity_checks import Check, Finding
from dynkube_testing._calls.api import JSONObject


def _except_windows(check: Check) -> Check:
    return lambda metadata, spec: None if (spec.get("os") or {}).get("name") == "windows" else check(metadata, spec)


def _except_user_namespaces(check: Check) -> Check:
    return lambda metadata, spec: None if spec.get("hostUsers") is False else check(metadata, spec)


@dataclass(frozen=True, slots=True)
class _Versions:
    """The versions of a check, by the minor version of Kubernetes from which on they apply.

    Attributes:
        checks: The check from each minor version on.
        overrides: The baseline check that it replaces at the restricted level.
    """

    checks: Mapping[int, Check]
    overrides: str = ""

    def at(self, minor: int) -> Check | None:
        """Return the check of a version of the policy; ``None`` if it has none."""
        since = max((first for first in self.checks if first <= minor), default=None)
        return None if since is None else self.checks[since]


_TYPES_1_0: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SYSCTLS: Final = {
    0: "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start",
    27: "net.ipv4.ip_local_reserved_ports",
    29: "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
    "net.ipv4.tcp_keepalive_probes",
    32: "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
}
_SYSCTL_CHECKS: Final = {
    minor: partial(
        checks.sysctls, frozenset(" ".join(names for since, names in _SYSCTLS.items() if since <= minor).split())
    )
    for minor in _SYSCTLS
}
# In the order of a real server: sorted by their names there.
_BASELINE: Final = {
    "appArmorProfile": _Versions({0: checks.app_armor}),
    "capabilities_baseline": _Versions({0: checks.capabilities}),
    "hostNamespaces": _Versions({0: checks.host_namespaces}),
    "hostPathVolumes": _Versions({0: checks.host_paths}),
    "hostPorts": _Versions({0: checks.host_ports}),
    "hostProbesAndHostLifecycle": _Versions({34: checks.probe_hosts}),
    "privileged": _Versions({0: checks.privileged}),
    "procMount": _Versions({0: checks.proc_mount, 35: _except_user_namespaces(checks.proc_mount)}),
    "seLinuxOptions": _Versions(
        {0: partial(checks.selinux, _TYPES_1_0), 31: partial(checks.selinux, _TYPES_1_0 | {"container_engine_t"})}
    ),
    "seccompProfile_baseline": _Versions({0: checks.seccomp_annotations, 19: checks.seccomp}),
    "sysctls": _Versions(_SYSCTL_CHECKS),
    "windowsHostProcess": _Versions({0: checks.host_process}),
}
_REQUIRED_SECCOMP: Final = partial(checks.seccomp, required=True)
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": _Versions({8: checks.escalation, 25: _except_windows(checks.escalation)}),
    "capabilities_restricted": _Versions(
        {22: checks.dropped, 25: _except_windows(checks.dropped)}, "capabilities_baseline"
    ),
    "procMount_restricted": _Versions({35: checks.proc_mount}, "procMount"),
    "restrictedVolumes": _Versions({0: checks.volumes}, "hostPathVolumes"),
    "runAsNonRoot": _Versions({0: checks.non_root, 35: _except_user_namespaces(checks.non_root)}),
    "runAsUser": _Versions({23: checks.root_user, 35: _except_user_namespaces(checks.root_user)}),
    "seccompProfile_restricted": _Versions(
        {19: _REQUIRED_SECCOMP, 25: _except_windows(_REQUIRED_SECCOMP)}, "seccompProfile_baseline"
    ),
}
_LATEST: Final = 35


def findings(level: str, minor: int | None, metadata: JSONObject, spec: JSONObject) -> list[Finding]:
    """Return what a level of the policy forbids in a pod.

    Args:
        level: ``"privileged"``, ``"baseline"`` or ``"restricted"``.
        minor: The version of the policy, as the minor version of Kubernetes; ``None`` for the latest.
        metadata: The pod's metadata.
        spec: The pod's spec.
    """
    if level == "privileged":
        return []
    version = _LATEST if minor is None else min(minor, _LATEST)
    restricted = {name: each for name, each in _RESTRICTED.items() if level == "restricted" and each.at(version)}
    overridden = {each.overrides for each in restricted.values()}
    baseline = {name: each for name, each in _BASELINE.items() if name not in overridden}
    applied = (each.at(version) for each in (*baseline.values(), *restricted.values()))
    found = (check(metadata, spec) for check in applied if check is not None)
    return [each for each in found if each is not None]


def reasons(found: list[Finding]) -> str:
    """Return the reasons, without places."""
    return ", ".join(reason for reason, _ in found)


def details(found: list[Finding]) -> str:
    """Return the reasons with their places in parentheses."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)
