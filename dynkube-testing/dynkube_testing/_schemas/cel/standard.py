"""cel-go's standard functions: arithmetic, conversions, times and optional values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from dynkube_testing._calls.gotext import number
from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.items import as_key
from dynkube_testing._schemas.cel.literals import INT64, Duration, Timestamp, duration_of, timestamp_of
from dynkube_testing._schemas.cel.syntax import Uint
from dynkube_testing._schemas.cel.values import (
    NONE,
    Address,
    Listed,
    Network,
    Optional,
    Value,
    compare,
    contains,
    integer,
    size_of,
    type_of,
)
from dynkube_testing._schemas.patterns import BadPattern, compile_pattern

Function = Callable[..., Value]

_UINT64 = range(2**64)
_TIMES = range(-62135596800 * 10**9, 253402300800 * 10**9)  # from year 1 to 9999
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_INTEGER, _NATURAL = re.compile(r"[+-]?[0-9]+"), re.compile(r"[0-9]+")
_HEX_DOUBLE = re.compile(r"[+-]?0x[0-9a-f]*\.?[0-9a-f]*p[+-]?[0-9]+", re.IGNORECASE)
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:_?[0-9])*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


# ── arithmetic ────────────────────────────────────────────────────────────────────────────────


def _uint(value: int) -> Uint:
    if value not in _UINT64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _duration(nanoseconds: int) -> Duration:
    if nanoseconds not in INT64:
        raise EvaluationError("duration overflow")
    return Duration(nanoseconds)


def _timestamp(nanoseconds: int) -> Timestamp:
    if nanoseconds not in _TIMES:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds)


def _add(one: Value, other: Value) -> Value:
    match one, other:
        case Uint(), _:
            return _uint(int(one) + int(other))
        case int(), _:
            return integer(one + other)
        case Listed(), _:
            return one.plus(other)
        case list(), _:
            return [*one, *other]
        case Duration(), Duration():
            return _duration(one.nanoseconds + other.nanoseconds)
        case (Timestamp(), Duration()) | (Duration(), Timestamp()):
            return _timestamp(one.nanoseconds + other.nanoseconds)
    return one + other


def _subtract(one: Value, other: Value) -> Value:
    match one, other:
        case Uint(), _:
            return _uint(int(one) - int(other))
        case int(), _:
            return integer(one - other)
        case Timestamp(), Duration():
            return _timestamp(one.nanoseconds - other.nanoseconds)
        case ((Timestamp() | Duration()), _):
            return _duration(one.nanoseconds - other.nanoseconds)
    return one - other


def _multiply(one: Value, other: Value) -> Value:
    if isinstance(one, Uint):
        return _uint(int(one) * int(other))
    return integer(one * other) if isinstance(one, int) else one * other


def _divide(one: Value, other: Value) -> Value:
    if isinstance(one, float):
        if other:
            return one / other
        return math.nan if not one or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
    if other == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(one)) // abs(int(other))
    return Uint(quotient) if isinstance(one, Uint) else integer(quotient if (one < 0) == (other < 0) else -quotient)


def _modulo(one: Value, other: Value) -> Value:
    if other == 0:
        raise EvaluationError("modulus by zero")
    rest = abs(int(one)) % abs(int(other))
    return Uint(rest) if isinstance(one, Uint) else (-rest if one < 0 else rest)


def _negate(value: Value) -> Value:
    return integer(-value) if isinstance(value, int) else -value


def matches(text: str, pattern: str) -> bool:
    """Return whether ``text`` contains a match of ``pattern``."""
    try:
        return compile_pattern(pattern).found_in(text)
    except BadPattern as problem:
        raise EvaluationError(str(problem)) from None


# ── conversions ───────────────────────────────────────────────────────────────────────────────


def _no_conversion(value: Value, wanted: Type) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_of(value).name}' to '{wanted.name}'")


def _to_bool(value: Value) -> bool:
    found = _BOOLS.get(value) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise _no_conversion(value, types.BOOL)
    return found


def _to_bytes(value: Value) -> bytes:
    return value.encode("utf-8", "replace") if isinstance(value, str) else bytes(value)


def _to_double(value: Value) -> float:
    if isinstance(value, str):
        if _HEX_DOUBLE.fullmatch(value):
            return float.fromhex(value)
        if not _DOUBLE.fullmatch(value):
            raise _no_conversion(value, types.DOUBLE)
        return float(value)
    return float(value)


def _whole(value: float, limits: range, problem: str) -> int:
    if not math.isfinite(value) or int(value) not in limits:
        raise EvaluationError(problem)
    return int(value)


def _to_int(value: Value) -> int:
    match value:
        case str():
            if _INTEGER.fullmatch(value) and int(value) in INT64:
                return int(value)
            raise _no_conversion(value, types.INT)
        case float():
            return _whole(value, range(-(2**63) + 1, 2**63 - 1), "integer overflow")
        case Duration():
            return value.nanoseconds
        case Timestamp():
            return value.nanoseconds // 10**9
    return integer(int(value))


def _to_uint(value: Value) -> Uint:
    match value:
        case str():
            if _NATURAL.fullmatch(value) and int(value) in _UINT64:
                return Uint(value)
            raise _no_conversion(value, types.UINT)
        case float():
            return Uint(_whole(value, range(2**64 - 1), "unsigned integer overflow"))
    return _uint(int(value))


def to_string(value: Value) -> str:
    """Return a value as text, as the function ``string`` does."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _shortest(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Duration():
            return format(Decimal(repr(value.nanoseconds / 10**9)), "f").removesuffix(".0") + "s"
        case Address():
            return str(value.ip)
        case Network():
            return f"{value.ip}/{value.prefix}"
        case Type():
            return value.name
    return str(value)


def _shortest(value: float) -> str:
    """Return a double as Go's ``%g``."""
    if not math.isfinite(value) or value == 0 or 1e-4 <= abs(value) < 1e21:
        digits = number(value)
        if len(digits.lstrip("-").partition(".")[0]) <= 21 and abs(value) < 1e21:
            return digits if abs(value) < 10**6 or not math.isfinite(value) else _exponential(value)
    return number(value)


def _exponential(value: float) -> str:
    mantissa, _, exponent = format(Decimal(repr(value)).normalize(), "e").partition("e")
    return f"{mantissa}e+{exponent.lstrip('+').zfill(2)}"


def _to_duration(value: Value) -> Duration:
    if isinstance(value, Duration):
        return value
    try:
        if isinstance(value, str):
            return duration_of(value)
    except ValueError:
        pass
    raise _no_conversion(value, types.DURATION)


def _to_timestamp(value: Value) -> Timestamp:
    match value:
        case Timestamp():
            return value
        case int():
            return _timestamp(int(value) * 10**9)
    try:
        return _timestamp(timestamp_of(value).nanoseconds)
    except ValueError:
        raise _no_conversion(value, types.TIMESTAMP) from None


# ── times ─────────────────────────────────────────────────────────────────────────────────────


def _zone(name: str) -> tzinfo:
    hours, separator, minutes = name.partition(":")
    if separator:
        for part in (hours, minutes):
            if not _INTEGER.fullmatch(part):
                raise EvaluationError(f'strconv.Atoi: parsing "{part}": invalid syntax')
        sign = -1 if hours.startswith("-") else 1
        return timezone(timedelta(minutes=int(hours) * 60 + sign * int(minutes)))
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, LookupError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _getter(part: Callable[[datetime], int], unit: int = 0) -> Function:
    """Return the function for a part of a time; ``unit`` is its length in nanoseconds, for durations."""

    def get(value: Value, zone: str = "UTC") -> int:
        if isinstance(value, Duration):
            whole = abs(value.nanoseconds) // unit
            return whole if value.nanoseconds >= 0 else -whole
        return part(value.utc.astimezone(_zone(zone)))

    return get


_GETTERS: Mapping[str, Function] = {
    "getFullYear": _getter(lambda time: time.year),
    "getMonth": _getter(lambda time: time.month - 1),
    "getDayOfYear": _getter(lambda time: time.timetuple().tm_yday - 1),
    "getDayOfMonth": _getter(lambda time: time.day - 1),
    "getDate": _getter(lambda time: time.day),
    "getDayOfWeek": _getter(lambda time: time.isoweekday() % 7),
    "getHours": _getter(lambda time: time.hour, 3600 * 10**9),
    "getMinutes": _getter(lambda time: time.minute, 60 * 10**9),
    "getSeconds": _getter(lambda time: time.second, 10**9),
    "getMilliseconds": _getter(lambda time: time.microsecond // 1000, 10**6),
}


# ── optional values and maps ──────────────────────────────────────────────────────────────────


def _non_zero(value: Value) -> Optional:
    empty = value is None or value in (False, 0, 0.0, "", b"", [], {}) or value == Duration(0)
    return NONE if empty else Optional(value)


def _value(optional: Optional) -> Value:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _inserted(mapping: dict[Value, Value], key: Value, value: Value = NONE) -> dict[Value, Value]:
    entries = {key: value} if value is not NONE else key
    for name in entries:
        if name in mapping:
            raise EvaluationError(f"insert failed: key {name} already exists")
    return {**mapping, **entries}


def _in(item: Value, values: Value) -> bool:
    if isinstance(values, list):
        return contains(values, item)
    return as_key(item) in values


FUNCTIONS: Mapping[str, Function] = {
    **_GETTERS,
    "!_": lambda value: not value,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "_<_": lambda one, other: compare(one, other) < 0,
    "_<=_": lambda one, other: compare(one, other) <= 0,
    "_>_": lambda one, other: compare(one, other) > 0,
    "_>=_": lambda one, other: compare(one, other) >= 0,
    "@in": _in,
    "size": size_of,
    "type": type_of,
    "dyn": lambda value: value,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "double": _to_double,
    "duration": _to_duration,
    "int": _to_int,
    "uint": _to_uint,
    "string": to_string,
    "timestamp": _to_timestamp,
    "contains": lambda text, part: part in text,
    "startsWith": lambda text, part: text.startswith(part),
    "endsWith": lambda text, part: text.endswith(part),
    "matches": matches,
    "optional.of": Optional,
    "optional.ofNonZeroValue": _non_zero,
    "optional.none": lambda: NONE,
    "optional.unwrap": lambda values: [each.value for each in values if each.present],
    "unwrapOpt": lambda values: [each.value for each in values if each.present],
    "value": _value,
    "hasValue": lambda optional: optional.present,
    "first": lambda values: Optional(values[0]) if values else NONE,
    "last": lambda values: Optional(values[-1]) if values else NONE,
    "cel.@mapInsert": _inserted,
}
