"""Quantities (``500m``, ``1Gi``): their values, and Kubernetes' canonical form."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from typing import Any

from dynkube_testing._calls.api import JSONObject

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,9})?")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_POWERS = {suffix: exponent for exponent, suffix in _DECIMAL.items()}
_NANO = Decimal("1e-9")
_MOST_BINARY = Decimal(2**63 - 1)


def parse(text: str) -> Decimal | None:
    """Return the exact value of a quantity; ``None`` if ``text`` is not a quantity.

    As in the real server, values are rounded up to multiples of 1e-9, and values with a binary suffix (``Ki``) are
    limited to the range of int64.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix = Decimal(match[1]), match[2] or ""
    # Quantities may have any number of digits, so the default context would round.
    exact = Context(prec=len(text) + 40, Emax=MAX_EMAX, Emin=MIN_EMIN)
    if suffix in _BINARY[1:]:
        value = exact.multiply(number, Decimal(1024 ** _BINARY.index(suffix)))
        value = max(-_MOST_BINARY, min(value, _MOST_BINARY))
    else:
        value = exact.scaleb(number, _POWERS[suffix] if suffix in _POWERS else int(suffix[1:]))
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "a finite number"
    if exponent < -9:
        value = value.quantize(_NANO, rounding=ROUND_CEILING, context=exact)
    return value


def value_of(text: object) -> Decimal:
    """Return the value of a quantity; 0 if ``text`` is not a quantity."""
    return parse(str(text).strip()) or Decimal(0)


def canonical(text: object) -> object:
    """Return a quantity in Kubernetes' canonical form; other values as they are."""
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
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a finite number"
    written = "".join(map(str, digits))
    exponent += len(written) - len(written := written.rstrip("0"))
    number = int(written)
    kept = max(exponent - exponent % 3, -9) if exponential else min(max(exponent - exponent % 3, -9), 18)
    number *= 10 ** (exponent - kept)
    suffix = (f"e{kept}" if kept else "") if exponential else _DECIMAL[kept]
    return f"{'-' if sign else ''}{number}{suffix}"


def normalize(owner: JSONObject, *names: str) -> None:
    """Replace quantities in the fields ``names`` of ``owner`` by their canonical form.

    A field may be a quantity or a map of quantities. ``owner`` is modified.
    """
    for name in names:
        match owner.get(name):
            case None:
                continue
            case dict() as quantities:
                owner[name] = {key: canonical(value) for key, value in quantities.items()}
            case single:
                owner[name] = canonical(single)


def each(owner: JSONObject, name: str) -> dict[str, Any]:
    """Return the map in the field ``name`` of ``owner``; an empty map if missing."""
    found = owner.get(name)
    return found if isinstance(found, dict) else {}
