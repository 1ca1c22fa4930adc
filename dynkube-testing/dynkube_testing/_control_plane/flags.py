"""Command lines of the servers of a control plane."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dynkube.errors import InvalidInput
from dynkube_testing._control_plane.ports import LOOPBACK

_SINGLE = (str, int, float, os.PathLike)
Value = str | int | float | bool | os.PathLike[str]
Flags = Mapping[str, "Value | Sequence[Value] | None"]
"""Flags by name, without dashes: a value; a list, to repeat the flag; or ``None``, to omit a default flag."""

# The advertised address (of the service `kubernetes`) must not be a loopback address. The default is the address of a
# network interface, and kube-apiserver does not start if there is none. Without nodes, nothing connects to it. So an
# address for documentation (RFC 5737) works, and is the same on every machine.
_ADVERTISED = "192.0.2.1"
_NAME = re.compile(r"[a-z0-9][a-zA-Z0-9.-]*\Z")

# Flags that users cannot set, and the reasons for the error message.
_OWN_OF_API_SERVER = {
    "secure-port": "pass ControlPlane(port=...)",
    "etcd-servers": "the control plane has an etcd of its own",
    "tls-cert-file": "its certificates are generated for each run",
    "tls-private-key-file": "its certificates are generated for each run",
    "client-ca-file": "add_user() creates users with certificates of this authority",
}
_OWN_OF_COMPONENT = {
    "authentication-kubeconfig": "it connects to the kube-apiserver of the control plane",
    "authorization-kubeconfig": "it connects to the kube-apiserver of the control plane",
    "kubeconfig": "it connects to the kube-apiserver of the control plane",
    "secure-port": "its port is chosen at each start",
}
_OWN_OF_ETCD = {
    "data-dir": "pass ControlPlane(folder=...)",
    "listen-client-urls": "its port is chosen at each start",
    "advertise-client-urls": "its port is chosen at each start",
}


def api_server_flags(
    version: tuple[int, int], folder: Path, *, port: int, etcd_url: str, given: Flags, controllers: bool = False
) -> list[str]:
    """Return kube-apiserver's arguments: envtest's defaults and the user's flags.

    The defaults enable RBAC and, without ``controllers``, disable the ServiceAccount admission plugin.

    Args:
        version: Major and minor version of kube-apiserver.
        folder: The folder of the control plane.
        port: The port for clients.
        etcd_url: The URL of etcd.
        given: The user's flags.
        controllers: Whether kube-controller-manager runs.
    """
    certificates = folder / "certificates"
    flags: dict[str, Value | Sequence[Value] | None] = {
        "advertise-address": _ADVERTISED,
        "allow-privileged": True,
        "authorization-mode": "RBAC",
        "bind-address": LOOPBACK,
        "cert-dir": str(certificates),
        "client-ca-file": str(certificates / "client-ca.crt"),
        # The plugin rejects all Pods in a namespace without a ServiceAccount `default`, which a controller creates.
        "disable-admission-plugins": None if controllers else "ServiceAccount",
        "etcd-servers": etcd_url,
        "secure-port": port,
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(certificates / "service-account.pub"),
        "service-account-signing-key-file": str(certificates / "service-account.key"),
        "service-cluster-ip-range": "10.0.0.0/16",
        "tls-cert-file": str(certificates / "kube-apiserver.crt"),
        "tls-private-key-file": str(certificates / "kube-apiserver.key"),
    }
    if (1, 0) <= version < (1, 20):  # a build without version information reports v0.0.0
        flags["insecure-port"] = 0  # enabled by default in these versions; the flag was removed in 1.24
    return _arguments(flags, given)


def controller_manager_flags(version: tuple[int, int], folder: Path, *, port: int, given: Flags) -> list[str]:
    """Return kube-controller-manager's arguments: those of a cluster set up by kubeadm, and the user's flags.

    Args:
        version: Major and minor version of kube-controller-manager.
        folder: The folder of the control plane.
        port: The port of its health checks and metrics.
        given: The user's flags.
    """
    certificates = folder / "certificates"
    flags: dict[str, Value | Sequence[Value] | None] = {
        **_component_flags("kube-controller-manager", version, certificates, port),
        "cluster-signing-cert-file": str(certificates / "client-ca.crt"),
        "cluster-signing-key-file": str(certificates / "client-ca.key"),
        "root-ca-file": str(certificates / "ca.crt"),
        "service-account-private-key-file": str(certificates / "service-account.key"),
        "use-service-account-credentials": True,  # each controller has the permissions that it has in a cluster
    }
    return _arguments(flags, given)


def scheduler_flags(version: tuple[int, int], folder: Path, *, port: int, given: Flags) -> list[str]:
    """Return kube-scheduler's arguments: those of a cluster set up by kubeadm, and the user's flags.

    Args:
        version: Major and minor version of kube-scheduler.
        folder: The folder of the control plane.
        port: The port of its health checks and metrics.
        given: The user's flags.
    """
    return _arguments(_component_flags("kube-scheduler", version, folder / "certificates", port), given)


def etcd_flags(version: tuple[int, ...], folder: Path, *, port: int, given: Flags) -> list[str]:
    """Return etcd's arguments: defaults for a single member and the user's flags.

    Args:
        version: The version of etcd.
        folder: The folder of the control plane.
        port: The port for clients.
        given: The user's flags.
    """
    url = f"http://{LOOPBACK}:{port}"
    flags: dict[str, Value | Sequence[Value] | None] = {
        "advertise-client-urls": url,
        "data-dir": str(folder / "etcd"),
        "listen-client-urls": url,
        "listen-peer-urls": f"http://{LOOPBACK}:0",  # any port, as there are no peers
    }
    if version >= (3, 4, 10):
        flags["unsafe-no-fsync"] = True  # data is lost only if the machine crashes
    return _arguments(flags, given)


def check_flags(*, api_server: Flags, etcd: Flags, controller_manager: Flags, scheduler: Flags) -> None:
    """Check the user's flags.

    Raises:
        InvalidInput: The name of a flag is malformed, the control plane sets the flag itself, or its value cannot be
            written on a command line.
    """
    for argument, flags, own in (
        ("api_server_flags", api_server, _OWN_OF_API_SERVER),
        ("etcd_flags", etcd, _OWN_OF_ETCD),
        ("controller_manager_flags", controller_manager, _OWN_OF_COMPONENT),
        ("scheduler_flags", scheduler, _OWN_OF_COMPONENT),
    ):
        for name, value in flags.items():
            if not _NAME.match(name):
                raise InvalidInput(f"{argument}: {name!r} is not the name of a flag; write it as {_bare(name)!r}")
            if name in own:
                raise InvalidInput(f"{argument}: {name} is set by the control plane itself: {own[name]}")
            if trouble := _unwritable(value):
                raise InvalidInput(f"{argument}: {name} {trouble}")


def _component_flags(
    name: str, version: tuple[int, int], certificates: Path, port: int
) -> dict[str, Value | Sequence[Value] | None]:
    """Return the flags that kube-controller-manager and kube-scheduler share.

    There is one of each, so they need no leader election, which would delay their start by some seconds.
    """
    kubeconfig = str(certificates / f"{name}.kubeconfig")
    flags: dict[str, Value | Sequence[Value] | None] = {
        "authentication-kubeconfig": kubeconfig,
        # Without it they log an error every ten seconds, as there is no CA of an aggregation proxy.
        "authentication-skip-lookup": True,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": LOOPBACK,
        "client-ca-file": str(certificates / "client-ca.crt"),
        "kubeconfig": kubeconfig,
        "leader-elect": False,
        "secure-port": port,
        "tls-cert-file": str(certificates / "kube-apiserver.crt"),
        "tls-private-key-file": str(certificates / "kube-apiserver.key"),
    }
    if (1, 0) <= version < (1, 24):
        flags["port"] = 0  # without TLS; a fixed port by default in these versions
    return flags


def _bare(name: str) -> str:
    return name.lstrip("-").split("=")[0].replace("_", "-")


def _unwritable(value: object) -> str:
    """Return why a value is invalid for a flag; ``""`` if it is valid."""
    if isinstance(value, Mapping):
        pairs = ",".join(f"{key}={_text(each)}" for key, each in value.items())
        return f"is a dict; write it as on the command line: {pairs!r}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return next((f"has in its list {_unfit(each)}" for each in value if not isinstance(each, _SINGLE)), "")
    return "" if value is None or isinstance(value, _SINGLE) else f"is given {_unfit(value)}"


def _unfit(value: object) -> str:
    return f"{value!r} ({type(value).__name__}); pass a string, a number, a bool, a path or a list of these"


def _arguments(defaults: Flags, given: Flags) -> list[str]:
    arguments = []
    for name, value in {**defaults, **given}.items():
        values = [] if value is None else [value] if isinstance(value, _SINGLE) else value
        arguments += [f"--{name}={_text(each)}" for each in values]
    return arguments


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
