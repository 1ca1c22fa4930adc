"""Values of objects as lines of YAML, as many as fit: of a large value no more is looked at than is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Code, Line, Span, Tone, line, muted
from dynkube._display.visible import visible
from dynkube._display.words import Aside, counted, short

# Texts that YAML reads as themselves. Fewer than there are: the others are in quotes, which is right as well.
_PLAIN: Final = re.compile(
    r"(?:(?:--?)?[A-Za-z_/][A-Za-z0-9_./@+-]*(?:[:=][A-Za-z0-9_./@+-]+)*(?: [A-Za-z0-9_./@+()-]+)*"
    r"|[0-9]+(?:[mshKMGTP%]|[KMGTPE]i))\Z"  # quantities, and what 25% is
)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a value is shown.

    Attributes:
        lines: of one section.
        total: of all sections, about: where there are many, each has fewer.
        width: characters of one text or name.
        depth: levels; what is below is counted.
        items: labels, conditions and the like.
    """

    lines: int = 120
    total: int = 960
    width: int = 160
    depth: int = 16
    items: int = 40

    def at_most(self, lines: int) -> Limits:
        """The same with fewer lines, and still some."""
        return self if lines >= self.lines else replace(self, lines=max(lines, 10))


DEFAULT: Final = Limits()


def yaml_code(value: object, limits: Limits = DEFAULT) -> Code:
    """A value as YAML; what was cut off is said at the end."""
    found = list(islice(_lines(value, 0, limits), limits.lines + 1))
    if len(found) > limits.lines:
        found[limits.lines :] = [line(muted(f"… cut after {limits.lines} lines"))]
    return Code(tuple(found))


def inline(value: object, width: int = 60) -> str:
    """A value in few characters on one line: texts as they are, what holds others as its size."""
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


def _lines(value: object, indent: int, limits: Limits) -> Iterator[Line]:
    """A map or list, line by line; anything else as one."""
    if isinstance(value, Mapping) and value:
        for name, part in visible(value, limits.lines + 1):
            yield from _entry(f"{' ' * indent}", Span(f"{_name(name, limits)}:", Tone.KEY), part, indent, limits)
    elif isinstance(value, list | tuple) and value:
        for part in value:
            yield from _item(part, indent, limits)
    else:
        yield line(" " * indent, _scalar(value, limits))


def _entry(lead: str, label: Span, part: object, indent: int, limits: Limits) -> Iterator[Line]:
    """A name and what is under it: beside it, or below and further in; lists are not, as kubectl has them."""
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


def _deeper(part: object, limits: Limits) -> Limits:
    """Lists in lists stay at one indentation here, and still must come to an end."""
    if not isinstance(part, list | tuple):
        return limits
    return replace(limits, depth=limits.depth - 1)


def _item(part: object, indent: int, limits: Limits) -> Iterator[Line]:
    lead = f"{' ' * indent}- "
    if isinstance(part, Mapping | list | tuple) and part:
        if indent // 2 >= limits.depth:
            yield line(lead, muted(f"… {_counted(part)}"))
            return
        inner = _lines(part, indent + 2, _deeper(part, limits))
        first = next(inner)
        # The first line of what is in the item stands beside the dash, whose place is that of its indentation.
        rest = first[0].text[indent + 2 :]
        yield line(lead, Span(rest, first[0].tone), *first[1:])
        yield from inner
    else:
        yield line(lead, _scalar(part, limits))


def _block_mark(text: str, limits: Limits) -> str:
    """How YAML begins a text that is written line by line; ``""`` for one that is written on one line."""
    if "\n" not in text[: limits.width * limits.lines] or text[0] in " \t\n":
        return ""
    return "|" if text[-1] == "\n" and text[-2:] != "\n\n" else "|+" if text[-1] == "\n" else "|-"


def _text_lines(text: str, indent: int, limits: Limits) -> Iterator[Line]:
    """A text of several lines, as YAML's ``|`` has it; of a very long one as much as could be shown."""
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


def _name(name: object, limits: Limits) -> str:
    return _quoted(str(name), limits.width)


def _scalar(value: object, limits: Limits) -> str | Span:
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
        return f"a number of {value.bit_length()} bits"  # Python refuses to write out very long ones
    return short(json.dumps(value), width)


def _counted(value: Mapping[Any, Any] | Sequence[Any]) -> str:
    return counted(len(value), "field") if isinstance(value, Mapping) else counted(len(value), "item")
