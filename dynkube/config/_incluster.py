"""In-cluster configuration, for a process in a pod.

It is read from two environment variables and three files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from dynkube.config._config import ClientConfig
from dynkube.config._credential_files import TokenFile
from dynkube.config._credentials import utc_now
from dynkube.config._tls import TLSSettings
from dynkube.errors import ConfigError

_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def in_cluster() -> bool:
    """Whether this process seems to run in a pod.

    The kubelet sets ``KUBERNETES_SERVICE_HOST`` in containers.
    """
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def load_incluster(
    *, directory: str | os.PathLike[str] = _SERVICE_ACCOUNT, now: Callable[[], datetime] = utc_now
) -> ClientConfig:
    """Return the configuration of the pod's service account.

    Blocks to read three small files; the token is re-read each minute.

    Args:
        directory: where the service account is mounted.
        now: the clock that expiry is compared with.

    Returns:
        A config whose namespace is ``$POD_NAMESPACE``, else the service account's, else ``default`` (as in client-go).

    Raises:
        ConfigError: not running in a pod, or the CA is not mounted, not PEM or expired.
        CredentialError: the token is not mounted.
    """
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set, not running in a pod: "
            "pass kubeconfig= or url="
        )
    mounted = Path(directory)
    token = TokenFile(mounted / "token", where="in-cluster (is automountServiceAccountToken off?)", now=now)
    token.check()
    tls = TLSSettings(ca_file=str(mounted / "ca.crt"))
    try:
        tls.check(now())
    except ConfigError as error:
        raise ConfigError(f"in-cluster: {error}") from error
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=_namespace(mounted),
        credentials=token,
        tls=tls,
        source="in-cluster",
    )


def _namespace(mounted: Path) -> str:
    if name := os.environ.get("POD_NAMESPACE", "").strip():
        return name
    try:
        return (mounted / "namespace").read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"
