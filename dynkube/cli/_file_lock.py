"""A file that only one process uses at a time."""

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
    """Hold the lock file ``path`` inside the block. It ends with the process, however that ends.

    The file is created where it does not exist, and removed when the block is left. What it protects is another file
    beside it: one that is replaced by each write cannot be locked itself.

    Raises:
        InUse: Another process holds it.
        OSError: It cannot be created.
    """
    handle = _acquire(path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open files; one that stays is taken by the next
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
        os.close(handle)  # whoever held it has removed it meanwhile: take the new one


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
