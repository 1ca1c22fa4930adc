"""Read manifests from files, folders, strings and mappings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dynkube._input_files import read_file
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._shape import check_shape
from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.nesting import MAX_DEPTH

#: Path of a file or folder, YAML or JSON string, one object, or an iterable of these.
Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | Iterable[Source]"

_SUFFIXES = {".yaml", ".yml", ".json"}

# Other objects depend on these, so they are created first, whatever the order of the files.
_FIRST = ("Namespace", "CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and its source location.

    Attributes:
        body: The decoded object; not shared with the caller or other manifests.
        origin: Location of the object's first line: ``FILE:LINE``, or ``<text>:LINE`` in a string; ``""`` if the source
            was a mapping.
    """

    body: JSONObject
    origin: str = ""


def read_manifests(source: Source) -> list[Manifest]:
    """Return the objects in ``source``, Namespaces and CRDs first.

    A ``str`` with a line break or an opening brace in it is parsed as YAML or JSON; any other ``str`` is a path. In a
    folder all ``.yaml``, ``.yml`` and ``.json`` files are read recursively, sorted by path. Lists as printed by kubectl
    (``kind: List``, ``ConfigMapList`` and the like) are replaced by their items. This is blocking file I/O.

    Raises:
        OSError: A path does not exist, cannot be read, is neither folder nor regular file, or is larger than 100 MiB.
        InvalidInput: Invalid YAML, or not a Kubernetes object; the message begins with file and line.
    """
    try:
        manifests = list(_read(source))
    except RecursionError:
        raise InvalidInput("the manifests contain themselves or are nested too deeply: pass a flat list") from None
    return sorted(manifests, key=lambda manifest: manifest.body.get("kind") not in _FIRST)


def _read(source: object) -> Iterator[Manifest]:
    if isinstance(source, Mapping):
        yield from _checked(dict(source), "")
    elif isinstance(source, str) and _is_text(source):
        yield from _parse(source, "<text>")
    elif isinstance(source, str | os.PathLike):
        yield from _read_path(Path(source))
    elif isinstance(source, bytes) or not isinstance(source, Iterable):
        raise InvalidInput(f"manifests must be a path, YAML text, a mapping or a list of these, not {a_type(source)}")
    else:
        for part in source:
            yield from _read(part)


def _is_text(source: str) -> bool:
    return "\n" in source or "{" in source


def _read_path(path: Path) -> Iterator[Manifest]:
    if not path.is_dir():
        yield from _parse(_text_of(path), str(path))
        return
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise InvalidInput(f"{path}: the folder has no .yaml, .yml or .json file")
    for file in files:
        yield from _parse(_text_of(file), str(file))


def _text_of(path: Path) -> bytes:
    return read_file(path, limit=yaml.MAX_TEXT_BYTES)


def _parse(text: str | bytes, name: str) -> Iterator[Manifest]:
    try:
        documents = list(yaml.load_located(text))
    except ValueError as error:
        raise InvalidInput(f"{name}: {error}") from None
    for line, document in documents:
        yield from _checked(document, f"{name}:{line}")


def _checked(document: object, origin: str) -> Iterator[Manifest]:
    check_shape(document, f"{origin}: the document" if origin else "the object", max_depth=MAX_DEPTH)
    yield from _flatten(document, origin)


def _flatten(document: object, origin: str) -> Iterator[Manifest]:
    where = f"{origin}: " if origin else ""
    if not isinstance(document, dict):
        raise InvalidInput(f"{where}a document is {a_type(document)}, not a Kubernetes object with apiVersion and kind")
    kind, items = document.get("kind"), document.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        # The items of a typed list (ConfigMapList) may omit apiVersion and kind.
        common = {} if kind == "List" else {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
        for index, item in enumerate(items):
            place = f"{origin}: items[{index}]" if origin else f"items[{index}]"
            yield from _flatten({**common, **item} if isinstance(item, dict) else item, place)
    else:
        yield Manifest(document, origin)
