"""Defaults of built-in kinds, by tables of the defaults of each Go type.

An entry of a type is a map of fields to their defaults, or a function of the object. A default is set if the field is
missing or an empty string; ``{}`` and lists are copied. The entries of a type are applied in order, and before those of
the types of its fields. In all types, fields that are structs by value are never missing, and quantities are written in
their canonical form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dynkube_testing._builtin.sections import fill
from dynkube_testing._builtin.types import QUANTITY, FieldType, fields_of, published, reaching
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.quantities import normalize

Default: TypeAlias = "Mapping[str, Any] | Callable[[JSONObject], None]"
Table: TypeAlias = Mapping[str, Sequence[Default]]


class TypeDefaults:
    """The defaults of all types."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._entries = {published(name): entries for table in tables for name, entries in table.items()}
        self._fields: dict[str, list[tuple[str, FieldType]]] = {}
        self._reaches = reaching(self._has_defaults)

    def complete(self, type: str, obj: JSONObject, *, flat: bool = False) -> None:  # noqa: A002 - the word of Go
        """Set the defaults of a whole object, except in its metadata; a missing status stays missing.

        With ``flat`` it has no parts with defaults, and the schemas are not read.
        """
        if flat:
            self._apply(type, obj)
        else:
            self._complete(type, obj, whole=True)

    def _has_defaults(self, name: str) -> bool:
        return name == QUANTITY or name in self._entries or any(each.by_value for each in fields_of(name).values())

    def _of(self, name: str) -> list[tuple[str, FieldType]]:
        """Return the fields of a type that have defaults, at any depth."""
        if name not in self._fields:
            fields = fields_of(name).items()
            self._fields[name] = [
                (key, of) for key, of in fields if (of.name and self._reaches(of.name)) or of.by_value
            ]
        return self._fields[name]

    def _apply(self, name: str, obj: JSONObject) -> None:
        for entry in self._entries.get(name, ()):
            if callable(entry):
                entry(obj)
            else:
                fill(obj, **entry)

    def _complete(self, name: str, obj: JSONObject, *, whole: bool = False) -> None:
        self._apply(name, obj)
        for field, of in self._of(name):
            value = obj.get(field)
            if value is None and of.by_value and not (whole and field == "status"):
                value = obj[field] = {}
            if value is None or (whole and field == "metadata"):
                continue
            if of.name == QUANTITY and of.many != "items":
                normalize(obj, field)
            else:
                for part in _parts(value, of):
                    self._complete(of.name, part)


def _parts(value: Any, of: FieldType) -> Iterator[JSONObject]:
    """Yield the objects in the value of a field: itself, or those in its list or map."""
    match value:
        case list():
            yield from (item for item in value if isinstance(item, dict))
        case dict() if of.many:
            yield from (item for item in value.values() if isinstance(item, dict))
        case dict():
            yield value
