"""cel-go's functions for strings, with ``format``, and those of Kubernetes for regular expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import islice

from dynkube_testing._calls.gotext import quoted
from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.formatting import VERBS, BadFormat, Clause, clauses
from dynkube_testing._schemas.cel.standard import Function, to_string
from dynkube_testing._schemas.cel.values import Value, type_of
from dynkube_testing._schemas.patterns import BadPattern, compile_pattern

# What Go takes for white space.
_SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SUPERSCRIPTS = str.maketrans("0123456789-", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b")
_QUOTES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'
}  # fmt: skip
_UPPER = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
_LOWER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        letters = list(text)
        return letters if count < 0 or count >= len(letters) else [*letters[: count - 1], "".join(letters[count - 1 :])]
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: str, begin: int, end: int | None = None) -> str:
    if end is not None and begin > end:
        raise EvaluationError(f"invalid substring range. start: {begin}, end: {end}")
    for index in (begin, len(text) if end is None else end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[begin:end]


def _join(texts: list[Value], separator: str = "") -> str:
    for text in texts:
        if not isinstance(text, str):
            raise EvaluationError(f"join: invalid input: {text}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return '"' + "".join(_QUOTES.get(letter, letter) for letter in text) + '"'


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    try:
        compiled = compile_pattern(pattern)
    except BadPattern as problem:
        raise EvaluationError(f"Illegal regex: {problem}") from None
    return list(islice(compiled.matches(text), most if most >= 0 else None))


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


# ── format ────────────────────────────────────────────────────────────────────────────────────


def _format(text: str, arguments: list[Value]) -> str:
    values, parts = iter(arguments), []
    try:
        for clause in clauses(text, len(arguments)):
            if isinstance(clause, str):
                parts.append(clause)
                continue
            value = next(values)
            if clause.verb not in _FORMATS or not _accepts(clause.verb, value):
                given = type_of(value).name
                raise EvaluationError(f"error during formatting: {VERBS[clause.verb][1]}, was given {given}")
            parts.append(_FORMATS[clause.verb](value, clause))
    except BadFormat as problem:
        raise EvaluationError(str(problem)) from None
    return "".join(parts)


def _accepts(verb: str, value: Value) -> bool:
    if verb in {"f", "e"} and isinstance(value, str):
        return value in {"NaN", "Infinity", "-Infinity"}
    return type_of(value).kind in VERBS[verb][0]


def _as_text(value: Value, clause: Clause | None = None) -> str:
    match value:
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(_inner, value))}]"
        case dict():
            pairs = sorted((_inner(key), _inner(content)) for key, content in value.items())
            return f"{{{', '.join(f'{key}:{content}' for key, content in pairs)}}}"
    return to_string(value)


def _inner(value: Value) -> str:
    if isinstance(value, str):
        return quoted(value)
    return f"b{quoted(_as_text(value))}" if isinstance(value, bytes) else _as_text(value)


def _fixed(value: Value, clause: Clause) -> str:
    value = float(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("\u221e" if value > 0 else "-\u221e")
    return f"{value:,.{6 if clause.precision is None else clause.precision}f}"


def _scientific(value: Value, clause: Clause) -> str:
    value = float(value)
    if not math.isfinite(value):
        return _fixed(value, clause)
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    power = f"{'-' if exponent.startswith('-') else ''}{exponent[1:]}".translate(_SUPERSCRIPTS)
    return f"{mantissa}\u202f\u00d7\u202f10{power}"


def _hex(value: Value, clause: Clause) -> str:
    if isinstance(value, str):
        value = value.encode("utf-8", "replace")
    text = value.hex() if isinstance(value, bytes) else f"{int(value):x}"
    return text.upper() if clause.verb == "X" else text


_FORMATS: Mapping[str, Callable[[Value, Clause], str]] = {
    "s": _as_text,
    "d": lambda value, clause: str(int(value)),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, clause: f"{int(value):b}",
    "o": lambda value, clause: f"{int(value):o}",
    "x": _hex,
    "X": _hex,
}

FUNCTIONS: Mapping[str, Function] = {
    "charAt": _char_at,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(_SPACES),
    "format": _format,
    "strings.quote": _quote,
    "join": _join,
    "find": _find,
    "findAll": _find_all,
}
#: Functions that lists have as well, by overload.
OVERLOADS: Mapping[str, Function] = {
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_of,
}
