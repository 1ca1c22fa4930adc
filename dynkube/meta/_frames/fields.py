"""The fields of data frames: values of objects by JSONPaths and functions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from dynkube.errors import InvalidInput, InvalidJSONPath, InvalidObject
from dynkube.meta._arguments import a_type
from dynkube.meta._frames.values import text_of, without_numpy
from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._object import Unstructured
from dynkube.meta._partial import MISSING, partial_readers

Fields: TypeAlias = Mapping[str, "str | JSONPath | Callable[[Unstructured], object]"]
"""Columns by name: a kubectl JSONPath, or a function of the object.

Example: ``{"replicas": "{.spec.replicas}"}``.
"""

Field: TypeAlias = JSONPath | Callable[[Unstructured], object]


def checked_fields(fields: object) -> dict[str, Field]:
    """Return fields with compiled paths.

    Raises:
        InvalidInput: ``fields`` is not a mapping of names to JSONPaths or functions.
        InvalidJSONPath: a path does not parse.
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidInput(
            f"fields is {a_type(fields)}: pass a dict of column names and JSONPaths, {{'image': '{{.spec.x}}'}}"
        )
    result: dict[str, Field] = {}
    for name, field in (fields or {}).items():
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"fields: {name!r} is not a column name (a non-empty string)")
        result[name] = _checked(name, field)
    return result


def _checked(name: str, field: object) -> Field:
    if isinstance(field, JSONPath):
        return field
    if isinstance(field, str):
        try:
            return JSONPath.compile(field)
        except InvalidJSONPath as exc:
            exc.add_note(f"in column {name!r} of fields")
            raise
    if callable(field):
        return field
    raise InvalidInput(f"fields: {name!r} is {field!r}: pass a JSONPath or a function of the object")


def read_fields(objects: Iterable[Unstructured], fields: Mapping[str, Field]) -> dict[str, list[object]]:
    """Return the values of each field, one for each object; ``None`` if it has none.

    One pass over an object's bytes reads all paths that consist of names alone.
    """
    if not fields:
        return {}
    simple, others = _split(fields)
    read = partial_readers(tuple(simple.values()))
    columns: dict[str, list[object]] = {name: [] for name in fields}
    adders = [columns[name].append for name in (*simple, *others)]
    for obj in objects:
        raw = obj.json  # once for all fields, as this decompresses an object of a compact cache
        try:
            row = read(raw) if simple else []
        except InvalidObject as exc:
            exc.add_note(f"in columns {', '.join(map(repr, simple))} of fields, for {obj!r}")
            raise
        row += [_value(name, field, obj, raw) for name, field in others.items()]
        for add, value in zip(adders, row, strict=True):
            add(None if value is MISSING else value)
    return columns


def _split(fields: Mapping[str, Field]) -> tuple[dict[str, tuple[str, ...]], dict[str, Field]]:
    """Return the paths that consist of names alone, and all other fields."""
    simple: dict[str, tuple[str, ...]] = {}
    others: dict[str, Field] = {}
    for name, field in fields.items():
        if isinstance(field, JSONPath) and field.simple_path is not None:
            simple[name] = field.simple_path
        else:
            others[name] = field
    return simple, others


def _value(name: str, field: Field, obj: Unstructured, raw: bytes) -> object:
    try:
        if not isinstance(field, JSONPath):
            return without_numpy(field(obj))
        found = field.find_json(raw)
    except Exception as exc:
        exc.add_note(f"in column {name!r} of fields, for {obj!r}")
        raise
    if len(found) > 1:  # as kubectl's custom columns join several matches
        return ",".join(text_of(value) or "" for value in found)
    return found[0] if found else None
