"""From text to documents: YAML or JSON, each document with its line, each mistake with line and column. Pure.

A mistake costs the document that it is in, and not those around it: ``---`` at the beginning of a line ends whatever
is open, by YAML's own rules (it is forbidden inside of scalars), so each document is read by itself.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from dynkube.errors import InvalidObject
from dynkube.manifests._place import Place

# Where a document begins, or a directive (%YAML 1.1) that belongs to the document after it; and what may stand between
# the two.
_MARKER = re.compile(r"^(?:---(?=\s|\Z)|%)", re.MULTILINE)
_BEFORE_MARKER = re.compile(r"(?:[%#][^\n]*)?(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Document:
    """One document, or what is wrong with it.

    Attributes:
        place: where it begins, or where the mistake is.
        data: what it says.
        item_lines: the lines of its ``items``, where they are known.
        error: why there is no data.
    """

    place: Place
    data: object = None
    item_lines: tuple[int, ...] = ()
    error: InvalidObject | None = None


def read_documents(text: str | bytes, name: str) -> list[Document]:
    """Every document in ``text`` that is not empty, in order.

    Args:
        text: YAML (several documents, as kubectl reads them) or JSON (several objects after each other).
        name: what the text is called in places.
    """
    try:
        decoded = text if isinstance(text, str) else _decode(text)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return [_mistake(Place(name, line), f"it is not UTF-8 text: {error.reason} at byte {error.start}")]
    if decoded.lstrip().startswith("{"):
        documents, mistake = _read_json(decoded, name)
        if mistake is None:
            return documents
        # What is no JSON may be YAML in braces; if it is neither, the name says which one was meant.
        as_yaml = list(_read_yaml(decoded, name))
        return [mistake] if name.endswith(".json") and any(found.error for found in as_yaml) else as_yaml
    return list(_read_yaml(decoded, name))


def _decode(text: bytes) -> str:
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # what PowerShell's > writes
        return text.decode("utf-16")
    return text.decode("utf-8-sig")


def _mistake(place: Place, message: str) -> Document:
    return Document(place, error=InvalidObject(message))


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────


def _read_yaml(text: str, name: str) -> Iterator[Document]:
    from dynkube.meta import yaml  # PyYAML: needed by nobody who applies dicts

    for offset, chunk in _chunks(text):
        try:
            for found in yaml.load_all(chunk):
                place = Place(name, offset + found.line)
                yield Document(place, found.data, tuple(offset + line for line in found.item_lines))
        except yaml.MalformedYAML as error:
            place = Place(name, offset + (error.line or 1), error.column)
            yield _mistake(place, f"malformed YAML: {error.problem}")


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Each document's text, with the number of lines before it."""
    begin = line = 0
    for start in _starts(text):
        chunk = text[begin:start]
        yield line, chunk
        line += chunk.count("\n")
        begin = start
    yield line, text[begin:]


def _starts(text: str) -> Iterator[int]:
    """Where the documents begin that begin with ``---``, with the directives before it. Each line is looked at once."""
    position = 0
    while (found := _MARKER.search(text, position)) is not None:
        start, position = found.span()
        if found[0] == "---":
            yield start
            continue
        position = start
        while position < len(text) and (line := _BEFORE_MARKER.match(text, position)) is not None:
            position = line.end()
        if (marker := _MARKER.match(text, position)) is not None:
            yield start
            position = marker.end()


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────


def _read_json(text: str, name: str) -> tuple[list[Document], Document | None]:
    """The objects in ``text``, and the mistake that ends them."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_refuse, parse_float=_finite)
    documents: list[Document] = []
    position, line, counted = 0, 1, 0
    while (position := _next(text, position)) < len(text):
        line += text.count("\n", counted, position)
        counted = position
        try:
            data, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            return documents, _mistake(Place(name, error.lineno, error.colno), f"malformed JSON: {error.msg}")
        except (ValueError, RecursionError) as error:
            return documents, _mistake(Place(name, line), f"malformed JSON: {error}")
        items = _item_lines(text, counted, line) if isinstance(data, dict) and data.get("items") else ()
        documents.append(Document(Place(name, line), data, items))
    return documents, None


def _next(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _item_lines(text: str, position: int, line: int) -> tuple[int, ...]:
    """The line of each item in the ``items`` of an object, which has been read before without mistakes.

    Args:
        text: where it stands.
        position: where it begins.
        line: of its beginning.
    """
    decoder, lines, counted = json.JSONDecoder(), list[int](), position
    position = _next(text, position + 1)
    while text[position] == '"':
        name, position = decoder.raw_decode(text, position)
        position = _next(text, _next(text, position) + 1)  # behind the colon
        if name == "items" and text[position] == "[":
            break
        _, position = decoder.raw_decode(text, position)
        position = _next(text, _next(text, position) + 1)
    else:
        return ()
    position = _next(text, position + 1)
    while text[position] != "]":
        line += text.count("\n", counted, position)
        lines.append(line)
        counted = position
        _, position = decoder.raw_decode(text, position)
        position = _next(text, position)
        position = _next(text, position + 1) if text[position] == "," else position
    return tuple(lines)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f'key "{repeated}" is there twice')
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number that JSON has")
