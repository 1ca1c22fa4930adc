"""Backups of etcd, which are taken while it runs and restored while it is stopped. All functions block."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from dynkube.errors import ControlPlaneError
from dynkube_testing import ControlPlane

BUMP = 1_000_000
"""The increase of revisions, which has to exceed the number of writes since the backup (see etcd's documentation)."""
_TIMEOUT = 60.0  # seconds


def etcdutl_of(plane: ControlPlane) -> Path | None:
    """Return the path of ``etcdutl`` beside the control plane's etcd; ``None`` if it was not built."""
    program = Path(plane.etcd.command[0]).parent / "etcdutl"
    return program if program.is_file() else None


def save(plane: ControlPlane, file: Path) -> None:
    """Write a backup of etcd's current content, as ``etcdctl snapshot save`` does.

    Raises:
        ControlPlaneError: etcd responds with an error.
    """
    (address,) = [text for text in plane.etcd.command if text.startswith("--listen-client-urls=")]
    connection = http.client.HTTPConnection(urlsplit(address.partition("=")[2]).netloc, timeout=_TIMEOUT)
    try:
        connection.request("POST", "/v3/maintenance/snapshot", "{}", {"Content-Type": "application/json"})
        response = connection.getresponse()
        with file.open("wb") as backup:
            for line in response:  # a gRPC stream, of which the gateway sends one JSON document per line
                part = json.loads(line)
                if "result" not in part:
                    raise ControlPlaneError(f"etcd returned no backup: {line[:300]!r}")
                backup.write(base64.b64decode(part["result"].get("blob", "")))
    finally:
        connection.close()


def restore(plane: ControlPlane, file: Path, *, bump: int = BUMP) -> None:
    """Replace etcd's content with a backup, with later revisions than any that clients have received.

    Both servers have to be stopped; start etcd and then the API server afterwards.

    Raises:
        ControlPlaneError: ``etcdutl`` is missing, or failed.
    """
    program, data = etcdutl_of(plane), plane.folder / "etcd"
    if program is None:
        raise ControlPlaneError(f"no etcdutl beside {plane.etcd.command[0]}: make control-plane builds it")
    restored = data.with_name("etcd-restored")
    command = [str(program), "snapshot", "restore", str(file), "--data-dir", str(restored)]
    command += ["--bump-revision", str(bump), "--mark-compacted"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    if done.returncode:
        raise ControlPlaneError(f"`{' '.join(command)}` ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    shutil.rmtree(data)
    restored.rename(data)
