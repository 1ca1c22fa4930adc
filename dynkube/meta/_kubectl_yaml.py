"""Objects as ``kubectl get -o yaml`` prints them: order of keys, quotes, blocks and line breaks are those of go-yaml.

A module to import by itself: PyYAML is loaded with it, which those who print no YAML need not pay for. Its emitter is
libyaml, of which go-yaml's is a translation: what differs is which style a text is written in, and the order of keys.
Where PyYAML was built without libyaml, long texts in quotes are broken in other ways, and mean the same.

Three things are not kubectl's, on purpose. It makes a blank of U+0085, and cannot print DEL or U+FFFF at all; here they
are kept. Behind a byte order mark it escapes all that follows. A text with U+2028 or U+2029 at its end is in double
quotes here, since libyaml would add blanks behind it that YAML 1.2 reads as part of the text.
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

from dynkube.meta.yaml import reads_as_text

# What go-yaml takes for a moment; it looks no further at days and hours than their number of digits.
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:"
    r"[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?\Z"
)
_INFINITE: Final = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_SEXAGESIMAL: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")

_BEGIN_NUMBERS: Final = frozenset("+-0123456789")  # in which go-yaml skips underscores
_SIGNED_BINARY: Final = re.compile(r"0b_*[-+][01_]*[01][01_]*\Z")  # a number to go-yaml, and to nobody else
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")  # there it skips them in what begins with a point, too
_BREAKS: Final = ("\u2028", "\u2029")
_INTEGERS: Final = range(-(2**63), 2**63)  # whatever is beyond them is a float to Go, as soon as it is read
_WORD: Final = 2**64
_LARGEST: Final = int(sys.float_info.max)  # Go reads no greater number, and kubectl prints none
_SMALL, _LARGE = 4, 6  # exponents between which strconv's format 'g' writes none

_Emitter: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def kubectl_yaml(document: Mapping[str, object]) -> str:
    """One YAML document with a line break at its end, as kubectl writes it."""
    text: str = yaml.emit(_events(document), Dumper=_Emitter, allow_unicode=True)
    # libyaml marks the end after a block that keeps its line breaks, go-yaml does not. Nothing else begins a line so.
    return text[:-4] if text.endswith("\n...\n") else text


def printed(document: dict[str, Any], *, managed_fields: bool) -> dict[str, Any]:
    """What kubectl prints of a document that is the caller's own."""
    if not managed_fields and isinstance(metadata := document.get("metadata"), dict):
        metadata.pop("managedFields", None)
    return document


def _events(document: object) -> Iterator[yaml.Event]:
    """The document as what an emitter takes: without recursion, as objects may be nested as deep as they like."""
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
    """A value in the style that go-yaml would choose; tags are never written."""
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
            text = f"{Decimal(value):f}"  # Python itself makes no text of more than 4,300 digits
        case _:
            text = _number_text(float(cast("float", value)))
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _number_text(number: float) -> str:
    """The shortest text that is this number, with an exponent from a million on where it is no integer."""
    decimal = Decimal(repr(number))
    if decimal == decimal.to_integral_value() and -(_WORD // 2) <= decimal < _WORD:
        return str(int(decimal))  # JSON has one kind of number, and Go writes whole ones as such
    exponent = decimal.adjusted()
    if -_SMALL <= exponent < _LARGE:
        return f"{decimal:f}"
    sign, digits, _ = decimal.as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    rest = f".{figures[1:]}" if figures[1:] else ""
    return f"{'-' if sign else ''}{figures[0]}{rest}e{exponent:+03d}"


def _may_be_plain(text: str) -> bool:
    """Whether go-yaml would read it back as text."""
    if not reads_as_text(text) or _INFINITE.match(text) or _MOMENT.match(text) or _SEXAGESIMAL.match(text):
        return False
    if _SIGNED_BINARY.match(text):
        return False
    if text.startswith("."):
        return reads_as_text(_BETWEEN_DIGITS.sub("", text))
    return text[:1] not in _BEGIN_NUMBERS or reads_as_text(text.replace("_", ""))


def _compare(first: str, second: str) -> int:
    """As people sort: what is no letter before letters, and numbers by their value.

    go-yaml's rule goes round in a circle for some keys (a9, a10, a1b), and prints those in another order each time.
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
    """Whether there is a number just before a place, of which a zero there would be a figure."""
    return any(figure != "0" for figure in takewhile(str.isdecimal, reversed(text[:at])))


def _figures(text: str, at: int, before: int) -> tuple[int, int]:
    """Value and length of the number that begins at a place; the value is Go's, which keeps 64 bits of it."""
    value = before
    figures = list(takewhile(str.isdecimal, text[at:]))
    for figure in figures:
        value = (value * 10 + ord(figure) - ord("0")) % _WORD
    return value - _WORD if value >= _WORD // 2 else value, len(figures)


def _sign(first: Any, second: Any) -> int:
    return int(first > second) - int(first < second)


_order: Final = cmp_to_key(_compare)
