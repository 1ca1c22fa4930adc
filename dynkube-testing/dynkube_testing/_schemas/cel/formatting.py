"""``'%s %d'.format([...])``: how clauses are parsed, and which types each of them accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dynkube_testing._schemas.cel.checker import Checked, Problem
from dynkube_testing._schemas.cel.syntax import Call, Expr, ListOf, Literal, MapOf

_CLAUSE = re.compile(r"(?:\.(?P<precision>[0-9]*))?(?P<verb>[\s\S])?")
_ANY = ["list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"]
# By verb: the types that are accepted by the compiler, and the message about others.
VERBS: dict[str, tuple[list[str], str]] = {
    "s": (
        _ANY,
        (
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
            "and timestamps"
        ),
    ),
    "d": (["int", "uint"], "decimal clause can only be used on integers"),
    "f": (["double", "string"], "fixed-point clause can only be used on doubles"),
    "e": (["double", "string"], "scientific clause can only be used on doubles"),
    "b": (["int", "uint", "bool"], "only integers and bools can be formatted as binary"),
    "x": (["int", "uint", "string", "bytes"], "only integers, byte buffers, and strings can be formatted as hex"),
    "X": (["int", "uint", "string", "bytes"], "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (["int", "uint"], "octal clause can only be used on integers"),
}


class BadFormat(Exception):
    """The format is invalid, or has the wrong number of arguments."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a format, such as ``%.3f``."""

    verb: str
    precision: int | None = None


def clauses(text: str, arguments: int) -> Iterator[str | Clause]:
    """Yield the literal parts and the clauses of a format.

    Raises:
        BadFormat: It is invalid, or there are too few ``arguments``.
    """
    at = used = 0
    while at < len(text):
        begin = text.find("%", at)
        if begin < 0:
            begin = len(text)
        if begin > at:
            yield text[at:begin]
        if begin == len(text):
            return
        if text[begin + 1 : begin + 2] == "%":
            yield "%"
            at = begin + 2
            continue
        if used >= arguments:
            raise BadFormat(f"index {used} out of range")
        clause, at = _clause(text, begin + 1)
        used += 1
        yield clause


def _clause(text: str, at: int) -> tuple[Clause, int]:
    if at >= len(text):
        raise BadFormat("unexpected end of string")
    found = _CLAUSE.match(text, at)
    assert found is not None
    parse = "could not parse formatting clause: "
    precision, verb = found["precision"], found["verb"]
    if verb is None:
        raise BadFormat(f"{parse}error while parsing precision: could not find end of precision specifier")
    if precision == "":
        problem = 'strconv.Atoi: parsing "": invalid syntax'
        raise BadFormat(f"{parse}error while parsing precision: error while converting precision to integer: {problem}")
    if verb not in VERBS:
        raise BadFormat(f'{parse}unrecognized formatting clause "{verb}"')
    return Clause(verb, None if precision is None else int(precision)), found.end()


def format_problems(checked: Checked, call: Call) -> Iterator[Problem]:
    """Yield the first error of a call of ``format`` with literals for the format and the list of arguments."""
    target, arguments = call.target, call.args[0]
    if not isinstance(target, Literal) or not isinstance(target.value, str) or not isinstance(arguments, ListOf):
        return
    items = list(arguments.elements)
    at = checked.tree.positions.get(call.id, 0)
    try:
        found = [clause for clause in clauses(target.value, len(items)) if isinstance(clause, Clause)]
    except BadFormat as problem:
        yield Problem(at, str(problem))
        return
    for clause, item in zip(found, items, strict=False):
        if (wrong := _wrong_part(checked, clause.verb, item)) is not None:
            name = checked.types[wrong.id].name
            text = f"error during formatting: {VERBS[clause.verb][1]}, was given {name}"
            yield Problem(checked.tree.positions.get(wrong.id, 0), text)
            return
    if len(found) < len(items):
        yield Problem(at, f"too many arguments supplied to string.format (expected {len(found)}, got {len(items)})")


def _wrong_part(checked: Checked, verb: str, expr: Expr) -> Expr | None:
    """Return the first part that a clause does not accept."""
    kind = checked.types[expr.id].kind
    if kind not in {"dyn", *VERBS[verb][0]}:
        return expr
    parts: list[Expr] = []
    if verb == "s" and isinstance(expr, ListOf):
        parts = expr.elements
    elif verb == "s" and isinstance(expr, MapOf):
        parts = [part for entry in expr.entries if not isinstance(entry.key, str) for part in (entry.key, entry.value)]
    wrong = (_wrong_part(checked, verb, part) for part in parts)
    return next((part for part in wrong if part is not None), None)
