"""Reading what users name as input: regular files and standard input, up to a limit, and nothing that never ends.

A FIFO that nobody writes to blocks whoever opens it, and a device such as ``/dev/zero`` has no end; neither has a size
that could be looked at first.
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
    """All of a regular file, symbolic links followed; nothing of the null device. Blocks for the disk only.

    Args:
        path: of the file.
        limit: the most bytes it may have.

    Raises:
        OSError: there is no such file, it cannot be read, is no regular file, or is larger than ``limit``;
            ``strerror`` says which, for people.
    """
    # Looked at before it is opened, as opening some devices does something, and again afterwards, as it may have been
    # replaced. Opened without blocking, so that a FIFO that takes its place does not hold anybody.
    if _is_empty(path, os.stat(path)):  # noqa: PTH116 - of any path, as open takes it
        return b""
    with open(path, "rb", buffering=0, opener=_open_unblocked) as file:
        status = os.fstat(file.fileno())
        if _is_empty(path, status):
            return b""
        if status.st_size > limit:
            raise _too_large(path, limit, f"it has {status.st_size:,} bytes")
        return b"".join(_chunks(lambda: file.read(_CHUNK), path, limit))


def read_descriptor(descriptor: int, name: str, *, limit: int) -> bytes:
    """All that comes from an open file, standard input mostly. Blocks until it ends, or is more than ``limit``.

    Args:
        descriptor: of the file, whose position moves; it stays open.
        name: of it, for errors.
        limit: the most bytes that are taken.

    Raises:
        OSError: it cannot be read, or has more than ``limit`` bytes.
    """
    return b"".join(_chunks(lambda: os.read(descriptor, _CHUNK), name, limit))


def _chunks(read: Callable[[], bytes | None], name: str | os.PathLike[str], limit: int) -> Iterator[bytes]:
    left = limit
    while chunk := read():
        left -= len(chunk)
        if left < 0:
            raise _too_large(name, limit, "it has more")
        yield chunk


def _open_unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _is_empty(path: str | os.PathLike[str], status: os.stat_result) -> bool:
    """Whether it is the null device, with which people say "no file"; refuses all that is no regular file."""
    if stat.S_ISREG(status.st_mode):
        return False
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if stat.S_ISCHR(status.st_mode) and os.path.samestat(status, Path(os.devnull).stat()):
        return True
    kind = next((kind for matches, kind in _KINDS if matches(status.st_mode)), "no regular file")
    raise OSError(errno.EINVAL, f"it is {kind}: copy what it gives into a file", os.fspath(path))


def _too_large(name: str | os.PathLike[str], limit: int, found: str) -> OSError:
    return OSError(errno.EFBIG, f"{found}, at most {limit:,} are read", os.fspath(name))
