"""The private folder of a control plane for data, certificates and logs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from dynkube.errors import ControlPlaneError
from dynkube_testing._files import replace_privately

_LOGS = ("etcd.log", "kube-apiserver.log", "kube-controller-manager.log", "kube-scheduler.log")
_LOCK = "lock"
_ENTRIES = ("certificates", "etcd", *_LOGS, _LOCK)


class Folder:
    """The folder of a control plane, locked so that no other control plane uses it.

    Creating it and all methods are blocking file I/O.

    Args:
        given: The path of the folder, which is created if missing; ``None`` creates a temporary folder.

    Raises:
        ControlPlaneError: The folder cannot be created, is not a folder, is in use, or its file system does not support
            locks.
    """

    def __init__(self, given: Path | None) -> None:
        try:
            self._ours = given is None or not given.exists()
            self.path = Path(tempfile.mkdtemp(prefix="dynkube-control-plane-")) if given is None else given.absolute()
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ControlPlaneError(f"cannot use {given} as the folder of a control plane: {error.strerror}") from error
        import fcntl  # imported here, since it does not exist on Windows

        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            taken = isinstance(error, BlockingIOError)
            trouble = "is in use by another control plane" if taken else f"cannot be locked: {error.strerror}"
            raise ControlPlaneError(f"{self.path} {trouble}; pass another folder=") from error
        (self.path / "certificates").mkdir(mode=0o700, exist_ok=True)

    def write(self, name: str, content: bytes) -> Path:
        """Write ``certificates/NAME`` with mode 0600, and return its path."""
        return replace_privately(self.path / "certificates" / name, [content])

    @property
    def has_logs(self) -> bool:
        """Whether a server has created its log file."""
        return any((self.path / log).exists() for log in _LOGS)

    def release(self) -> None:
        """Release the lock, so that another control plane can use the folder."""
        os.close(self._lock)

    def remove(self) -> None:
        """Remove the control plane's files.

        The folder itself is removed if this object has created it.
        """
        if self._ours:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for entry in _ENTRIES:
            path = self.path / entry
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def given_path(path: str | os.PathLike[str] | None) -> Path | None:
    """Return ``path`` as a Path with ``~`` expanded; ``None`` stays ``None``."""
    return None if path is None else Path(path).expanduser()
