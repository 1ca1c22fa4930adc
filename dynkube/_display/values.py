"""Renders values as YAML, reading no more of them than is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Code, Line, Span, Tone, line, muted
from dynkube._display.visible import visible
from dynkube._text.words import Aside, counted, short

# Strings that are plain scalars in YAML. Not all of them: the others are quoted, which is valid as well.
_PLAIN: Final = re.compile(
    r"(?:(?:--?)?[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[:=][A-Za-z0-9_./@+-]+)*(?: [A-Za-z0-9_./@+()-]+)*"
    r"|[0-9]+(?:[mshKMGTP%]|[KMGTPE]i))\Z"  # quantities and percentages
)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLimits:
    """How much of a value is shown.

    Attributes:
        lines: lines of one section.
        total: approximate lines of all sections: if there are many, each has fewer.
        width: characters of one string or name.
        depth: levels of nesting; deeper values are counted.
        items: the number of labels, conditions and the like.
    """

    lines: int = 120
    total: int = 960
    width: int = 160
    depth: int = 16
    items: int = 40

    def at_most(self, lines: int) -> ValueLimits:
        """Return limits with at most ``lines`` lines per section, but not fewer than 10."""
        return self if lines >= self.lines else replace(self, lines=max(lines, 10))


DEFAULT: Final = ValueLimits()


def yaml_code(value: object, limits: ValueLimits = DEFAULT) -> Code:
    """Return a value as YAML; the last line says if it was cut."""
    found = list(islice(_lines(value, 0, limits), limits.lines + 1))
    if len(found) > limits.lines:
        found[limits.lines :] = [line(muted(f"… cut after {limits.lines} lines"))]
    return Code(tuple(found))


def inline(value: object, width: int = 60) -> str:
    """Return a value on one short line; maps and lists as their size."""
    match value:
        case None:
            return ""
        case str():
            return (
                short(" ".join(value[: 4 * width].split()), width) if len(value) <= 4 * width else short(value, width)
            )
        case bool() | int() | float():
            return _number(value, width)
        case Mapping() | list() | tuple():
            return _counted(value)
    return short(str(value), width)


def _lines(value: object, indent: int, limits: ValueLimits) -> Iterator[Line]:
    """Yield the lines of a map or list; a scalar is one line."""
    if isinstance(value, Mapping) and value:
        for name, part in visible(value, limits.lines + 1):
            yield from _entry(f"{' ' * indent}", Span(f"{_name(name, limits)}:", Tone.KEY), part, indent, limits)
    elif isinstance(value, list | tuple) and value:
        for part in value:
            yield from _item(part, indent, limits)
    else:
        yield line(" " * indent, _scalar(value, limits))


def _entry(lead: str, label: Span, part: object, indent: int, limits: ValueLimits) -> Iterator[Line]:
    """Yield the lines of a key and its value.

    Lists below a key are not indented, as in kubectl's output.
    """
    if isinstance(part, Mapping | list | tuple) and part:
        if indent // 2 >= limits.depth:
            yield line(lead, label, muted(f" … {_counted(part)}"))
            return
        yield line(lead, label)
        yield from _lines(part, indent if isinstance(part, list | tuple) else indent + 2, _deeper(part, limits))
    elif isinstance(part, str) and (mark := _block_mark(part, limits)):
        yield line(lead, label, f" {mark}")
        yield from _text_lines(part, indent + 2, limits)
    else:
        yield line(lead, label, " ", _scalar(part, limits))


def _deeper(part: object, limits: ValueLimits) -> ValueLimits:
    """Reduce the depth for a list: nested lists add no indentation, which limits the depth otherwise."""
    if not isinstance(part, list | tuple):
        return limits
    return replace(limits, depth=limits.depth - 1)


def _item(part: object, indent: int, limits: ValueLimits) -> Iterator[Line]:
    lead = f"{' ' * indent}- "
    if isinstance(part, Mapping | list | tuple) and part:
        if indent // 2 >= limits.depth:
            yield line(lead, muted(f"… {_counted(part)}"))
            return
        inner = _lines(part, indent + 2, _deeper(part, limits))
        first = next(inner)
        # The first line of the item is beside the dash, which replaces its indentation.
        rest = first[0].text[indent + 2 :]
        yield line(lead, Span(rest, first[0].tone), *first[1:])
        yield from inner
    else:
        yield line(lead, _scalar(part, limits))


def _block_mark(text: str, limits: ValueLimits) -> str:
    """Return the block scalar indicator (``|``, ``|-``, ``|+``) of a multi-line string; ``""`` for other strings."""
    if "\n" not in text[: limits.width * limits.lines] or text[0] in " \t\n":
        return ""
    return "|" if text[-1] == "\n" and text[-2:] != "\n\n" else "|+" if text[-1] == "\n" else "|-"


def _text_lines(text: str, indent: int, limits: ValueLimits) -> Iterator[Line]:
    """Yield the lines of a block scalar.

    Of a very long string, as many as could be shown.
    """
    lead = " " * indent
    for each in islice(_split(text), limits.lines + 1):
        yield line(lead, short(each, limits.width))


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _name(name: object, limits: ValueLimits) -> str:
    return _quoted(str(name), limits.width)


def _scalar(value: object, limits: ValueLimits) -> str | Span:
    match value:
        case None:
            return "null"
        case Aside():
            return muted(str(value))
        case str():
            return _quoted(value, limits.width)
        case bool() | int() | float():
            return _number(value, limits.width)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    return short(repr(value), limits.width)


def _quoted(text: str, width: int) -> str:
    part = text[:width]
    if not (_PLAIN.match(part) and part.lower() not in _WORDS):
        part = json.dumps(part, ensure_ascii=False)
    return part if len(text) <= width else f"{part}… ({len(text):,} characters)"


def _number(value: bool | float, width: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 3 * width:
        return f"an integer of {value.bit_length()} bits"  # str() of an int is limited to 4,300 digits
    return short(json.dumps(value), width)


def _counted(value: Mapping[Any, Any] | Sequence[Any]) -> str:
    return counted(len(value), "field") if isinstance(value, Mapping) else counted(len(value), "item")
