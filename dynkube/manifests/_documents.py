"""Parse YAML or JSON into documents, with line numbers for objects and errors. Pure.

An error affects only its own document: ``---`` at the beginning of a line ends any open construct by YAML's own rules
(it is forbidden inside of scalars), so each document is parsed separately.
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
from dynkube.manifests._location import Place

# The start of a document, or a directive (%YAML 1.1), which belongs to the next document; and the lines that may be
# between a directive and the start.
_MARKER = re.compile(r"^(?:---(?=\s|\Z)|%)", re.MULTILINE)
# Files that editors save with a BOM, and that were joined, have one before any document or its marker.
_BOM = re.compile("^\ufeff", re.MULTILINE)
_BEFORE_MARKER = re.compile(r"(?:[%#][^\n]*)?(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document, or the error in it.

    Attributes:
        place: location of the document's beginning, or of the error.
        data: the parsed data.
        item_lines: line of each element of its ``items``, if known.
        error: the error, if the document cannot be parsed.
    """

    place: Place
    data: object = None
    item_lines: tuple[int, ...] = ()
    error: InvalidObject | None = None


def read_documents(text: str | bytes, name: str) -> list[Document]:
    """Parse every non-empty document in ``text``, in order.

    Args:
        text: YAML (multiple documents, as with kubectl) or JSON (multiple objects after each other).
        name: name of the source, for locations.
    """
    try:
        decoded = _BOM.sub("", text if isinstance(text, str) else _decode(text))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return [_mistake(Place(name, line), f"it is not UTF-8 text: {error.reason} at byte {error.start}")]
    if decoded.lstrip().startswith("{"):
        documents, mistake = _read_json(decoded, name)
        if mistake is None:
            return documents
        # It may be YAML in flow style. If it is neither JSON nor YAML, the file name decides which error is reported.
        as_yaml = list(_read_yaml(decoded, name))
        return [mistake] if name.endswith(".json") and any(found.error for found in as_yaml) else as_yaml
    return list(_read_yaml(decoded, name))


def _decode(text: bytes) -> str:
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # written by PowerShell's >
        return text.decode("utf-16")
    return text.decode("utf-8-sig")


def _mistake(place: Place, message: str) -> Document:
    return Document(place, error=InvalidObject(message))


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────


def _read_yaml(text: str, name: str) -> Iterator[Document]:
    from dynkube.meta._yaml import loading as yaml  # imports PyYAML, which applying dicts does not need

    for offset, chunk in _chunks(text):
        try:
            for found in yaml.load_all(chunk):
                place = Place(name, offset + found.line)
                yield Document(place, found.data, tuple(offset + line for line in found.item_lines))
        except yaml.MalformedYAML as error:
            place = Place(name, offset + (error.line or 1), error.column)
            yield _mistake(place, f"malformed YAML: {error.problem}")


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Yield each document's source, with the number of lines before it."""
    begin = line = 0
    for start in _starts(text):
        chunk = text[begin:start]
        yield line, chunk
        line += chunk.count("\n")
        begin = start
    yield line, text[begin:]


def _starts(text: str) -> Iterator[int]:
    """Yield the start of each document marked by ``---``, including its directives.

    Takes time linear in the number of lines.
    """
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
    """Return the objects in ``text``, and the error that ends them."""
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
    """Return the line of each item in the ``items`` of an object (valid JSON).

    Args:
        text: the source.
        position: offset of the object.
        line: line of the object.
    """
    decoder, lines, counted = json.JSONDecoder(), list[int](), position
    position = _next(text, position + 1)
    while text[position] == '"':
        name, position = decoder.raw_decode(text, position)
        position = _next(text, _next(text, position) + 1)  # after the colon
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
        raise ValueError(f'key "{repeated}" is duplicated')
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a valid JSON number")
