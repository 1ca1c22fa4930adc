"""The folder of a control plane: data, certificates and logs, for its owner only."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from dynkube.errors import ControlPlaneError
from dynkube.testing._files import replace_privately

_ENTRIES = ("certificates", "etcd", "etcd.log", "kube-apiserver.log")


class Folder:
    """A folder of one's own, or one that the user named. Blocks on the file system.

    Args:
        given: Made where it is not there; ``None`` makes a new one among the temporary files.

    Raises:
        ControlPlaneError: It cannot be made, or is not a folder.
    """

    def __init__(self, given: Path | None) -> None:
        try:
            self._ours = given is None or not given.exists()
            self.path = Path(tempfile.mkdtemp(prefix="dynkube-control-plane-")) if given is None else given.absolute()
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "certificates").mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ControlPlaneError(f"cannot make the folder of the control plane: {error}") from error

    def write(self, name: str, content: bytes) -> Path:
        """Write ``certificates/NAME``, readable by its owner only, and return its path."""
        return replace_privately(self.path / "certificates" / name, [content])

    def remove(self) -> None:
        """Remove what the control plane put there, and the folder where it was not there before."""
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
