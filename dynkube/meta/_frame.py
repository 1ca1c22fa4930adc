"""Objects as columns of one type each, for data frames. Pure, and without any library of those.

What a column is does not depend on the rows that a library happens to look at: the server says it for its own columns,
and for others all values count. Where values are of several types (int-or-string, above all) they are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from dynkube.errors import InvalidInput, InvalidJSONPath
from dynkube.meta._encode import encode_json
from dynkube.meta._jsonpath import JSONPath
from dynkube.meta._object import Unstructured

if TYPE_CHECKING:
    from dynkube.meta._table import UnstructuredTable

Fields: TypeAlias = Mapping[str, "str | JSONPath | Callable[[Unstructured], object]"]
"""Columns by name: a kubectl JSONPath like ``"{.spec.replicas}"``, or a function of the object."""

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)\Z")
_CREATED: Final = "{.metadata.creationTimestamp}"
_LARGEST: Final = 2**63


class FrameType(StrEnum):
    """What the values of a column are, where they are not ``None``."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """One column: ``str``, ``int``, ``float``, ``bool`` or ``datetime`` in UTC, or ``None``."""

    name: str
    type: FrameType
    values: Sequence[object]


_DECLARED: Final = {
    "integer": FrameType.INTEGER,
    "number": FrameType.NUMBER,
    "boolean": FrameType.BOOLEAN,
    "date": FrameType.TIME,
}


def frame_of(objects: Iterable[Unstructured], fields: Fields | None, *, with_object: bool) -> list[FrameColumn]:
    """The columns of any objects: where they are, what they are called and since when they are there."""
    objects = list(objects)
    for obj in objects:
        if not isinstance(obj, Unstructured):
            raise InvalidInput(f"objects holds a {type(obj).__name__}: pass a list of objects, or an informer")
    return extended(object_columns(objects), objects, fields, with_object=with_object)


def object_columns(objects: Iterable[Unstructured]) -> list[FrameColumn]:
    """What every object has."""
    objects = list(objects)
    return [
        _namespaces(objects),
        FrameColumn("Name", FrameType.TEXT, [obj.name for obj in objects]),
        _by_path("Created", _CREATED, FrameType.TIME, objects),
    ]


def table_columns(table: UnstructuredTable) -> list[FrameColumn]:
    """The server's columns, each in the type it says. Times are exact where the server says what it prints."""
    objects = list(table)
    columns = [_namespaces(objects)] if table.namespaced else []
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.cells]
        declared = _DECLARED.get(column.type, FrameType.TEXT)
        if declared is FrameType.TEXT and not any(isinstance(cell, str) for cell in cells):
            declared = _common_type(cells)  # servers call counts text that they write as numbers (ConfigMaps' Data)
        if column.tells_age:
            columns.append(_by_path("Created", _CREATED, FrameType.TIME, objects))
        elif declared is FrameType.TIME and column.json_path:
            columns.append(_by_path(column.name, column.json_path, FrameType.TIME, objects))
        else:
            columns.append(_typed(column.name, declared, cells))
    return _with_names_of_their_own(columns)


def extended(
    columns: Sequence[FrameColumn], objects: Iterable[Unstructured], fields: Fields | None, *, with_object: bool
) -> list[FrameColumn]:
    """The columns, and those that are asked for; one of these takes the place of another of its name.

    Raises:
        InvalidInput: ``fields`` is no mapping of names to JSONPaths or functions.
        InvalidJSONPath: one of the paths is none.
    """
    objects = list(objects)
    named = {column.name: column for column in columns}
    for name, field in _checked(fields).items():
        values = [field(obj) for obj in objects]
        named[name] = _typed(name, _common_type(values), values)
    if with_object:
        if fields and "object" in fields:
            raise InvalidInput("fields has a column 'object', as with_object=True makes one: give it another name")
        named["object"] = FrameColumn("object", FrameType.TEXT, [obj.json.decode() for obj in objects])
    return list(named.values())


def _checked(fields: object) -> dict[str, Callable[[Unstructured], object]]:
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidInput(f"fields is a {type(fields).__name__}: pass names and JSONPaths, {{'image': '{{.spec.x}}'}}")
    readers: dict[str, Callable[[Unstructured], object]] = {}
    for name, field in (fields or {}).items():
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"fields: {name!r} is no name of a column")
        readers[name] = _field(name, field)
    return readers


def _field(name: str, field: object) -> Callable[[Unstructured], object]:
    if isinstance(field, JSONPath):
        return _reader(field)
    if isinstance(field, str):
        try:
            return _reader(JSONPath.compile(field))
        except InvalidJSONPath as exc:
            exc.add_note(f"it is the column {name!r} of fields")
            raise
    if callable(field):
        return field
    raise InvalidInput(f"fields: {name!r} is {field!r}: pass a JSONPath or a function of the object")


def _reader(path: JSONPath) -> Callable[[Unstructured], object]:
    def read(obj: Unstructured) -> object:
        found = path.find_json(obj.json)
        if len(found) > 1:  # as kubectl's custom columns print several
            return ",".join(_text(value) or "" for value in found)
        return found[0] if found else None

    return read


def _namespaces(objects: Iterable[Unstructured]) -> FrameColumn:
    return FrameColumn("Namespace", FrameType.TEXT, [obj.namespace or None for obj in objects])


def _by_path(name: str, path: str, wanted: FrameType, objects: Iterable[Unstructured]) -> FrameColumn:
    read = _reader(JSONPath.compile(path))
    return _typed(name, wanted, [read(obj) for obj in objects])


def _typed(name: str, wanted: FrameType, values: Sequence[object]) -> FrameColumn:
    """A column of the type that is wanted; of text, where one of the values does not fit."""
    if wanted is FrameType.TIME:
        moments = [None if value is None else _moment(value) for value in values]
        if all(moment is not None or value is None for moment, value in zip(moments, values, strict=True)):
            return FrameColumn(name, wanted, moments)
    elif wanted is not FrameType.TEXT and _common_type(values) in _FITTING[wanted]:
        return FrameColumn(name, wanted, [_as(wanted, value) for value in values])
    return FrameColumn(name, FrameType.TEXT, [_text(value) for value in values])


def _as(wanted: FrameType, value: object) -> object:
    return float(value) if wanted is FrameType.NUMBER and isinstance(value, int) else value


def _common_type(values: Iterable[object]) -> FrameType:
    """The type that all values have, text if there is none or they have several."""
    kinds = {_type_of(value) for value in values if value is not None}
    if kinds == {FrameType.INTEGER, FrameType.NUMBER}:
        return FrameType.NUMBER
    return kinds.pop() if len(kinds) == 1 else FrameType.TEXT


def _type_of(value: object) -> FrameType:
    match value:
        case bool():
            return FrameType.BOOLEAN
        case int():
            return FrameType.INTEGER if -_LARGEST <= value < _LARGEST else FrameType.TEXT
        case float():
            return FrameType.NUMBER
    return FrameType.TEXT if _moment(value) is None else FrameType.TIME


def _moment(value: object) -> datetime | None:
    try:
        if isinstance(value, str) and _MOMENT.match(value):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the 30th of February, and the first day there is in a zone ahead
        return None


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    try:
        return encode_json(value).decode()
    except TypeError:  # what a function of the caller's made
        return str(value)


_FITTING: Final = {
    FrameType.INTEGER: {FrameType.INTEGER},
    FrameType.NUMBER: {FrameType.NUMBER, FrameType.INTEGER},
    FrameType.BOOLEAN: {FrameType.BOOLEAN},
}


def _with_names_of_their_own(columns: Sequence[FrameColumn]) -> list[FrameColumn]:
    """A definition may print two columns under one name; data frames do not have that."""
    counts: dict[str, int] = {}
    named = []
    for column in columns:
        counts[column.name] = count = counts.get(column.name, 0) + 1
        name = column.name if count == 1 else f"{column.name} ({count})"
        named.append(FrameColumn(name, column.type, column.values))
    return named
