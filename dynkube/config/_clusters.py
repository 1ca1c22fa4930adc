"""The ``cluster`` section of a kubeconfig: address, CA, proxy.

Also its form for exec plugins.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime

from dynkube.config._entries import KubeconfigEntry
from dynkube.config._tls import TLSSettings
from dynkube.errors import ConfigError

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def read_server(cluster: KubeconfigEntry, *, secure: bool) -> str:
    """Return the server URL.

    Without a scheme it gets client-go's default: https if TLS is configured (``secure``), else http.

    Raises:
        ConfigError: the address is missing.
    """
    server = cluster.text("server").strip()
    if not server:
        raise cluster.error("server", "is missing: set it to the address of the API server, https://HOST:PORT")
    if "://" not in server:
        server = f"{'https' if secure else 'http'}://{server}"
    return server


def read_tls(cluster: KubeconfigEntry, now: datetime) -> TLSSettings:
    """Return the TLS settings.

    Reads the CA file once, so that a wrong path raises an error when the configuration is loaded.

    Raises:
        ConfigError: the CA is unreadable, not PEM or expired, or contradicts ``insecure-skip-tls-verify``.
    """
    insecure = cluster.flag("insecure-skip-tls-verify")
    ca_data = cluster.data("certificate-authority-data")
    ca_file = cluster.path("certificate-authority") if ca_data is None else None
    if insecure and (ca_data is not None or ca_file is not None):
        raise cluster.error(
            "insecure-skip-tls-verify", "and a certificate authority are mutually exclusive: remove one of them"
        )
    tls = TLSSettings(
        verify=not insecure,
        ca_file=ca_file,
        ca_data=ca_data,
        server_name=cluster.text("tls-server-name") or None,
    )
    try:
        tls.check(now)
    except ConfigError as error:
        raise ConfigError(f"{cluster.where()}: {error}") from error
    return tls


def exec_cluster(cluster: KubeconfigEntry, tls: TLSSettings) -> Mapping[str, object]:
    """Return ``ExecCredential.spec.cluster`` (``provideClusterInfo: true``).

    The CA is always passed as data, and ``config`` is the extension with the plugin's own settings.
    """
    info: dict[str, object] = {"server": cluster.text("server")}
    for field in ("tls-server-name", "proxy-url"):
        if text := cluster.text(field):
            info[field] = text
    for field in ("insecure-skip-tls-verify", "disable-compression"):
        if cluster.flag(field):
            info[field] = True
    if authorities := tls.authorities():
        info["certificate-authority-data"] = base64.b64encode(authorities).decode("ascii")
    for extension in cluster.entries("extensions"):
        if extension.text("name") == _EXEC_EXTENSION:
            info["config"] = extension.values.get("extension")
    return info
