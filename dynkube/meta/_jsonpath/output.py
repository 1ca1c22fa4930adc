"""Output format of ``kubectl -o jsonpath``.

kubectl prints with Go's rules: objects with sorted keys and ``<``, ``>``, ``&`` escaped, floats as ``1e+06`` at the top
level but as ``1000000`` inside an object, and integers beyond 64 bits as floats.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Final

_INT64: Final = range(-(2**63), 2**63)
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def print_value(value: object) -> str:
    """Format one result.

    Strings are unquoted, scalars bare, lists and objects compact JSON.
    """
    if isinstance(value, str):
        return value
    number = _as_float(value)
    if number is not None:
        return _go_float(number, lowest=-4, highest=5, exponent_digits=2)
    return _json(value)


def _json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    number = _as_float(value)
    if number is not None:
        return _go_float(number, lowest=-6, highest=20, exponent_digits=1)
    return json.dumps(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_HTML)


def _as_float(value: object) -> float | None:
    """Return the value as a float if Go would hold it in a float64.

    Returns ``None`` for 64-bit integers and booleans.
    """
    if isinstance(value, float) or (isinstance(value, int) and value not in _INT64):
        return float(value)
    return None


def _go_float(value: float, *, lowest: int, highest: int, exponent_digits: int) -> str:
    """Format with the shortest digits that round-trip.

    Exponents outside ``lowest`` to ``highest`` are written.
    """
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"n": "NaN", "F": "-Inf" if sign else "+Inf"}[exponent]
    power = len(digits) - 1 + exponent
    if not value or lowest <= power <= highest:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    fraction = "".join(map(str, digits[1:]))
    mantissa = f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):0{exponent_digits}}"
