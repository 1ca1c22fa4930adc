"""The checks of the Pod Security Standards: what each finds in the metadata and spec of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from dynkube_testing._admission.amounts import containers_of
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted

# Why a pod is forbidden, and in which places; the second may be empty.
Finding: TypeAlias = tuple[str, str]
# A check of a pod's metadata and spec.
Check: TypeAlias = Callable[[JSONObject, JSONObject], Finding | None]

_ALL = ("initContainers", "containers", "ephemeralContainers")


def _securities(spec: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Yield the name and the securityContext of each container."""
    for container in containers_of(spec, _ALL):
        yield container["name"], container.get("securityContext") or {}


def _pod_security(spec: JSONObject) -> JSONObject:
    return spec.get("securityContext") or {}


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _listed(word: str, names: list[str]) -> str:
    return f"{_plural(word, len(names))} {_quoted(names)}"


def _setters(pod: bool, containers: list[str]) -> str:
    """Return who sets a wrong value: the pod, containers, or both; ``""`` if it is right."""
    return " and ".join([*(["pod"] if pod else []), *([_listed("container", containers)] if containers else [])])


# ── baseline ──────────────────────────────────────────────────────────────────────────────────


def app_armor(metadata: JSONObject, spec: JSONObject) -> Finding | None:
    """Find other AppArmor profiles than the runtime's and local ones."""

    def wrong(security: JSONObject) -> str | None:
        kind = (security.get("appArmorProfile") or {}).get("type")
        return None if kind in {None, "RuntimeDefault", "Localhost"} else str(kind)

    pod = wrong(_pod_security(spec))
    containers = {name: kind for name, security in _securities(spec) if (kind := wrong(security)) is not None}
    annotations = sorted(
        f"{key}={quoted(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith("container.apparmor.security.beta.kubernetes.io/")
        and value not in {"", "runtime/default"}
        and not value.startswith("localhost/")
    )
    setters = [text for text in (_setters(pod is not None, list(containers)),) if text]
    setters += [_plural("annotation", len(annotations))] if annotations else []
    values = [*sorted({*([pod] if pod is not None else []), *containers.values()}), *annotations]
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return (_plural("forbidden AppArmor profile", len(values)), detail) if setters else None


_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)


def _added(spec: JSONObject, allowed: frozenset[str]) -> str:
    """Return which containers add other capabilities than ``allowed``, or ``""``."""
    bad, found = [], set[str]()
    for name, security in _securities(spec):
        if others := set((security.get("capabilities") or {}).get("add") or ()) - allowed:
            bad.append(name)
            found |= others
    what = f"must not include {_quoted(sorted(found))} in securityContext.capabilities.add"
    return f"{_listed('container', bad)} {what}" if bad else ""


def capabilities(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find added capabilities beyond the default ones."""
    added = _added(spec, _DEFAULT_CAPABILITIES)
    return ("non-default capabilities", added) if added else None


def host_namespaces(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find the host's namespaces."""
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return ("host namespaces", ", ".join(used)) if used else None


def host_paths(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find hostPath volumes."""
    bad = [volume["name"] for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return ("hostPath volumes", _listed("volume", bad)) if bad else None


def host_ports(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find ports of the host."""
    bad, found = [], set[str]()
    for container in containers_of(spec, _ALL):
        if ports := {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}:
            bad.append(container["name"])
            found |= ports
    uses = "uses" if len(bad) == 1 else "use"
    detail = f"{_listed('container', bad)} {uses} {_plural('hostPort', len(found))} {', '.join(sorted(found))}"
    return ("hostPort", detail) if bad else None


def probe_hosts(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find hosts in probes and lifecycle handlers."""
    bad, found = set[str](), set[str]()
    for container in containers_of(spec, _ALL):
        lifecycle = container.get("lifecycle") or {}
        probes = (container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe"))
        for handler in (*probes, lifecycle.get("postStart"), lifecycle.get("preStop")):
            given = ((handler or {}).get(field) or {} for field in ("httpGet", "tcpSocket"))
            if hosts := {str(each["host"]) for each in given if each.get("host")}:
                bad.add(container["name"])
                found |= hosts
    uses = "uses" if len(bad) == 1 else "use"
    what = _plural("probe or lifecycle host", len(found))
    detail = f"{_listed('container', sorted(bad))} {uses} {what} {_quoted(sorted(found))}"
    return ("probe or lifecycle host", detail) if bad else None


def privileged(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find privileged containers."""
    bad = [name for name, security in _securities(spec) if security.get("privileged")]
    return ("privileged", f"{_listed('container', bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find other proc mounts than the default."""
    bad = {
        name: str(kind) for name, each in _securities(spec) if (kind := each.get("procMount")) not in {None, "Default"}
    }
    what = f"must not set securityContext.procMount to {_quoted(sorted(set(bad.values())))}"
    return ("procMount", f"{_listed('container', list(bad))} {what}") if bad else None


def selinux(types: frozenset[str], _: JSONObject, spec: JSONObject) -> Finding | None:
    """Find SELinux users, roles, and other types than ``types``."""
    wrong_types, fields = set[str](), set[str]()

    def is_wrong(security: JSONObject) -> bool:
        options = security.get("seLinuxOptions") or {}
        others = {options.get("type", "")} - types
        wrong_types.update(others)
        given = {field for field in ("user", "role") if options.get(field)}
        fields.update(given)
        return bool(others or given)

    pod = is_wrong(_pod_security(spec))
    setters = _setters(pod, [name for name, security in _securities(spec) if is_wrong(security)])
    data = [_listed("type", sorted(wrong_types))] if wrong_types else []
    data += [f"{field} may not be set" for field in ("user", "role") if field in fields]
    detail = f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    return ("seLinuxOptions", detail) if setters else None


_SECCOMP_POD, _SECCOMP_CONTAINER = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)


def seccomp_annotations(metadata: JSONObject, spec: JSONObject) -> Finding | None:
    """Find wrong seccomp annotations."""
    annotations = metadata.get("annotations") or {}
    keys = {_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{name}" for name, _ in _securities(spec))}
    bad = sorted(
        f"{key}={quoted(annotations[key])}"
        for key in keys & annotations.keys()
        if annotations[key] not in {"runtime/default", "docker/default"}
        and not annotations[key].startswith("localhost/")
    )
    return ("seccompProfile", f"forbidden {_plural('annotation', len(bad))} {', '.join(bad)}") if bad else None


def seccomp(_: JSONObject, spec: JSONObject, *, required: bool = False) -> Finding | None:
    """Find wrong seccomp profiles, and missing ones if they are ``required``."""

    def kind(security: JSONObject) -> str | None:
        profile = security.get("seccompProfile")
        return None if profile is None else str(profile.get("type", ""))

    pod, containers = kind(_pod_security(spec)), {name: kind(security) for name, security in _securities(spec)}
    fine = {None, "RuntimeDefault", "Localhost"}
    bad = {name: each for name, each in containers.items() if each not in fine}
    if setters := _setters(pod not in fine, list(bad)):
        values = {each for each in (pod, *bad.values()) if each is not None and each not in fine}
        return (
            "seccompProfile",
            f"{setters} must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}",
        )
    if required and pod is None and (unset := [name for name, each in containers.items() if each is None]):
        what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        return "seccompProfile", f"pod or {_listed('container', unset)} {what}"
    return None


def sysctls(allowed: frozenset[str], _: JSONObject, spec: JSONObject) -> Finding | None:
    """Find other sysctls than ``allowed``."""
    given = (each["name"] for each in _pod_security(spec).get("sysctls") or ())
    bad = [name for name in given if name not in allowed]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def host_process(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find Windows containers that are processes of the host."""

    def hosts(security: JSONObject) -> bool:
        return bool((security.get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(hosts(_pod_security(spec)), [name for name, security in _securities(spec) if hosts(security)])
    detail = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", detail) if setters else None


# ── restricted ────────────────────────────────────────────────────────────────────────────────


def escalation(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find containers that may escalate privileges."""
    bad = [name for name, security in _securities(spec) if security.get("allowPrivilegeEscalation") is not False]
    detail = f"{_listed('container', bad)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", detail) if bad else None


def dropped(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find containers that do not drop all capabilities."""
    keep = [
        name for name, each in _securities(spec) if "ALL" not in ((each.get("capabilities") or {}).get("drop") or ())
    ]
    details = [f'{_listed("container", keep)} must set securityContext.capabilities.drop=["ALL"]'] if keep else []
    details += [added] if (added := _added(spec, frozenset({"NET_BIND_SERVICE"}))) else []
    return ("unrestricted capabilities", "; ".join(details)) if details else None


_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)


def volumes(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find volumes other than those of Kubernetes' own objects and CSI."""
    kinds = {
        volume["name"]: next(
            (field for field, source in volume.items() if field != "name" and source is not None), "unknown"
        )
        for volume in spec.get("volumes") or ()
    }
    bad = {name: kind for name, kind in kinds.items() if kind not in _VOLUMES}
    uses, found = "uses" if len(bad) == 1 else "use", sorted(set(bad.values()))
    detail = f"{_listed('volume', list(bad))} {uses} {_listed('restricted volume type', found)}"
    return ("restricted volume types", detail) if bad else None


def non_root(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find containers that may run as root."""
    pod = _pod_security(spec).get("runAsNonRoot")
    containers = {name: security.get("runAsNonRoot") for name, security in _securities(spec)}
    if setters := _setters(pod is False, [name for name, value in containers.items() if value is False]):
        return "runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false"
    unset = [name for name, value in containers.items() if value is None] if not pod else []
    detail = f"pod or {_listed('container', unset)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", detail) if unset else None


def root_user(_: JSONObject, spec: JSONObject) -> Finding | None:
    """Find containers that run as root by its ID."""
    bad = [name for name, security in _securities(spec) if security.get("runAsUser") == 0]
    setters = _setters(_pod_security(spec).get("runAsUser") == 0, bad)
    return ("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None
