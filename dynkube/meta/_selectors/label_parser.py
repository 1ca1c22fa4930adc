"""Parser for label selectors.

It yields terms with key, operator and values, not yet validated.

::

    selector    = [ term { "," term } ]
    term        = "!" KEY | KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) set
    set         = "(" [ VALUE ] { "," [ VALUE ] } ")"

It accepts the same strings as ``labels.Parse`` of apimachinery: ``in`` and ``notin`` are operators only after a key,
and a missing value is the empty string, also inside a set. (Older servers, including 1.34, reject a set that ends in
two commas, ``(a,,)``; the canonical form of a selector works with all of them.)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dynkube.errors import InvalidSelector

_TOKEN = re.compile(r"[ \t\r\n]*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^ \t\r\n=!(),<>]+)|\Z)")
_EXACT = {"=": "=", "==": "=", "!=": "!=", ">": ">", "<": "<"}
_BLANKS = str.maketrans("\t\r\n", "   ")


class Term(NamedTuple):
    """A term as written; ``operator`` is the value of a LabelOperator."""

    key: str
    operator: str
    values: tuple[str, ...]


class _Token(NamedTuple):
    text: str  # "" at the end
    is_word: bool
    position: int


def parse_terms(text: str) -> list[Term]:
    """Split a selector into its terms.

    Raises:
        InvalidSelector: the selector does not follow the grammar; the message shows the position.
    """
    return _Parser(text).selector()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[_Token] = []
        position, end = 0, False
        while not end:
            match = _TOKEN.match(text, position)
            assert match is not None, "every character is a blank, a symbol or part of a word"
            kind, position = match.lastgroup, match.end()
            end = kind is None
            token = match[kind] if kind else ""
            self._tokens.append(_Token(token, kind == "word", position - len(token)))
        self._next = 0

    def selector(self) -> list[Term]:
        terms: list[Term] = []
        if not self._peek().text:
            return terms
        while True:
            terms.append(self._term())
            token = self._take()
            if not token.text:
                return terms
            if token.text != ",":
                raise self._error("',' or the end", token)

    def _term(self) -> Term:
        token = self._take()
        negated = token.text == "!"
        if negated:
            token = self._take()
        if not token.is_word:
            raise self._error("a label key" if negated else "a label key or '!'", token)
        if negated:
            return Term(token.text, "!", ())
        if self._peek().text in ("", ","):
            return Term(token.text, "exists", ())
        operator = self._take()
        if operator.text in ("in", "notin"):
            return Term(token.text, operator.text, self._set())
        if operator.text not in _EXACT:
            raise self._error("one of =, ==, !=, in, notin, >, <", operator)
        return Term(token.text, _EXACT[operator.text], (self._value(),))

    def _value(self) -> str:
        token = self._peek()
        if token.text in ("", ","):
            return ""
        if not token.is_word:
            raise self._error("a value", token)
        return self._take().text

    def _set(self) -> tuple[str, ...]:
        token = self._take()
        if token.text != "(":
            raise self._error("'(' and the values, like '(a,b)'", token)
        values: list[str] = []
        while True:
            token = self._take()
            values.append(token.text if token.is_word else "")
            if token.is_word:
                token = self._take()
            if token.text == ")":
                return tuple(values)
            if token.text != ",":
                raise self._error("',' or ')'", token)

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _error(self, expected: str, token: _Token) -> InvalidSelector:
        found = repr(token.text) if token.text else "the end"
        return InvalidSelector(
            f"label selector {self._text!r}: expected {expected}, found {found}\n"
            f"  {self._text.translate(_BLANKS)}\n  {' ' * token.position}^"
        )
