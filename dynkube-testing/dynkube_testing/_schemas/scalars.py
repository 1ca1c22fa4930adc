"""Validation of scalars: type, enum, length, pattern, number range and format."""

from __future__ import annotations

import math
from typing import Any, Final

from dynkube_testing._calls.gotext import compact, number, quoted, shown
from dynkube_testing._schemas.correlation import same_json
from dynkube_testing._schemas.findings import NOT_SUPPORTED, TOO_LONG, TYPE_INVALID, Finding, Findings, invalid, overall
from dynkube_testing._schemas.formats import FORMATS, checked_format
from dynkube_testing._schemas.patterns import BadPattern, Pattern, compile_pattern
from dynkube_testing._schemas.structural import Node

_INT64: Final = range(-(2**63), 2**63)
_INT32: Final = range(-(2**31), 2**31)
_MAX_FLOAT32: Final = 3.4028234663852886e38


def json_type(value: object) -> str:
    """Return the JSON schema type of a decoded value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer" if value in _INT64 else "number"
    if isinstance(value, float):
        return "number"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null"


class Scalars:
    """The checks of one schema for scalars, and for the type and enum of any value.

    Attributes:
        typed: Whether the schema restricts the type at all.
    """

    __slots__ = (
        "_enum",
        "_format",
        "_format_check",
        "_numeric",
        "_pattern",
        "_source",
        "_strings",
        "_text",
        "_types",
        "typed",
    )

    def __init__(self, node: Node) -> None:
        source = node.source
        self._source = source
        self._types = node.types
        given: str = source.get("format") or ""
        plain = checked_format(given, node.types) if given else ""
        self._format = given if plain else ""
        self._format_check = FORMATS.get(plain)
        self.typed = bool(self._types or self._format)
        self._enum: list[Any] = source.get("enum") or []
        # Most enums are strings: the lookup in a set keeps a long list of values from taking quadratic time.
        self._strings = frozenset(item for item in self._enum if isinstance(item, str))
        self._text = any(source.get(keyword) is not None for keyword in ("minLength", "maxLength", "pattern"))
        self._pattern: Pattern | None = None
        self._numeric = any(source.get(keyword) is not None for keyword in ("minimum", "maximum", "multipleOf"))

    # ── type and enum ─────────────────────────────────────────────────────────────────────

    def check_type(self, value: object, nullable: bool, path: str) -> Finding | None:
        """Return a finding if the type of ``value`` is not allowed."""
        types, found = self._types, json_type(value)
        if value is None:
            return None if nullable or not types else _wrong_type(path, ",".join(types), "null")
        fits = found in types or (found == "integer" and "number" in types)
        fits = fits or (found == "number" and "integer" in types and _is_whole(value))
        if fits:
            return None
        if self._format:
            if isinstance(value, str | list):
                if "number" not in types and "integer" not in types:
                    return None  # check_format checks it
            else:
                return _wrong_type(path, self._format, _GO_FORMATS.get(found, ""))
        return _wrong_type(path, ",".join(types), found)

    def check_enum(self, value: object, path: str) -> Finding | None:
        """Return a finding if ``value`` is not in the enum; ``null`` never matches."""
        if not self._enum or (isinstance(value, str) and value in self._strings):
            return None
        if value is not None and not isinstance(value, str) and any(same_json(value, item) for item in self._enum):
            return None
        listed = [item if isinstance(item, str) else compact(item) for item in self._enum]
        supported = ", ".join(quoted(item) for item in listed)
        text = f"{path} in body should be one of [{' '.join(listed)}]"
        return Finding(text, f"Unsupported value: {shown(value)}: supported values: {supported}", NOT_SUPPORTED, path)

    # ── text ──────────────────────────────────────────────────────────────────────────────

    def check_text(self, value: str, path: str) -> Finding | None:
        """Check the length and the pattern of a string; return the first violation only."""
        if not self._text:
            return None
        longest, shortest, pattern = (self._source.get(key) for key in ("maxLength", "minLength", "pattern"))
        if longest is not None and len(value) > longest:
            limit = "1 byte" if longest == 1 else f"{longest} bytes"
            text = f"{path} in body should be at most {longest} chars long"
            return Finding(text, f"Too long: may not be more than {limit}", TOO_LONG, path)
        if shortest is not None and len(value) < shortest:
            return invalid(path, value, f"{path} in body should be at least {shortest} chars long")
        if pattern and not self._matches(pattern, value):
            return invalid(path, value, f"{path} in body should match '{pattern}'")
        return None

    def _matches(self, pattern: str, value: str) -> bool:
        """Return whether ``value`` contains a match of ``pattern``, compiled on first use."""
        if self._pattern is None:
            try:
                self._pattern = compile_pattern(pattern)
            except BadPattern:
                return True  # such a CRD has already been rejected
        return self._pattern.found_in(value)

    @property
    def has_text_format(self) -> bool:
        """Whether strings are checked against a format."""
        return self._format_check is not None

    def check_format(self, value: str, path: str) -> Finding | None:
        """Return a finding if a string does not match the schema's ``format``."""
        if self._format_check is None or self._format_check(value):
            return None
        text = f"{path} in body must be of type {self._format}: {quoted(value)}"
        return invalid(path, value, text, TYPE_INVALID)

    # ── numbers ───────────────────────────────────────────────────────────────────────────

    def check_number(self, value: float, path: str) -> Findings:
        """Check a number: range of its type, ``multipleOf``, ``minimum``, ``maximum``."""
        result = Findings(checks=1)
        if problem := self._out_of_range(value, "Checked", path):
            result.add([problem])
        if not self._numeric:
            return result
        source = self._source
        limits = (
            ("multipleOf", "MultipleOf", _not_multiple, False),
            ("minimum", "Minimum boundary", _below, source.get("exclusiveMinimum") is True),
            ("maximum", "Maximum boundary", _above, source.get("exclusiveMaximum") is True),
        )
        for keyword, words, check, exclusive in limits:
            limit = source.get(keyword)
            if limit is None:
                continue
            problem = self._out_of_range(limit, words, path)
            if problem is not None:
                result.add([problem])
            elif isinstance(value, int) and value in _INT64:
                limit = int(limit)
            if found := check(value, limit, exclusive, path):
                result.add([found])
        return result

    def _out_of_range(self, value: float, words: str, path: str) -> Finding | None:
        only = self._types[0] if len(self._types) == 1 else ""
        if only == "integer":
            whole = isinstance(value, int) or value.is_integer()
            fits = whole and int(value) in (_INT32 if self._format == "int32" else _INT64)
        else:
            fits = only != "number" or self._format != "float" or abs(value) <= _MAX_FLOAT32
        if fits:
            return None
        kind = f"with format {self._format}" if self._format else "(default format)"
        return overall(f"{words} value must be of type {only} {kind} in {path}")


_GO_FORMATS = {"integer": "int64", "number": "float64"}


def _wrong_type(path: str, wanted: str, found: str) -> Finding:
    text = f"{path} in body must be of type {wanted}: {quoted(found)}"
    return invalid(path, found, text, TYPE_INVALID)


def _is_whole(value: Any) -> bool:
    """Return whether a number is an integer, apart from rounding errors."""
    if abs(value) > 2**53 - 1:  # before float(), which fails for very large integers
        return False
    number = float(value)
    if not math.isfinite(number):
        return False
    whole = math.trunc(number)
    return whole == number or (whole != 0 and abs(number - whole) / (abs(number) + abs(whole)) < 1e-9)


def _not_multiple(value: float, factor: float, _exclusive: bool, path: str) -> Finding | None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        return invalid(path, factor, text)
    if isinstance(value, int) and isinstance(factor, int):
        fits = value % factor == 0
    else:
        fits = _is_whole(1 / factor * value if factor < 1 else value / factor)
    return None if fits else invalid(path, value, f"{path} in body should be a multiple of {number(factor)}")


def _below(value: float, least: float, exclusive: bool, path: str) -> Finding | None:
    if value > least or (value == least and not exclusive):
        return None
    words = "greater than" if exclusive else "greater than or equal to"
    return invalid(path, value, f"{path} in body should be {words} {number(least)}")


def _above(value: float, most: float, exclusive: bool, path: str) -> Finding | None:
    if value < most or (value == most and not exclusive):
        return None
    words = "less than" if exclusive else "less than or equal to"
    return invalid(path, value, f"{path} in body should be {words} {number(most)}")
