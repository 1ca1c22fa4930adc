"""Reading input files named by users: bounded, and without blocking forever.

Accepts regular files and standard input. Opening a FIFO without a writer blocks, and a device such as ``/dev/zero`` has
no end; neither has a size that could be checked first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

_CHUNK = 1 << 16  # bytes
_KINDS = (
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_file(path: str | os.PathLike[str], *, limit: int) -> bytes:
    """Return the content of a regular file; the null device is empty.

    Blocks for the disk only. Symbolic links are followed.

    Args:
        path: the path of the file.
        limit: maximum bytes.

    Raises:
        OSError: the file does not exist, cannot be read, is not a regular file, or is larger than ``limit``;
            ``strerror`` has the reason, for users.
    """
    # Checked before opening, as opening some devices has side effects, and again afterwards, as the file may have been
    # replaced. Opened without blocking, so that a FIFO in its place does not block.
    if _is_empty(path, os.stat(path)):  # noqa: PTH116 - accepts every path that open() does
        return b""
    with open(path, "rb", buffering=0, opener=_open_unblocked) as file:
        status = os.fstat(file.fileno())
        if _is_empty(path, status):
            return b""
        if status.st_size > limit:
            raise _too_large(path, limit, f"it has {status.st_size:,} bytes")
        return b"".join(_chunks(lambda: file.read(_CHUNK), path, limit))


def read_descriptor(descriptor: int, name: str, *, limit: int) -> bytes:
    """Read an open file, usually standard input, to its end.

    Blocks until the end, or until ``limit`` is exceeded.

    Args:
        descriptor: the file descriptor, whose position advances; it remains open.
        name: the name of the file, for errors.
        limit: maximum bytes.

    Raises:
        OSError: it cannot be read, or has more than ``limit`` bytes.
    """
    return b"".join(_chunks(lambda: os.read(descriptor, _CHUNK), name, limit))


def _chunks(read: Callable[[], bytes | None], name: str | os.PathLike[str], limit: int) -> Iterator[bytes]:
    left = limit
    while chunk := read():
        left -= len(chunk)
        if left < 0:
            raise _too_large(name, limit, "it is too large")
        yield chunk


def _open_unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _is_empty(path: str | os.PathLike[str], status: os.stat_result) -> bool:
    """Whether it is the null device, used as an empty file.

    Raises OSError for other special files.
    """
    if stat.S_ISREG(status.st_mode):
        return False
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if stat.S_ISCHR(status.st_mode) and os.path.samestat(status, Path(os.devnull).stat()):
        return True
    kind = next((kind for matches, kind in _KINDS if matches(status.st_mode)), "not a regular file")
    raise OSError(errno.EINVAL, f"it is {kind}: copy its content to a file", os.fspath(path))


def _too_large(name: str | os.PathLike[str], limit: int, found: str) -> OSError:
    return OSError(errno.EFBIG, f"{found}, the limit is {limit:,} bytes", os.fspath(name))
