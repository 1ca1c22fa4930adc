"""An archive of files of this machine: its size is known before its first byte is read.

In GNU's format, which all tars in images read. These functions block; they are run in threads.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dynkube.errors import CopyFailed, InvalidInput

BLOCK: Final = 256 << 10
"""Bytes that are read at once."""

_END: Final = bytes(2 * tarfile.BLOCKSIZE)
_MOST_ENTRIES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of an archive.

    Attributes:
        path: where it is on this machine.
        name: its name in the archive.
        header: its header in the archive.
        size: bytes that follow the header; 0 for a folder.
        is_file: whether it is a file.
    """

    path: Path
    name: str
    header: bytes
    size: int
    is_file: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What an archive will have.

    Attributes:
        entries: its files and folders; each folder before what is in it.
        size: bytes of the whole archive.
    """

    entries: tuple[Entry, ...]
    size: int

    @property
    def files(self) -> list[Entry]:
        """The files, without the folders."""
        return [entry for entry in self.entries if entry.is_file]


def plan_of(local: Path, name: str) -> Plan:
    """Return the plan of an archive of a file or folder, which is called ``name`` in it.

    Raises:
        InvalidInput: it does not exist, may not be read, has links or what is neither file nor folder, or more than a
            million entries.
    """
    try:
        entries = tuple(_entries(local, name))
    except OSError as error:
        raise InvalidInput(f"local={str(local)!r} cannot be read: {error}") from error
    size = sum(len(entry.header) + _padded(entry.size) for entry in entries) + len(_END)
    return Plan(entries, size)


def blocks(plan: Plan) -> Iterator[bytes]:
    """Yield the archive, in parts of about :data:`BLOCK` bytes.

    Raises:
        CopyFailed: a file cannot be read, or has become shorter.
    """
    buffer = bytearray()
    for entry in plan.entries:
        buffer += entry.header
        for data in _contents(entry):
            buffer += data
            if len(buffer) >= BLOCK:
                yield bytes(buffer)
                buffer.clear()
    yield bytes(buffer + _END)


def _entries(path: Path, name: str) -> Iterator[Entry]:
    pending = [(path, name)]
    count = 0
    while pending:
        path, name = pending.pop()
        count += 1
        if count > _MOST_ENTRIES:
            raise InvalidInput(f"local has more than {_MOST_ENTRIES:,} files and folders: copy parts of it")
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            yield Entry(path, name, _header(name + "/", status, tarfile.DIRTYPE), 0, is_file=False)
            pending += [(each, f"{name}/{each.name}") for each in sorted(path.iterdir(), reverse=True)]
        elif stat.S_ISREG(status.st_mode):
            yield Entry(path, name, _header(name, status, tarfile.REGTYPE), status.st_size, is_file=True)
        else:
            what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "neither a file nor a folder"
            raise InvalidInput(f"{str(path)!r} is {what}: only files and folders are copied")


def _header(name: str, status: os.stat_result, kind: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.size = status.st_size if kind == tarfile.REGTYPE else 0
    info.mtime = int(status.st_mtime)
    info.mode = stat.S_IMODE(status.st_mode) & 0o777
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _contents(entry: Entry) -> Iterator[bytes]:
    if not entry.size:
        return
    left = entry.size
    try:
        with entry.path.open("rb") as file:
            while left and (data := file.read(min(left, BLOCK))):
                left -= len(data)
                yield data
    except OSError as error:
        raise CopyFailed(f"{str(entry.path)!r} cannot be read: {error}") from error
    if left:
        raise CopyFailed(f"{str(entry.path)!r} has become shorter while it was copied, by {left} bytes")
    yield bytes(_padded(entry.size) - entry.size)


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
