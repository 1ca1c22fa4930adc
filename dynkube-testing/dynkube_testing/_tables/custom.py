"""Tables of custom resources, by the ``additionalPrinterColumns`` of their CRD."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from dynkube.errors import InvalidJSONPath
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import CREATED_AT, NAME, Cell, Column, Printer
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.paths import ABSENT, FirstValue, first_value

# The default column of CRDs. Its type is date; the Age column of built-in kinds is a string.
_AGE: Mapping[str, object] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


_COLUMN = "Custom resource definition column (in JSONPath format)"


def custom_printer(columns: Sequence[Mapping[str, object]]) -> Printer:
    """Return the printer for ``additionalPrinterColumns``.

    Its first column is the name. A cell is the first result of the column's JSONPath.

    Args:
        columns: ``additionalPrinterColumns`` of the CRD; if empty, there is a column for the age. If the JSONPath of a
            column is invalid, this column and all after it are omitted, as in a real server.
    """
    found = [NAME]
    for each in columns or (_AGE,):
        fields = Fields(dict(each))
        try:
            found.append(_column(fields, first_value(fields.text("jsonPath"))))
        except InvalidJSONPath:
            break
    return Printer(tuple(found))


def _column(column: Fields, find: FirstValue) -> Column:
    convert = _CONVERT.get(column.text("type"), _nothing)
    path = column.text("jsonPath")
    default = CREATED_AT.description if path == _AGE["jsonPath"] else f"{_COLUMN}: {path}"
    return Column(
        name=column.text("name"),
        type=column.text("type"),
        format=column.text("format"),
        description=column.text("description") or default,
        priority=column.number("priority"),
        cell=lambda obj, ages: None if (value := find(obj.data)) is ABSENT else convert(value, ages),
    )


def _integer(value: object, _ages: Ages) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _number(value: object, _ages: Ages) -> Cell:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: object, _ages: Ages) -> Cell:
    return value if isinstance(value, bool) else None


def _date(value: object, ages: Ages) -> Cell:
    return ages.since(value) if isinstance(value, str) else None


def _nothing(_value: object, _ages: Ages) -> Cell:
    return None


def _text(value: object, _ages: Ages) -> Cell:
    """Format any value like kubectl's JSONPath."""
    match value:
        case str():
            return value
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _float_text(value)
    encoded = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    # Go's JSON encoder escapes these characters, so that its output is safe inside HTML.
    return encoded.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _float_text(value: float) -> str:
    """Format a float like Go's ``%v``.

    Integers have no fraction. Other numbers have an exponent from 1e6 on and below 1e-4.
    """
    if float(value).is_integer() and abs(value) < 2**63:
        return str(int(value))
    exact = Decimal(repr(float(value))).normalize()
    exponent = exact.adjusted()
    if -4 <= exponent < 6:
        return f"{exact:f}"
    return f"{exact.scaleb(-exponent):f}e{exponent:+03}"


_CONVERT: Mapping[str, Callable[[object, Ages], Cell]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "string": _text,
}
