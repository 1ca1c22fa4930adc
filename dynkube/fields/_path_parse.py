"""Parser of paths as written by people and printed by API servers.

For example ``.spec.containers[name="web"].image``.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from dynkube.errors import InvalidInput
from dynkube.fields._steps import Field, ItemIndex, ItemKey, ItemValue, Step
from dynkube.meta import JSON

_NAME: Final = re.compile(r"[^.\[\]]+")
_INDEX: Final = re.compile(r"\d{1,18}\s*\]")
_NEGATIVE: Final = re.compile(r"-\d+\s*\]")
_KEY_NAME: Final = re.compile(r"[^=,\[\]\"'\s]+")
_BARE_VALUE: Final = re.compile(r"[^,\[\]\"'\s]+")
_BLANKS: Final = re.compile(r"\s*")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.)|$)",
    re.DOTALL,
)
# Escapes of JSON, and the additional ones of Go (\a, \v).
_SHORT: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LITERAL: Final = {'"': '"', "'": "'", "\\": "\\", "/": "/"}


def parse_steps(text: str) -> tuple[Step, ...]:
    """Parse the steps of a path.

    Raises:
        InvalidInput: It is malformed.
    """
    _refuse_other_notations(text)
    return _Parser(text).path()


def _refuse_other_notations(text: str) -> None:
    """Reject JSON pointers, JSONPath and file paths.

    They would be parsed as field names that no object has.

    Only the start of the string is checked, as servers print names with slashes without quotes.

    Raises:
        InvalidInput: The string has another notation; the message has the equivalent path.
    """
    root = re.split(r"[.\[]", text.removeprefix("."), maxsplit=1)[0]
    if text.startswith("/") or (not text.startswith(".") and "/" in root):
        names = [part.replace("~1", "/").replace("~0", "~") for part in text.removeprefix("/").split("/") if part]
        steps = (ItemIndex(int(name)) if re.fullmatch(r"\d{1,18}", name) else Field(name) for name in names)
        notation, here = "a JSON pointer", "".join(map(str, steps)) or "."
    elif text.startswith("{") and text.endswith("}"):
        notation, here = "JSONPath", text[1:-1].removeprefix("$") or "."
    elif text == "$" or text.startswith(("$.", "$[")):
        notation, here = "JSONPath", text[1:] or "."
    else:
        return
    raise InvalidInput(f"path {text!r} is {notation}: write {here!r}")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def path(self) -> tuple[Step, ...]:
        text = self._text
        if text == ".":
            return ()
        if not text:
            self._fail("the path is empty: write '.' for the whole object")
        steps = []
        while self._at < len(text):
            if text[self._at] == "[":
                steps.append(self._bracket())
                continue
            if text[self._at] == ".":
                self._at += 1
            elif steps:
                self._fail("expected '.' or '['")
            steps.append(Field(self._take(_NAME, "expected a field name")))
        return tuple(steps)

    def _bracket(self) -> Step:
        self._at += 1
        self._blanks()
        if self._next() == "=":
            self._at += 1
            value = self._value()
            self._close()
            return ItemValue(value)
        if self._next() == "*":
            self._fail(f"wildcards are not supported: use the path of the list, {self._text[: self._at - 1]!r}")
        if self._next() == "?":
            self._fail('filters are not supported: write [KEY=VALUE] for a list item, as in [name="web"]')
        if _NEGATIVE.match(self._text, self._at):  # a key may begin with "-" as well
            self._fail("negative indexes are not supported: indexes start at 0")
        if _INDEX.match(self._text, self._at):
            index = int(self._take(re.compile(r"\d+"), ""))
            self._close()
            return ItemIndex(index)
        return self._quoted_field_or_keys()

    def _quoted_field_or_keys(self) -> Step:
        keys: dict[str, JSON] = {}
        while True:
            start = self._at
            is_quoted = self._next() in ("'", '"')
            name = self._quoted() if is_quoted else self._take(_KEY_NAME, "expected a key, an index or a quoted name")
            self._blanks()
            if is_quoted and not keys and self._next() == "]":
                self._close()
                return Field(name)
            if self._next() != "=":
                self._at = start
                self._fail(f"write [KEY=VALUE] for a list item, or quote a field name: [{json.dumps(name)}]")
            self._at += 1
            if name in keys:
                self._at = start
                self._fail(f"duplicate key {name!r}")
            keys[name] = self._value()
            if self._next() != ",":
                self._close()
                return ItemKey(keys)
            self._at += 1
            self._blanks()

    def _value(self) -> JSON:
        self._blanks()
        if self._next() in ("'", '"'):
            value: JSON = self._quoted()
        elif self._next() in ("[", "{"):
            value = self._nested()
        else:
            value = _scalar(self._take(_BARE_VALUE, "expected a value"))
        self._blanks()
        return value

    def _nested(self) -> JSON:
        """Parse a list or an object in JSON, which FieldsV1 allows as item of a set."""
        try:
            value, self._at = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(self._text, self._at)
        except (ValueError, RecursionError) as error:
            self._fail(f"the value is not valid JSON ({error})")
        return value  # type: ignore[no-any-return]  # the decoder returns JSON

    def _quoted(self) -> str:
        match = _QUOTED.match(self._text, self._at)
        if match is None:
            self._fail("unterminated quote")
        start = self._at
        self._at = match.end()
        return _ESCAPE.sub(lambda escape: self._unescaped(escape, start), match[0][1:-1])

    def _unescaped(self, escape: re.Match[str], start: int) -> str:
        high, low, *numbers, single = escape.groups()
        if high is not None:
            return (bytes.fromhex(high) + bytes.fromhex(low)).decode("utf-16-be")
        for number in numbers:
            if number is not None:
                code = int(number, 16)
                if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
                    self._at = start
                    self._fail(f"{escape[0]} is not a valid character")
                return chr(code)
        found = _SHORT.get(single) or _LITERAL.get(single)
        if found is None:
            self._at = start
            self._fail(f"unknown escape {escape[0]}: write a backslash as \\\\")
        return found

    def _close(self) -> None:
        self._blanks()
        if self._next() != "]":
            self._fail("expected ']'")
        self._at += 1

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _blanks(self) -> None:
        match = _BLANKS.match(self._text, self._at)
        assert match is not None, "the pattern matches the empty string"
        self._at = match.end()

    def _take(self, pattern: re.Pattern[str], otherwise: str) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            self._fail(otherwise)
        self._at = match.end()
        return match[0]

    def _fail(self, problem: str) -> NoReturn:
        text = self._text
        raise InvalidInput(f"invalid path {text!r}: {problem}\n  {text}\n  {' ' * self._at}^")


def _scalar(text: str) -> JSON:
    """Parse an unquoted value: a number, a boolean, null, else a string."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
