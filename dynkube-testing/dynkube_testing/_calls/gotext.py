"""Format values for error messages as Go does (``%v``, ``%q``, ``%T``, JSON)."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Final

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def shown(value: object) -> str:
    """Format ``value`` as after ``Invalid value:`` in a validation error."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    return compact(value)


def compact(value: object) -> str:
    """Encode ``value`` as JSON like Go.

    There are no spaces, keys are sorted, and HTML characters are escaped.
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return escape_html(text)


def escape_html(text: str) -> str:
    """Escape the characters ``<``, ``>`` and ``&`` in JSON, as Go's encoder does."""
    return text.translate(_HTML)


def quoted(text: str) -> str:
    """Quote ``text`` with Go's escapes (``%q``)."""
    escaped = text.translate(_ESCAPES)
    if not escaped.isprintable():
        escaped = "".join(each if each.isprintable() else _escape(ord(each)) for each in escaped)
    return f'"{escaped}"'


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
"""The format of times (RFC 3339)."""


def time_error(text: str) -> str:
    """Return the error of Go for a text that is not a time as in :data:`TIME`."""
    return f'parsing time {quoted(text)} as "2006-01-02T15:04:05Z07:00": cannot parse {quoted(text)} as "2006"'


def number(value: float) -> str:
    """Format a number like Go.

    It has no ``.0``, and very large and small values have an exponent.
    """
    if isinstance(value, int):
        return str(value)
    if math.isinf(value) or math.isnan(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    if value != 0 and not 1e-4 <= abs(value) < 1e21:
        mantissa, _, exponent = repr(Decimal(repr(value)).normalize().__format__("e")).strip("'").partition("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0")


def go_text(value: object) -> str:
    """Format a value like Go's ``%v``: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number(value)
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def go_source(value: object) -> str:
    """Format a value in Go syntax (``%#v``)."""
    match value:
        case dict():
            fields = ", ".join(f"{quoted(key)}:{go_source(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{fields}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(go_source, value))}}}"
        case str():
            return quoted(value)
    return go_text(value)


def json_name(value: object) -> str:
    """Return the name of a value's JSON type in Go's decoding errors."""
    names = {type(None): "null", bool: "bool", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def go_type(value: object) -> str:
    """Return the Go type (``%T``) of a decoded JSON value."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


_NAMED = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r"}
_ESCAPES = {code: f"\\{_NAMED[code]}" if code in _NAMED else f"\\x{code:02x}" for code in (*range(32), 127)}
_ESCAPES |= {ord('"'): '\\"', ord("\\"): "\\\\"}
