"""Manifests to load into an embedded server, and the file that persists its state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from dynkube.cli._file_lock import InUse, locked
from dynkube.cli._notes import note
from dynkube.cli._run import CommandFailed
from dynkube.errors import APIError, DynkubeError

if TYPE_CHECKING:
    from dynkube_testing import APIServer

# Writes between the last save and a crash are lost, but clients may hold resourceVersions of them. A restored server
# starts far above these, so that such clients get 410 Gone and list again.
_SKIP = 1_000_000


def load(server: APIServer, paths: Sequence[Path]) -> None:
    """Create or replace the manifests' objects, and print their number on stderr.

    Raises:
        CommandFailed: a manifest cannot be read or is rejected; the message names file and line.
    """
    for path in paths:
        try:
            count = len(server.load(path))
        except OSError as error:
            raise CommandFailed(f"--load {path}: cannot be read: {error.strerror or error}") from error
        except APIError as error:
            where = "; ".join(getattr(error, "__notes__", ()))
            raise CommandFailed(f"--load {path}: {error} ({where})") from error
        except DynkubeError as error:
            raise CommandFailed(f"--load {error}") from error
        note(f"loaded {count} object{'s' * (count != 1)} from {path}")


class StateFile:
    """The file with the persisted state of a server.

    Does nothing if the path is ``None``.

    Args:
        server: the server.
        path: the path of the file, or ``None``.
        every: seconds between saves while the server runs; nothing is written without changes.

    Raises:
        CommandFailed: the path cannot be that of a file.
    """

    def __init__(self, server: APIServer, path: Path | None, *, every: float) -> None:
        self._server = server
        self._path = None if path is None else _checked(path)
        self._every = every
        self._used = False
        self._saved = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the file inside the block, and remove stale temporary files.

        Raises:
            CommandFailed: another server uses the file, or its directory is not writable.
        """
        from dynkube_testing._files import remove_temporaries

        if self._path is None:
            yield
            return
        target = self._path.resolve()  # two links to one file are one file
        lock = target.with_name(f".{target.name}.lock")
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(lock))
                remove_temporaries(target)
            except InUse as error:
                raise CommandFailed(
                    f"--state {self._path}: in use by another dynkube serve (which has locked {lock}); stop that one, "
                    "or pass another file"
                ) from error
            except OSError as error:
                raise CommandFailed(f"--state {self._path}: cannot be locked: {error.strerror or error}") from error
            yield

    def restore(self) -> None:
        """Restore the state if the file exists, and print the count on stderr.

        Raises:
            CommandFailed: the file cannot be read, or is not a saved state.
        """
        from dynkube_testing import Snapshot

        if self._path is None:
            return
        try:
            snapshot = Snapshot.read(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CommandFailed(f"--state {self._path}: cannot be read: {error.strerror or error}") from error
        except DynkubeError as error:
            raise CommandFailed(f"--state {error}") from error
        self._server.restore(snapshot)
        note(f"restored {len(snapshot)} objects from {self._path}")

    @asynccontextmanager
    async def saving(self) -> AsyncIterator[None]:
        """Save at the start of the block, and periodically inside it.

        Later failures are printed on stderr, and saving is tried again.

        Raises:
            CommandFailed: the file cannot be written at the start.
        """
        if self._path is not None:
            try:
                await self._save_changes(self._path)
            except OSError as error:
                raise CommandFailed(f"--state {self._path}: cannot be written: {error.strerror or error}") from error
        self._used = True
        async with trio.open_nursery() as nursery:
            if self._path is not None:
                nursery.start_soon(self._save_by_and_by, self._path)
            yield
            nursery.cancel_scope.cancel()

    def save(self) -> None:
        """Save the last state, unless the server failed to start.

        Raises:
            CommandFailed: the file cannot be written.
        """
        if self._path is None or not self._used:
            return
        try:
            self._server.snapshot().save(self._path)
        except OSError as error:
            reason = error.strerror or error
            raise CommandFailed(f"--state {self._path}: the final state could not be saved: {reason}") from error

    async def _save_by_and_by(self, path: Path) -> None:
        while True:
            await trio.sleep(self._every)
            try:
                await self._save_changes(path)
            except OSError as error:
                note(f"warning: --state {path}: cannot be written now: {error.strerror or error}")

    async def _save_changes(self, path: Path) -> None:
        if self._server.revision == self._saved:
            await trio.lowlevel.checkpoint()
            return
        snapshot = self._server.snapshot()
        await trio.to_thread.run_sync(partial(snapshot.save, path, skip=_SKIP))
        self._saved = snapshot.revision


def _checked(path: Path) -> Path:
    path = path.absolute()
    folder = path.resolve().parent
    if not folder.is_dir():
        raise CommandFailed(f"--state {path}: the directory {folder} does not exist")
    if path.is_dir():
        raise CommandFailed(f"--state {path}: is a directory; pass the path of a file, which may not exist yet")
    if path.exists() and not path.is_file():
        raise CommandFailed(f"--state {path}: is not a regular file; pass the path of one, which may not exist yet")
    return path
