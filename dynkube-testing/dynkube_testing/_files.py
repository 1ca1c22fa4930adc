"""Write files atomically."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

_TEMPORARY = ".tmp"


def replace_privately(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> Path:
    """Write ``pieces`` to ``path`` atomically, with mode 0600, and return the path.

    An existing file is replaced only after the new content is on disk (fsync). After a crash either the old or the new
    file exists, and a reader never sees a partial file. This is blocking file I/O.

    Raises:
        OSError: The directory does not exist or cannot be written to.
    """
    target = Path(path)
    # The temporary file is in the same directory, since a rename is atomic only within a file system. mkstemp creates
    # files with mode 0600.
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
    """Remove temporary files that :func:`replace_privately` left beside ``path``.

    A temporary file is left if the process is killed while writing. Do not call this while another process or thread
    writes the file. This is blocking file I/O.
    """
    target = Path(path)
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(_TEMPORARY)}")
    for beside in target.parent.iterdir():
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)
