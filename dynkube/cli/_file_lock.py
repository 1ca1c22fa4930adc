"""A lock file, held by one process at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class InUse(OSError):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` inside the block.

    The lock is released when the process ends, even if it is killed. The file is created if it does not exist, and
    removed at the end of the block. It protects another file beside it, which cannot be locked itself because each
    write replaces it.

    Raises:
        InUse: another process holds the lock.
        OSError: the file cannot be created.
    """
    handle = _acquire(path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove open files; a file that stays is reused
            path.unlink()
        os.close(handle)


def _acquire(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle)
            if _is_at(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the previous holder has removed it meanwhile: try again


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _lock(handle: int) -> None:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise InUse(error.errno, "another process holds the lock") from error
