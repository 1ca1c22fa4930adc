"""Quantities (``500m``, ``1Gi``): their values, and the form in which the server writes them."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

from dynkube.testing._calls.api import JSONObject

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_NANO = Decimal("1e-9")


def value_of(text: object) -> Decimal:
    """What a quantity comes to; 0 for what is none."""
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        return Decimal(0)
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        value = number * Decimal(1024) ** _BINARY.index(suffix)
    elif suffix in _POWERS:
        value = number.scaleb(_POWERS[suffix])
    else:
        value = number.scaleb(int(suffix[1:]))
    # Nothing smaller than a billionth is told apart: the rest counts as one more.
    return value if value == value.quantize(_NANO) else value.quantize(_NANO, rounding=ROUND_CEILING)


def canonical(text: object) -> object:
    """A quantity as the server writes it; what is none stays."""
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None or isinstance(text, bool):
        return text
    value, suffix = value_of(text), match[2] or ""
    if value == 0:
        return "0"
    if suffix in _BINARY[1:] and abs(value) >= 1024:
        return _in_powers_of_1024(value)
    exponential = suffix[:1] in {"e", "E"} and len(suffix) > 1
    return _in_powers_of_1000(value, exponential=exponential)


def _in_powers_of_1024(value: Decimal) -> str:
    number, power = int(value.to_integral_value(ROUND_CEILING)), 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _in_powers_of_1000(value: Decimal, *, exponential: bool) -> str:
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int), "a finite number"
    number = int("".join(map(str, digits)))
    kept = min(max(exponent - exponent % 3, -9), 10**6 if exponential else 18)
    number *= 10 ** (exponent - kept)
    suffix = (f"e{kept}" if kept else "") if exponential else _DECIMAL[kept]
    return f"{'-' if sign else ''}{number}{suffix}"


def normalize(owner: JSONObject, *names: str) -> None:
    """Write the quantities in the maps ``names`` of ``owner`` as the server does; single ones, too."""
    for name in names:
        match owner.get(name):
            case None:
                continue
            case dict() as quantities:
                owner[name] = {key: canonical(value) for key, value in quantities.items()}
            case single:
                owner[name] = canonical(single)


def each(owner: JSONObject, name: str) -> dict[str, Any]:
    """The quantities in a map that may be missing."""
    found = owner.get(name)
    return found if isinstance(found, dict) else {}
