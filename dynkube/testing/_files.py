"""Files that are written as a whole, or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

_TEMPORARY = ".tmp"


def replace_privately(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> Path:
    """Write ``pieces`` to ``path``, readable by its owner only, and return the path. Blocks on the file system.

    What was there is replaced once the new content is on the disk: whenever the machine stops, the old file or the
    new one is there, and whoever waits for the file never reads half of it.

    Raises:
        OSError: The directory does not exist or cannot be written to.
    """
    target = Path(path)
    # In the same directory, so that the rename stays on one file system; mkstemp creates with mode 0600.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def remove_temporaries(path: str | os.PathLike[str]) -> None:
    """Remove what :func:`replace_privately` left beside ``path`` where its process was killed meanwhile.

    Call it only while nobody else writes that file. Blocks on the file system.
    """
    target = Path(path)
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(_TEMPORARY)}")
    for beside in target.parent.iterdir():
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)
