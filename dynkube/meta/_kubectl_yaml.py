"""YAML output of ``kubectl get -o yaml``.

Key order, quoting, block styles and line breaks are those of go-yaml. Import this module only when needed, as it loads
PyYAML. PyYAML's emitter is libyaml. go-yaml is a translation of libyaml, but differs in the style chosen for a string,
and in key order. If PyYAML was built without libyaml, long quoted strings are wrapped at other positions, with the same
meaning.

Three deliberate differences from kubectl. kubectl writes U+0085 as a blank, and cannot print DEL or U+FFFF at all; here
they are kept. After a byte order mark kubectl escapes everything that follows. A string that ends in U+2028 or U+2029
is double-quoted here, since libyaml would append blanks that YAML 1.2 reads as part of the string.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cmp_to_key
from itertools import takewhile
from typing import Any, Final, cast

import yaml

from dynkube.meta._yaml.loading import reads_as_text

# Strings that go-yaml parses as a timestamp; in days and hours it checks only the number of digits.
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:"
    r"[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?\Z"
)
_SEXAGESIMAL: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")

_BEGIN_NUMBERS: Final = frozenset("+-0123456789")  # first characters of scalars in which go-yaml skips underscores
_SIGNED_BINARY: Final = re.compile(r"0b_*[-+][01_]*[01][01_]*\Z")  # a number to go-yaml only
# go-yaml also skips underscores between digits in scalars that begin with a point
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_BREAKS: Final = ("\u2028", "\u2029")
_INTEGERS: Final = range(-(2**63), 2**63)  # integers beyond them are floats in Go
_WORD: Final = 2**64
_LARGEST: Final = int(sys.float_info.max)  # Go parses no greater number, and kubectl prints none
_SMALL, _LARGE = 4, 6  # between these exponents strconv's format 'g' writes none

_Emitter: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def kubectl_yaml(document: Mapping[str, object]) -> str:
    """Return one YAML document that ends in a line break, as kubectl writes it."""
    text: str = yaml.emit(_events(document), Dumper=_Emitter, allow_unicode=True)
    # libyaml writes a document end marker after a block scalar that keeps its line breaks, go-yaml does not. No other
    # line begins with it.
    return text[:-4] if text.endswith("\n...\n") else text


def printed(document: dict[str, Any], *, managed_fields: bool) -> dict[str, Any]:
    """Remove the parts of a document that kubectl does not print.

    Modifies ``document``, and returns it.
    """
    if not managed_fields and isinstance(metadata := document.get("metadata"), dict):
        metadata.pop("managedFields", None)
    return document


def _events(document: object) -> Iterator[yaml.Event]:
    """Yield the emitter events of a document.

    Not recursive, as objects may be nested to any depth.
    """
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    pending: list[Iterator[object]] = [iter((document,))]
    ends: list[yaml.Event] = [yaml.DocumentEndEvent(explicit=False)]
    while pending:
        for value in pending[-1]:
            if isinstance(value, Mapping):
                yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
                pending.append(_pairs(value))
                ends.append(yaml.MappingEndEvent())
                break
            if isinstance(value, list | tuple):
                yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
                pending.append(iter(value))
                ends.append(yaml.SequenceEndEvent())
                break
            yield _scalar(value)
        else:
            pending.pop()
            yield ends.pop()
    yield yaml.StreamEndEvent()


def _pairs(mapping: Mapping[str, object]) -> Iterator[object]:
    for key in sorted(mapping, key=_order):
        yield key
        yield mapping[key]


def _scalar(value: object) -> yaml.ScalarEvent:
    """Return a scalar in the style that go-yaml would choose; tags are never written."""
    style = None
    match value:
        case str():
            text = value
            style = "|" if "\n" in text else None if _may_be_plain(text) and not text.endswith(_BREAKS) else '"'
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case int() if value in _INTEGERS:
            text = str(value)
        case int() if abs(value) > _LARGEST:
            text = f"{Decimal(value):f}"  # Python's str() stops at 4,300 digits
        case _:
            text = _number_text(float(cast("float", value)))
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _number_text(number: float) -> str:
    """Return the shortest string that reads as this number.

    Non-integers get an exponent from a million on.
    """
    decimal = Decimal(repr(number))
    if decimal == decimal.to_integral_value() and -(_WORD // 2) <= decimal < _WORD:
        return str(int(decimal))  # JSON has one kind of number, and Go writes whole ones without a fraction
    exponent = decimal.adjusted()
    if -_SMALL <= exponent < _LARGE:
        return f"{decimal:f}"
    sign, digits, _ = decimal.as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    rest = f".{figures[1:]}" if figures[1:] else ""
    return f"{'-' if sign else ''}{figures[0]}{rest}e{exponent:+03d}"


def _may_be_plain(text: str) -> bool:
    """Whether go-yaml reads the unquoted scalar as a string."""
    if not reads_as_text(text) or _MOMENT.match(text) or _SEXAGESIMAL.match(text):
        return False
    if _SIGNED_BINARY.match(text):
        return False
    if text.startswith("."):
        return reads_as_text(_BETWEEN_DIGITS.sub("", text))
    return text[:1] not in _BEGIN_NUMBERS or reads_as_text(text.replace("_", ""))


def _compare(first: str, second: str) -> int:
    """Compare keys in natural order.

    Non-letters come before letters, and numbers are compared by value. go-yaml's rule is not transitive for some keys
    (a9, a10, a1b), and prints those in varying order.
    """
    for at, (a, b) in enumerate(zip(first, second, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return _sign(a, b) if a.isalpha() == b.isalpha() else _sign(a.isalpha(), b.isalpha())
        before = int("0" in (a, b) and _follows_figures(first, at))
        return _sign((_figures(first, at, before), a), (_figures(second, at, before), b))
    return _sign(len(first), len(second))


def _follows_figures(text: str, at: int) -> bool:
    """Whether a nonzero number ends just before ``at``.

    If so, a zero at this position is a digit of that number, not a leading zero.
    """
    return any(figure != "0" for figure in takewhile(str.isdecimal, reversed(text[:at])))


def _figures(text: str, at: int, before: int) -> tuple[int, int]:
    """Return value and length of the number that begins at ``at``.

    The value wraps at 64 bits, as in Go.
    """
    value = before
    figures = list(takewhile(str.isdecimal, text[at:]))
    for figure in figures:
        value = (value * 10 + ord(figure) - ord("0")) % _WORD
    return value - _WORD if value >= _WORD // 2 else value, len(figures)


def _sign(first: Any, second: Any) -> int:
    return int(first > second) - int(first < second)


_order: Final = cmp_to_key(_compare)
