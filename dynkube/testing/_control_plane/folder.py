"""The folder of a control plane: data, certificates and logs, for its owner only."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from dynkube.errors import ControlPlaneError
from dynkube.testing._files import replace_privately

_LOGS = ("etcd.log", "kube-apiserver.log")
_LOCK = "lock"
_ENTRIES = ("certificates", "etcd", *_LOGS, _LOCK)


class Folder:
    """A folder of one's own, or one that the user named, in use by one control plane at a time.

    Its functions block on the file system.

    Args:
        given: Made where it is not there; ``None`` makes a new one among the temporary files.

    Raises:
        ControlPlaneError: It cannot be made, is not a folder, is in use, or on a file system without locks.
    """

    def __init__(self, given: Path | None) -> None:
        try:
            self._ours = given is None or not given.exists()
            self.path = Path(tempfile.mkdtemp(prefix="dynkube-control-plane-")) if given is None else given.absolute()
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ControlPlaneError(f"cannot use {given} as the folder of a control plane: {error.strerror}") from error
        import fcntl  # only here: Windows has none, and no control planes

        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.release()
            taken = isinstance(error, BlockingIOError)
            trouble = "is in use by another control plane" if taken else f"cannot be locked: {error.strerror}"
            raise ControlPlaneError(f"{self.path} {trouble}; name another folder=") from error
        (self.path / "certificates").mkdir(mode=0o700, exist_ok=True)

    def write(self, name: str, content: bytes) -> Path:
        """Write ``certificates/NAME``, readable by its owner only, and return its path."""
        return replace_privately(self.path / "certificates" / name, [content])

    @property
    def has_logs(self) -> bool:
        """Whether a server has written anything."""
        return any((self.path / log).exists() for log in _LOGS)

    def release(self) -> None:
        """Let others use it."""
        os.close(self._lock)

    def remove(self) -> None:
        """Remove what the control plane put there, and the folder itself where it was not there before."""
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
    """A path that may be relative to the home folder, as users write them."""
    return None if path is None else Path(path).expanduser()
