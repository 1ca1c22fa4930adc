"""Syntax trees of CEL expressions, from the parser of Google's CEL library for C++.

The package ``cel-expr-python`` is optional (``dynkube-testing[cel]``). Only its parser is used. It expands most macros;
:mod:`macros` has the others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, TypeAlias

from dynkube_testing._schemas.cel.errors import CannotEvaluate

_MISSING = "no CEL library is installed: pip install 'dynkube-testing[cel]'"


class Uint(int):
    """An unsigned integer, which CEL distinguishes from an integer."""

    __slots__ = ()


Constant: TypeAlias = bool | int | Uint | float | str | bytes | None


@dataclass(slots=True, eq=False)
class Literal:
    id: int
    value: Constant


@dataclass(slots=True, eq=False)
class Ident:
    id: int
    name: str


@dataclass(slots=True, eq=False)
class Select:
    """``operand.field``; with ``test_only``, ``has(operand.field)``."""

    id: int
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call:
    id: int
    function: str
    target: Expr | None
    args: list[Expr]


@dataclass(slots=True, eq=False)
class ListOf:
    id: int
    elements: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    id: int
    key: Expr | str
    value: Expr
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapOf:
    """A map; with ``name``, a message with fields."""

    id: int
    name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Comprehension:
    id: int
    range: Expr
    variable: str
    variable2: str
    accumulator: str
    start: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = Literal | Ident | Select | Call | ListOf | MapOf | Comprehension


@dataclass(slots=True)
class Tree:
    """A parsed expression.

    Attributes:
        text: The expression.
        root: Its syntax tree.
        positions: The position in ``text`` of each part, by its id.
    """

    text: str
    root: Expr
    positions: dict[int, int] = field(default_factory=dict)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield ``expr`` and all parts of it."""
    yield expr
    for part in children(expr):
        yield from walk(part)


def children(expr: Expr) -> Iterator[Expr]:
    """Yield the direct parts of ``expr``."""
    match expr:
        case Select():
            yield expr.operand
        case Call():
            if expr.target is not None:
                yield expr.target
            yield from expr.args
        case ListOf():
            yield from expr.elements
        case MapOf():
            for entry in expr.entries:
                if not isinstance(entry.key, str):
                    yield entry.key
                yield entry.value
        case Comprehension():
            yield from (expr.range, expr.start, expr.condition, expr.step, expr.result)
        case _:
            return


class SyntaxProblem(Exception):
    """The expression is not CEL; the text is that of a real server."""


class _Compiled(Protocol):
    def serialize(self) -> bytes: ...


class _Env(Protocol):
    def compile(self, expression: str, disable_check: bool = ...) -> _Compiled: ...


class Parser:
    """The parser of the installed CEL library.

    Raises:
        CannotEvaluate: No CEL library is installed.
    """

    def __init__(self) -> None:
        try:
            cel = import_module("cel_expr_python.cel")
            optional = import_module("cel_expr_python.ext.ext_optional")
        except ImportError:
            raise CannotEvaluate(_MISSING) from None
        self._env: _Env = cel.NewEnv(extensions=[optional.ExtOptional()])

    def parse(self, text: str) -> Tree:
        """Return the syntax tree of an expression.

        Raises:
            SyntaxProblem: It has syntax errors.
        """
        try:
            serialized = self._env.compile(text, disable_check=True).serialize()
        except RuntimeError as error:
            message = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            raise SyntaxProblem(_in_go(message)) from None
        return _tree(text, serialized)


# cel-go's messages about macros, by those of the library.
_IN_GO = (
    (re.compile(r"(?<=: )\w+\(\) variable name must be a simple identifier"), "argument must be a simple name"),
    (re.compile(r"(?<=: )has\(\) argument must be a field selection"), "invalid argument to has() macro"),
)


def _in_go(message: str) -> str:
    for pattern, words in _IN_GO:
        message = pattern.sub(words, message)
    return message


# ── decoding of cel.expr.ParsedExpr ───────────────────────────────────────────────────────────
# The numbers of the fields are those of https://github.com/google/cel-spec/blob/master/proto/cel/expr/syntax.proto.

_Wire: TypeAlias = int | bytes


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, _Wire]]:
    """Yield the number and the value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 1:
                yield key >> 3, data[at : at + 8]
                at += 8
            case _:
                size, at = _varint(data, at)
                yield key >> 3, data[at : at + size]
                at += size


class _Message:
    """The fields of a message, by number."""

    def __init__(self, data: _Wire) -> None:
        assert isinstance(data, bytes)
        self._fields: dict[int, list[_Wire]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def all(self, number: int) -> list[bytes]:
        return [value for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def bytes(self, number: int) -> bytes:
        values = self.all(number)
        return values[-1] if values else b""

    def text(self, number: int) -> str:
        return self.bytes(number).decode()

    def number(self, number: int) -> int:
        values = [value for value in self._fields.get(number, ()) if isinstance(value, int)]
        return values[-1] if values else 0

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def only(self, numbers: Mapping[int, object]) -> int:
        return next(number for number in numbers if number in self)


def _tree(text: str, serialized: bytes) -> Tree:
    parsed = _Message(_Message(serialized).bytes(2))
    positions = {}
    for entry in map(_Message, _Message(parsed.bytes(3)).all(4)):
        positions[entry.number(1)] = entry.number(2)
    return Tree(text, _expr(parsed.bytes(2)), positions)


def _expr(data: bytes) -> Expr:
    message = _Message(data)
    number = message.only(_KINDS)
    return _KINDS[number](message.number(2), _Message(message.bytes(number)))


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _literal(key: int, message: _Message) -> Expr:
    values: dict[int, Constant] = {
        2: bool(message.number(2)),
        3: _signed(message.number(3)),
        4: Uint(message.number(4)),
        5: struct.unpack("<d", message.bytes(5))[0] if 5 in message else 0.0,
        6: message.text(6) if 6 in message else "",
        7: message.bytes(7),
    }
    return Literal(key, next((value for number, value in values.items() if number in message), None))


def _optional_expr(data: bytes) -> Expr | None:
    return _expr(data) if data else None


def _list(key: int, message: _Message) -> Expr:
    packed, optional, at = message.bytes(2), set(), 0
    while at < len(packed):
        index, at = _varint(packed, at)
        optional.add(index)
    return ListOf(key, [_expr(data) for data in message.all(1)], frozenset(optional))


def _map(key: int, message: _Message) -> Expr:
    entries = [
        Entry(
            entry.number(1),
            entry.text(2) if 2 in entry else _expr(entry.bytes(3)),
            _expr(entry.bytes(4)),
            bool(entry.number(5)),
        )
        for entry in map(_Message, message.all(2))
    ]
    return MapOf(key, message.text(1), entries)


def _comprehension(key: int, message: _Message) -> Expr:
    start, condition, step, result = (_expr(message.bytes(number)) for number in (4, 5, 6, 7))
    over = _expr(message.bytes(2))
    return Comprehension(key, over, message.text(1), message.text(8), message.text(3), start, condition, step, result)


_KINDS = {
    3: _literal,
    4: lambda key, message: Ident(key, message.text(1)),
    5: lambda key, message: Select(key, _expr(message.bytes(1)), message.text(2), bool(message.number(3))),
    6: lambda key, message: Call(
        key, message.text(2), _optional_expr(message.bytes(1)), [_expr(data) for data in message.all(3)]
    ),
    7: _list,
    8: _map,
    9: _comprehension,
}
