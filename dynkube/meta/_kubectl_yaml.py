"""Objects as ``kubectl get -o yaml`` prints them: order of keys, quotes, blocks and line breaks are those of go-yaml.

A module to import by itself: PyYAML is loaded with it, which those who print no YAML need not pay for. Its emitter is
libyaml, of which go-yaml's is a translation: what differs is which style a text is written in, and the order of keys.
Where PyYAML was built without libyaml, long texts in quotes are broken in other ways, and mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cmp_to_key
from itertools import takewhile
from typing import Any, Final

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

_BEGIN_NUMBERS: Final = frozenset("+-.0123456789")
_WHOLE: Final = 2.0**64  # what fits no integer of Go's is a float
_SMALL, _LARGE = 4, 6  # exponents between which strconv's format 'g' writes none


def kubectl_yaml(document: Mapping[str, object]) -> str:
    """One YAML document with a line break at its end, as kubectl writes it."""
    text: str = yaml.dump(_sorted(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    # libyaml marks the end after a block that keeps its line breaks, go-yaml does not. Nothing else begins a line so.
    return text[:-4] if text.endswith("\n...\n") else text


def printed(document: dict[str, Any], *, managed_fields: bool) -> dict[str, Any]:
    """What kubectl prints of a document that is the caller's own."""
    if not managed_fields and isinstance(metadata := document.get("metadata"), dict):
        metadata.pop("managedFields", None)
    return document


class _Fitting:
    """Whatever tag a plain scalar is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # equal to everything


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
    """Chooses styles as go-yaml does."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **{**options, "default_flow_style": False})

    def resolve(self, kind: object, value: object, implicit: object) -> object:
        return _Fitting()  # whether a text needs quotes is decided below, and tags are never written

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if _may_be_plain(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_number(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    if number.is_integer() and abs(number) < _WHOLE:  # JSON has one kind of number, and Go writes whole ones as such
        return dumper.represent_scalar("tag:yaml.org,2002:int", str(int(number)))
    return dumper.represent_scalar("tag:yaml.org,2002:float", _number_text(number))


def _number_text(number: float) -> str:
    """The shortest text that is this number, with an exponent from a million on."""
    decimal = Decimal(repr(number))
    exponent = decimal.adjusted()
    if -_SMALL <= exponent < _LARGE:
        return f"{decimal:f}"
    sign, digits, _ = decimal.as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    rest = f".{figures[1:]}" if figures[1:] else ""
    return f"{'-' if sign else ''}{figures[0]}{rest}e{exponent:+03d}"


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_number)


def _may_be_plain(text: str) -> bool:
    """Whether go-yaml would read it back as text."""
    if not reads_as_text(text) or _INFINITE.match(text) or _MOMENT.match(text) or _SEXAGESIMAL.match(text):
        return False
    return text[:1] not in _BEGIN_NUMBERS or reads_as_text(text.replace("_", ""))


def _sorted(value: object) -> object:
    match value:
        case Mapping():
            return {key: _sorted(value[key]) for key in sorted(value, key=_order)}
        case list() | tuple():
            return [_sorted(item) for item in value]
    return value


def _compare(first: str, second: str) -> int:
    """As people sort: what is no letter before letters, and numbers by their value.

    go-yaml's rule goes round in a circle for some keys (a9, a10, a1b), and prints those in another order each time.
    """
    for at, (a, b) in enumerate(zip(first, second, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return _sign(a, b) if a.isalpha() == b.isalpha() else _sign(a.isalpha(), b.isalpha())
        return _sign((_figures(first, at), a), (_figures(second, at), b))
    return _sign(len(first), len(second))


def _figures(text: str, at: int) -> tuple[int, int]:
    """Value and length of the number that is, or ends, at a place."""
    before = "".join(takewhile(str.isdecimal, reversed(text[:at])))[::-1]
    here = "".join(takewhile(str.isdecimal, text[at:]))
    return int(before + here or "0"), len(here)


def _sign(first: Any, second: Any) -> int:
    return int(first > second) - int(first < second)


_order: Final = cmp_to_key(_compare)
