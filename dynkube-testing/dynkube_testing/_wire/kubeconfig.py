"""Kubeconfig files for API servers in tests, for kubectl and other clients."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from dynkube.meta._yaml import loading as yaml
from dynkube_testing._files import replace_privately


def build_kubeconfig(
    url: str,
    *,
    ca_pem: bytes | None,
    token: str | None = None,
    certificate_pem: bytes | None = None,
    key_pem: bytes | None = None,
    context: str,
    namespace: str,
) -> dict[str, object]:
    """Return a kubeconfig as a mapping.

    It has one cluster, user and context, all named ``context``.
    """
    cluster = {"server": url, "certificate-authority-data": _base64(ca_pem)}
    user = {
        "token": token or None,
        "client-certificate-data": _base64(certificate_pem),
        "client-key-data": _base64(key_pem),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": _present(cluster)}],
        "users": [{"name": context, "user": _present(user)}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context, "namespace": namespace}}],
        "current-context": context,
    }


def _base64(pem: bytes | None) -> str | None:
    return None if pem is None else base64.b64encode(pem).decode("ascii")


def _present(fields: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}


def write_private(path: str | os.PathLike[str], kubeconfig: dict[str, object]) -> Path:
    """Write ``kubeconfig`` as YAML, readable by its owner only, and return the path.

    The file is written atomically, so a program that waits for it never reads a partial file. This is blocking file
    I/O.

    Raises:
        OSError: The directory does not exist or is not writable.
    """
    return replace_privately(path, [yaml.dump(kubeconfig)])
