"""JSON syntax errors with the messages of Go's parser: clients match on them, and kubectl prints them."""

from __future__ import annotations

import re

import msgspec

from dynkube_testing._calls.gotext import quoted
from dynkube_testing._calls.nesting import MAX_DEPTH, TooDeep, check_depth

_END = "unexpected end of JSON input"
_VALUE, _KEY, _AFTER_KEY = (
    "looking for beginning of value",
    "looking for beginning of object key string",
    "after object key",
)
_AFTER = {b"": "after top-level value", b"[": "after array element", b"{": "after object key:value pair"}
_CLOSING = {b"[": b"]", b"{": b"}"}
_QUOTES = {"'": "\\'", '\\"': '"'}
_LITERALS = {literal[:1]: literal for literal in (b"true", b"false", b"null")}

_SPACE = rb"[ \t\r\n]*+"
_PART = rb"""\"(?:[^\"\\\x00-\x1f]++|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*+"""
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_SCALAR = rb"(?:" + _PART + rb'"|' + _NUMBER + rb"|true|false|null)"
_SPACES, _SCALARS = re.compile(_SPACE), re.compile(_SCALAR)
_STRING_PART, _HEXADECIMAL = re.compile(_PART), re.compile(rb"[0-9a-fA-F]{0,3}")  # as far as they are right
# As many scalars as there are, so that long lists and objects of them are passed over at once.
_ITEMS = re.compile(rb"(?:" + _SPACE + _SCALAR + _SPACE + rb",)*+")
_FIELDS = re.compile(rb"(?:" + _SPACE + _PART + rb'"' + _SPACE + rb":" + _SPACE + _SCALAR + _SPACE + rb",)*+")
_RUNS = {(_VALUE, b"["): _ITEMS, (_KEY, b"{"): _FIELDS}
_SURROGATE = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_SURROGATES = re.compile(
    rb"\\\\|" + _SURROGATE + rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def parse_json(body: bytes) -> object:
    """Decode ``body``; bytes that are not UTF-8, and half surrogate pairs, become U+FFFD, as in Go.

    Raises:
        TooDeep: It is nested too deeply; a subclass of ValueError.
        ValueError: It is not JSON; the message is that of Go.
    """
    try:
        data = msgspec.json.decode(body)
    except RecursionError:
        raise TooDeep("[") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # invalid UTF-8: the latter before msgspec 0.23
        if problem := _syntax_error(body):
            raise ValueError(problem) from None
        decoded = body.decode("utf-8", "replace").encode()
        paired = _SURROGATES.sub(lambda match: rb"\ufffd" if match["lone"] else match[0], decoded)
        if paired == body:
            raise ValueError(str(error)) from None
        return parse_json(paired)
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:  # an upper bound of the depth; few bodies need the full check
        check_depth(data)
    return data


def _syntax_error(body: bytes) -> str:
    """Return Go's message about the first byte that does not fit; ``""`` if there is none."""
    position, expected, may_end = 0, _VALUE, False  # may_end: whether an object or list has begun just now
    around = [b""]  # the brackets that are open
    while True:
        within = around[-1]
        if run := _RUNS.get((expected, within)):
            start, position = position, _end(run, body, position)
            may_end = may_end and position == start
        position = _end(_SPACES, body, position)
        byte = body[position : position + 1]
        if not byte:
            return "" if expected == _AFTER[b""] else _END
        if byte == _CLOSING.get(within) and (may_end or expected == _AFTER[within]):
            around.pop()
            position, expected, may_end = position + 1, _AFTER[around[-1]], False
        elif expected == _VALUE and byte in _CLOSING:
            around.append(byte)
            position, expected, may_end = position + 1, _KEY if byte == b"{" else _VALUE, True
        elif expected == _VALUE or (expected == _KEY and byte == b'"'):
            problem, position = _scalar(body, position)
            if problem:
                return _unexpected(body, position, problem) if problem != _END else _END
            expected, may_end = _AFTER_KEY if expected == _KEY else _AFTER[within], False
        elif byte == (b":" if expected == _AFTER_KEY else b",") and expected != _KEY and within:
            position, expected = position + 1, _KEY if within == b"{" and byte == b"," else _VALUE
        else:
            return _unexpected(body, position, expected)


def _scalar(body: bytes, start: int) -> tuple[str, int]:
    """Return the error of a scalar, and the offset of the wrong byte; or ``""``, and the offset of its end."""
    first = body[start : start + 1]
    if (whole := _SCALARS.match(body, start)) is not None:
        number, end = whole[0], whole.end()
        following = body[end : end + 1] if first not in b'"tfn' else b""
        if following == b"." and number.lstrip(b"-").isdigit():
            return "after decimal point in numeric literal", end + 1
        if following in {b"e", b"E"} and b"e" not in number.lower():
            return "in exponent of numeric literal", end + (2 if body[end + 1 : end + 2] in {b"+", b"-"} else 1)
        return "", end
    if first == b'"':
        end = _end(_STRING_PART, body, start)
        if body[end : end + 1] != b"\\":
            return "in string literal" if end < len(body) else _END, end
        if body[end + 1 : end + 2] == b"u":
            return "in \\u hexadecimal character escape", _end(_HEXADECIMAL, body, end + 2)
        return "in string escape code", end + 1
    if first == b"-":
        return "in numeric literal", start + 1
    if literal := _LITERALS.get(first, b""):
        length = next(i for i in range(1, 5) if body[start + i : start + i + 1] != literal[i : i + 1])
        return f"in literal {literal.decode()} (expecting '{literal[length : length + 1].decode()}')", start + length
    return _VALUE, start


def _end(pattern: re.Pattern[bytes], body: bytes, start: int) -> int:
    match = pattern.match(body, start)
    assert match is not None, "it matches nothing, too"
    return match.end()


def _unexpected(body: bytes, position: int, context: str) -> str:
    # Go's decoder works on bytes, and prints a byte as a character; it reads a space at the end.
    text = quoted(chr(body[position]) if position < len(body) else " ")[1:-1]
    return f"invalid character '{_QUOTES.get(text, text)}' {context}"
