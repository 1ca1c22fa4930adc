"""``Pod.copy_to`` and ``Pod.copy_from``: files and folders, as tar through a command.

Reading, writing and tar run in threads, one block at a time, so memory does not grow with the files.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from posixpath import basename, dirname
from typing import Final, TypeAlias

import trio

from dynkube._nursery import OwnedNursery
from dynkube._server_text import sanitized
from dynkube.errors import CommandNotStarted, ConnectionLost, CopyFailed, InvalidInput, PodError
from dynkube.meta._arguments import brief
from dynkube.pods._channels import V4, V5
from dynkube.pods._pack import Entry, Plan, blocks, plan_of
from dynkube.pods._process import Process, open_process
from dynkube.pods._streams import ProcessOutput
from dynkube.pods._target import PodTarget
from dynkube.pods._unpack import Copied, unpack

Progress: TypeAlias = Callable[[int], object] | None
"""A function that is called with the bytes so far, headers of the archive included."""

# Older servers cannot close stdin, and tar reads to its end: so head ends it, after a number of bytes.
_UNPACK: Final = 'mkdir -p "$2" && head -c "$1" | tar xof - -C "$2"'
_SIZES: Final = """
cd "$2" || exit
head -c "$1" | {
  set --
  while IFS= read -r name; do
    set -- "$@" "$name"
    if [ $# -eq 200 ]; then wc -c "$@"; set --; fi
  done
  [ $# -eq 0 ] || wc -c "$@"
}
"""
_BATCH: Final = 200
_MOST_ERRORS: Final = 64 << 10
_MOST_SIZES: Final = 256 << 20
MAX_SIZE: Final = 64 << 30
_READ_BYTES: Final = 64 << 10
_MOST_REST: Final = 1 << 20


class _Tail:
    """The end of what a command writes to a stream, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.data = bytearray()

    async def read(self, stream: ProcessOutput) -> None:
        with suppress(ConnectionLost):  # raised by wait(), too
            async for data in stream:
                self.data += data
                del self.data[: max(0, len(self.data) - self._most)]

    def __str__(self) -> str:
        return sanitized(self.data.decode("utf-8", "replace").strip()[-2000:], 2000, lines=True)


class _Received:
    """The output of a command, for a thread to read."""

    def __init__(self, stream: ProcessOutput, progress: Progress, most: int) -> None:
        self._stream = stream
        self._progress = progress
        self._most = most
        self._size = 0

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, about ``size`` if they are there; blocks the calling thread."""
        return trio.from_thread.run(self.receive, size)

    async def skip_rest(self) -> None:
        """Read what follows the archive: tar fills its last record with zeros."""
        end = self._size + _MOST_REST
        while await self.receive(_READ_BYTES):
            if self._size > end:
                raise CopyFailed(f"the pod sends more than {_MOST_REST} bytes after the end of its archive")

    async def receive(self, size: int) -> bytes:
        """Return the next bytes, about ``size`` if they are there; ``b""`` at the end."""
        parts = [await self._stream.receive_some(size)]
        left = size - len(parts[0])
        while parts[-1] and left > 0 and (more := self._stream._receive_nowait()):  # fewer changes of the thread
            parts.append(more)
            left -= len(more)
        data = b"".join(parts)
        self._size += len(data)
        if self._size > self._most:
            raise CopyFailed(f"the pod sends more than {self._most} bytes (max_size): copy less, or raise the limit")
        if self._progress is not None and data:
            self._progress(self._size)
        return data


async def copy_to(
    target: PodTarget, local: str | os.PathLike[str], remote: str, container: str | None, progress: Progress
) -> Copied:
    """Copy from this machine to a container; see :meth:`Pod.copy_to`."""
    path = _local(local)
    parent, name = _remote(remote, path.absolute().name)
    plan = await trio.to_thread.run_sync(plan_of, path, name)
    what = f"{target}: {str(path)!r} was not copied to {remote!r}"
    errors = _Tail(_MOST_ERRORS)
    command = ["sh", "-c", _UNPACK, "sh", str(plan.size), parent]
    async with _helper(target, command, container, what, stdin=True) as process, OwnedNursery() as nursery:
        nursery.start_soon(errors.read, process.stderr)
        nursery.start_soon(_Tail(0).read, process.stdout)
        with suppress(ConnectionLost):  # the command has ended before it has read all: its exit code follows
            await _send(process, plan, progress)
        code = await process.wait()
    if code:
        raise CopyFailed(f"{what}, or not completely: tar in the container ended with exit code {code}: {errors}")
    await _check_sizes(target, plan.files, parent, container, what)
    return Copied(len(plan.files), sum(entry.size for entry in plan.files))


async def copy_from(
    target: PodTarget,
    remote: str,
    local: str | os.PathLike[str],
    container: str | None,
    progress: Progress,
    max_size: int,
) -> Copied:
    """Copy from a container to this machine; see :meth:`Pod.copy_from`."""
    if type(max_size) is not int or max_size < 1:
        raise InvalidInput(f"max_size must be a number of bytes >= 1, not {brief(max_size)}")
    parent, name = _remote(remote)
    destination = _local(local)
    if os.fspath(local).endswith(("/", os.sep)):
        destination /= name
    what = f"{target}: {remote!r} was not copied to {str(destination)!r}"
    errors = _Tail(_MOST_ERRORS)
    async with (
        _helper(target, ["tar", "cf", "-", "-C", parent, f"./{name}"], container, what) as process,
        OwnedNursery() as nursery,
    ):
        received = _Received(process.stdout, progress, max_size)
        read = trio.Event()

        async def read_errors() -> None:
            await errors.read(process.stderr)
            read.set()

        nursery.start_soon(read_errors)
        failure: tarfile.TarError | None = None
        copied = Copied(0, 0)
        try:
            copied = await trio.to_thread.run_sync(unpack, received, name, destination)
        except tarfile.TarError as error:
            failure = error
        await received.skip_rest()
        await read.wait()
        code = await process.wait()
    if code:
        raise CopyFailed(f"{what}, or not completely: tar in the container ended with exit code {code}: {errors}")
    if failure is not None:
        raise CopyFailed(f"{what}, or not completely: the archive is damaged or incomplete: {failure}") from failure
    return copied


@asynccontextmanager
async def _helper(
    target: PodTarget, command: Sequence[str], container: str | None, what: str, *, stdin: bool = False
) -> AsyncIterator[Process]:
    """Start a command that copies; if it cannot be started, the image lacks it."""
    try:
        async with open_process(target, command, container=container, stdin=stdin, protocols=(V5, V4)) as process:
            yield process
    except CommandNotStarted as error:
        needs = "sh, mkdir, head, tar and wc" if stdin else "tar"
        raise CopyFailed(f"{what}: {error}; the container's image needs {needs}") from error
    except CopyFailed:
        raise
    except PodError as error:
        raise CopyFailed(f"{what}: {error}") from error


async def _send(process: Process, plan: Plan, progress: Progress) -> None:
    assert process.stdin is not None
    sent, archive = 0, blocks(plan)
    while block := await trio.to_thread.run_sync(next, archive, b""):
        await process.stdin.send_all(block)
        sent += len(block)
        if progress is not None:
            progress(sent)


async def _check_sizes(
    target: PodTarget, files: Sequence[Entry], parent: str, container: str | None, what: str
) -> None:
    """Compare the sizes of the files in the container with those that were sent."""
    checked = [entry for entry in files if "\n" not in entry.name]  # names are sent as lines
    names = "".join(f"./{entry.name}\n" for entry in checked).encode("utf-8", "surrogateescape")
    if not names:
        return
    output, errors = _Tail(_MOST_SIZES), _Tail(_MOST_ERRORS)
    command = ["sh", "-c", _SIZES, "sh", str(len(names)), parent]
    async with _helper(target, command, container, what, stdin=True) as process, OwnedNursery() as nursery:
        assert process.stdin is not None
        nursery.start_soon(errors.read, process.stderr)
        nursery.start_soon(_feed, process, names)
        await output.read(process.stdout)
        code = await process.wait()
    if code:
        raise CopyFailed(f"{what} completely: its sizes in the container cannot be read (exit code {code}): {errors}")
    wrong = _first_wrong(checked, bytes(output.data).split(b"\n"))
    if wrong is not None:
        raise CopyFailed(
            f"{what} completely: {wrong.name!r} is missing in the container, or has not {wrong.size} bytes"
        )


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionLost):  # its exit code follows
        await process.stdin.send_all(data)


def _first_wrong(files: Sequence[Entry], lines: Sequence[bytes]) -> Entry | None:
    """Return the first file of which ``wc -c`` has not written its size, in batches with their sum at the end."""
    position = 0
    for start in range(0, len(files), _BATCH):
        batch = files[start : start + _BATCH]
        for entry in batch:
            line = lines[position].lstrip() if position < len(lines) else b""  # the name may end with spaces
            if line != b"%d ./%b" % (entry.size, entry.name.encode("utf-8", "surrogateescape")):
                return entry
            position += 1
        position += len(batch) > 1
    return None


def _local(local: object) -> Path:
    if not isinstance(local, str | os.PathLike) or not os.fspath(local) or "\0" in str(local):
        raise InvalidInput(f"local is {brief(local)}: pass the path of a file or folder of this machine")
    return Path(local)


def _remote(remote: object, name: str | None = None) -> tuple[str, str]:
    """Return the folder and the name of a path in a container.

    If the path ends with a slash it is a folder, which ``name`` is in; without a ``name`` the slash means nothing.
    """
    if not isinstance(remote, str) or not remote or "\0" in remote:
        raise InvalidInput(f"remote is {brief(remote)}: pass the path of a file or folder in the container")
    if name is None:
        remote = remote.rstrip("/")
    last = basename(remote) or name or ""
    if last in ("", ".", ".."):
        raise InvalidInput(f"remote is {brief(remote)}: it must end with the name of a file or folder")
    folder = dirname(remote) or "."
    return (f"./{folder}" if folder.startswith("-") else folder), last
