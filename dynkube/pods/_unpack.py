"""Files from an archive that a pod sends, which is not trusted: only files and folders, and only in their folder.

These functions block; they are run in a thread.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, Final, Protocol, Self

from dynkube._server_text import sanitized
from dynkube.errors import CopyFailed, UnsafeArchive

_BLOCK: Final = 256 << 10
_MOST_NAME: Final = 1 << 20
_MOST_HEADERS: Final = 4 << 20  # bytes between two files: tarfile keeps maps of sparse files and extended headers
_MOST_GLOBAL: Final = 100  # fields of global extended headers, which tarfile keeps for all members
_NAMES: Final = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)


class Readable(Protocol):
    """What the archive is read from."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; ``b""`` at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied.

    Attributes:
        files: how many files.
        size: how many bytes they have together.
    """

    files: int
    size: int


class _Member(tarfile.TarInfo):
    """A header of the archive, whose parts that tarfile reads at once are limited."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read a header."""
        member = super().frombuf(buf, encoding, errors)
        if member.type in _NAMES and not 0 <= member.size <= _MOST_NAME:
            raise UnsafeArchive(f"the archive from the pod has a name of {member.size} bytes, more than {_MOST_NAME}")
        return member


class _ReadError(Exception):
    """The source raised ``error``, which is no error of the archive or of this machine's files."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class _Source:
    """The archive, of which tarfile reads a limited number of bytes between two files.

    Attributes:
        left: how many bytes may still be read.
    """

    def __init__(self, source: Readable) -> None:
        self._source = source
        self.left: float = _MOST_HEADERS

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; ``b""`` at the end."""
        try:
            data = self._source.read(size)
        except Exception as error:
            raise _ReadError(error) from error
        self.left -= len(data)
        if self.left < 0:
            raise UnsafeArchive(f"the archive from the pod has headers of more than {_MOST_HEADERS} bytes in a row")
        return data


def unpack(source: Readable, name: str, destination: Path) -> Copied:
    """Write the member ``name`` of an archive, and all that is below it, as ``destination``.

    Each file is written completely under a name of its own before it replaces an earlier one.

    Raises:
        UnsafeArchive: a member is a link or a device, or is not below ``name``.
        CopyFailed: a file cannot be written.
        tarfile.TarError: the archive is damaged or ends too early.
        Exception: what reading the source raises.
    """
    limited = _Source(source)
    try:
        with tarfile.open(fileobj=limited, mode="r|", bufsize=_BLOCK, tarinfo=_Member) as archive:  # type: ignore[call-overload]  # read() is enough
            return _unpack(archive, limited, name, destination)
    except _ReadError as failure:
        raise failure.error from None
    except OSError as error:
        raise CopyFailed(f"cannot write to {str(destination)!r}: {error}; files before it have been copied") from error
    except (ValueError, OverflowError, RecursionError) as error:  # tarfile raises them on invalid or nested headers
        raise UnsafeArchive(f"the archive from the pod is malformed: {error}") from error


def _unpack(archive: tarfile.TarFile, source: _Source, name: str, destination: Path) -> Copied:
    files = size = 0
    for member in archive:
        path = _place_of(member, name, destination)
        if len(archive.pax_headers) > _MOST_GLOBAL:
            raise UnsafeArchive(f"the archive from the pod has more than {_MOST_GLOBAL} global headers")
        if member.isdir():
            _make_folder(path)
        else:
            source.left = inf
            size += _write(archive.extractfile(member), member, path)
            files += 1
        source.left = _MOST_HEADERS
        archive.members.clear()  # type: ignore[attr-defined]  # it would remember all
    return Copied(files, size)


def _place_of(member: tarfile.TarInfo, name: str, destination: Path) -> Path:
    """Return where a member is written."""
    shown = repr(sanitized(member.name, 200))
    if not (member.isreg() or member.isdir()) or member.issparse():
        what = "a link" if member.issym() or member.islnk() else "neither a whole file nor a folder"
        raise UnsafeArchive(
            f"{shown} in the archive from the pod is {what}, which is not copied; nor is what follows it"
        )
    parts = [part for part in member.name.split("/") if part != "."]
    if parts and not parts[-1]:
        parts.pop()  # the slash at the end of a folder
    climbs = not parts or parts[0] != name or any(part in ("", "..") or not _is_plain(part) for part in parts)
    if climbs or member.name.startswith("/"):
        raise UnsafeArchive(
            f"{shown} in the archive from the pod is not in {name!r}, which was requested: it is not written, nor is "
            "what follows it"
        )
    path = destination.joinpath(*parts[1:])
    _check_below(path, destination, shown)
    return path


def _is_plain(part: str) -> bool:
    return "\0" not in part and Path(part).name == part


def _check_below(path: Path, destination: Path, shown: str) -> None:
    """Refuse a path through a link that is already there."""
    parent = path
    while parent != destination:
        parent = parent.parent
        if parent != destination and parent.is_symlink():
            raise UnsafeArchive(f"{shown} would be written through the link {str(parent)!r}: remove it first")


def _make_folder(path: Path) -> None:
    if path.is_symlink():
        raise UnsafeArchive(f"{str(path)!r} is a link, where a folder would be written: remove it first")
    path.mkdir(parents=True, exist_ok=True)


def _write(source: IO[bytes] | None, member: tarfile.TarInfo, path: Path) -> int:
    assert source is not None, "a regular file"
    if path.is_dir():
        raise CopyFailed(f"{str(path)!r} is a folder: to copy a file into it, end local with a slash")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Closed and replaced below, and removed if anything fails before that.
    file = tempfile.NamedTemporaryFile(prefix=".", suffix=".part", dir=path.parent, delete=False)  # noqa: SIM115
    temporary = Path(file.name)
    try:
        with file:
            _copy_exactly(source, file.file, member.size, path)
        temporary.chmod(member.mode & 0o755 | 0o600)  # as tarfile's filter "data" has it
        os.utime(temporary, (member.mtime, member.mtime))
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return member.size


def _copy_exactly(source: IO[bytes], file: IO[bytes], size: int, path: Path) -> None:
    copied = 0
    while data := source.read(_BLOCK):
        copied += file.write(data)
    if copied != size:
        raise CopyFailed(f"{str(path)!r} has {copied} bytes in the archive from the pod, instead of {size}")
