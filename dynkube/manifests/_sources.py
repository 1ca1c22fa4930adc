"""Convert a source to manifests.

A source may have dicts, objects, strings, files, directories and standard input.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import trio

from dynkube._input_files import read_descriptor, read_file
from dynkube.errors import InvalidInput
from dynkube.manifests._documents import read_documents
from dynkube.manifests._location import Place
from dynkube.manifests._manifest import Manifest, from_data, from_document, refuse_contradictions
from dynkube.meta._arguments import a_type
from dynkube.meta._input_limits import MAX_TEXT_BYTES

ManifestSource: TypeAlias = "str | bytes | os.PathLike[str] | Mapping[str, object] | Iterable[ManifestSource]"
"""Objects, YAML or JSON, paths of files and directories, ``"-"`` for standard input, or an iterable of these."""

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_STDIN = "-"
_SHORT = 10_000  # bytes of YAML that are parsed in a few milliseconds; encoding objects of this size takes less
_FEW = 500  # number of manifests that are compared in a few milliseconds
_OVERHEAD = 500  # fixed cost of an object, in bytes


@dataclass(frozen=True, slots=True)
class _Text:
    name: str
    text: str | bytes


@dataclass(frozen=True, slots=True)
class _Data:
    name: str
    data: Mapping[str, object]


Leaf: TypeAlias = "_Data | _Text | Path | None"
"""One thing to read; ``None`` is standard input."""


def leaves(source: object) -> list[Leaf]:
    """Flatten ``source`` into its elements, without reading files or objects.

    A ``str`` with a line break or a brace is content, ``"-"`` is standard input, any other ``str`` is a path.

    Raises:
        InvalidInput: an element is not a valid source.
    """
    found: list[Leaf] = []
    objects = texts = 0
    try:
        unfolded = list(_leaves(source))
    except RecursionError:
        raise InvalidInput("source contains itself or is nested too deeply: pass a flat list") from None
    for leaf in unfolded:
        if isinstance(leaf, Mapping):
            objects += 1
            found.append(_Data(f"<object {objects}>", leaf))
        elif isinstance(leaf, _Text):
            texts += 1
            found.append(leaf if texts == 1 else replace(leaf, name=f"<text {texts}>"))
        else:
            found.append(leaf)
    return found


def _leaves(source: object) -> Iterator[_Text | Path | Mapping[str, object] | None]:
    if isinstance(source, Mapping):
        yield source
    elif isinstance(source, bytes):
        yield _Text("<text>", source)
    elif isinstance(source, str):
        yield from _of_text(source)
    elif isinstance(source, os.PathLike):
        yield _path(os.fspath(source))
    elif isinstance(source, Iterable):
        for part in source:
            yield from _leaves(part)
    else:
        raise InvalidInput(
            f"source is {a_type(source)}: pass objects, YAML or JSON text, paths of files or folders, "
            "'-' for standard input, or a list of these"
        )


def _of_text(source: str) -> Iterator[_Text | Path | None]:
    if not source.strip():
        raise InvalidInput("source is an empty string: pass a path, YAML or JSON, or '-' for standard input")
    if source == _STDIN:
        yield None
    elif "\n" in source or "{" in source:
        yield _Text("<text>", source)
    else:
        yield _path(source)


def _path(text: str) -> Path:
    if text.startswith(("https://", "http://")):
        raise InvalidInput(f"source {text!r} is a URL: download it, and pass its content or its path")
    if "\0" in text:
        raise InvalidInput(f"source {text[:80]!r} contains a NUL character, so it is neither a path nor YAML or JSON")
    return Path(text)


async def read_async(found: Sequence[Leaf], stdin: Callable[[], bytes]) -> list[Manifest]:
    """Like :func:`read`, without blocking the event loop.

    Objects are read in the event loop, a few at a time, as the caller's code in the loop may modify them. All other
    sources are read in a thread, which is abandoned on cancellation.
    """
    manifests: list[Manifest] = []
    for is_data, group in groupby(found, lambda leaf: isinstance(leaf, _Data)):
        some = list(group)
        if is_data:
            await _read_data(some, stdin, manifests)
        elif _is_slow(some):
            # Standard input may never end, so the thread has to be abandoned on cancellation.
            manifests += await trio.to_thread.run_sync(partial(read, some, stdin), abandon_on_cancel=True)
        else:
            manifests += read(some, stdin)
    return manifests


async def _read_data(found: Iterable[Leaf], stdin: Callable[[], bytes], manifests: list[Manifest]) -> None:
    done = 0
    for leaf in found:
        if done > _SHORT:
            await trio.lowlevel.checkpoint()
            done = 0
        for manifest in _read_leaf(leaf, stdin):
            manifests.append(manifest)
            done += _OVERHEAD + (len(manifest.object.json) if manifest.object is not None else 0)
    await trio.lowlevel.checkpoint()


async def judged(manifests: Sequence[Manifest], namespace: str) -> list[Manifest]:
    """Call :func:`refuse_contradictions`; for many manifests in a thread."""
    judging = partial(refuse_contradictions, manifests, namespace)
    if len(manifests) <= _FEW:
        return judging()
    return await trio.to_thread.run_sync(judging, abandon_on_cancel=True)


def _is_slow(found: Sequence[Leaf]) -> bool:
    return any(not isinstance(leaf, _Text) for leaf in found) or _length(found) > _SHORT


def _length(found: Iterable[Leaf]) -> int:
    return sum(len(leaf.text) for leaf in found if isinstance(leaf, _Text))


def read(found: Iterable[Leaf], stdin: Callable[[], bytes]) -> list[Manifest]:
    """Read all sources, in order. Blocks on the file system and on ``stdin``.

    Directories are searched recursively for ``.yaml``, ``.yml`` and ``.json`` files, in the order of their paths; names
    that start with a dot are skipped. A file that cannot be read, is not a regular file (other than ``-``) or is larger
    than 100 MiB gives a manifest with an error.
    """
    return [manifest for leaf in found for manifest in _read_leaf(leaf, stdin)]


def _read_leaf(leaf: Leaf, stdin: Callable[[], bytes]) -> Iterator[Manifest]:
    if isinstance(leaf, _Data):
        yield from_data(leaf.data, Place(leaf.name))
    elif isinstance(leaf, Path):
        yield from _read_path(leaf)
    elif leaf is None:
        yield from _read_stdin(stdin)
    else:
        for document in read_documents(leaf.text, leaf.name):
            yield from from_document(document)


def _read_stdin(stdin: Callable[[], bytes]) -> Iterator[Manifest]:
    try:
        text = stdin()
    except OSError as error:
        yield _unreadable(Path("<stdin>"), error)
        return
    for document in read_documents(text, "<stdin>"):
        yield from from_document(document)


def _read_path(path: Path) -> Iterator[Manifest]:
    try:
        files = sorted(_files_below(path)) if path.is_dir() else [path]
    except OSError as error:  # perhaps for a subdirectory
        yield _unreadable(Path(error.filename or path), error)
        return
    if not files:
        nothing = InvalidInput("it has no .yaml, .yml or .json file")
        yield Manifest(place=Place(str(path)), error=nothing)
    for file in files:
        try:
            text = read_file(file, limit=MAX_TEXT_BYTES)
        except OSError as error:
            yield _unreadable(file, error)
            continue
        for document in read_documents(text, str(file)):
            yield from from_document(document)


def _files_below(folder: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(folder, onerror=_raise):
        names[:] = [name for name in names if not name.startswith(".")]
        for file in files:
            path = Path(directory, file)
            if path.suffix in _SUFFIXES and not file.startswith("."):
                yield path


def _raise(error: OSError) -> None:
    raise error


def _unreadable(path: Path, error: OSError) -> Manifest:
    why = "no such file or directory" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
    return Manifest(place=Place(str(path)), error=InvalidInput(f"it cannot be read: {why}"))


def read_stdin() -> bytes:
    """Read all of standard input, 100 MiB at most. Blocks until EOF.

    Uses the file descriptor: a thread abandoned in ``sys.stdin`` would hold a lock that the interpreter needs at exit.

    Raises:
        OSError: standard input cannot be read, or is larger; or the process was started without it, so that its
            descriptor belongs to another file.
    """
    if sys.__stdin__ is None:
        raise OSError(errno.EBADF, "it is closed")
    return read_descriptor(0, "<stdin>", limit=MAX_TEXT_BYTES)
