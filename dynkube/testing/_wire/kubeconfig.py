"""A kubeconfig for a served embedded API server, so that kubectl and other clients find it."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from dynkube.testing._files import replace_privately
from dynkube.testing._wire import yaml


def build_kubeconfig(
    url: str, *, ca_pem: bytes | None, token: str | None, context: str, namespace: str
) -> dict[str, object]:
    """One cluster, one user, one context, all named ``context``; decoded."""
    cluster: dict[str, object] = {"server": url}
    if ca_pem is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode("ascii")
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": cluster}],
        "users": [{"name": context, "user": {"token": token} if token else {}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context, "namespace": namespace}}],
        "current-context": context,
    }


def write_private(path: str | os.PathLike[str], kubeconfig: dict[str, object]) -> Path:
    """Write ``kubeconfig`` as YAML, readable by its owner only. Blocks on the file system.

    The file appears whole or not at all, so a program that waits for it never reads half of one.

    Raises:
        OSError: The directory does not exist or cannot be written to.
    """
    return replace_privately(path, [yaml.dump(kubeconfig)])
