"""JSON syntax errors with the messages of Go's parser: clients match on them, and kubectl prints them."""

from __future__ import annotations

import re

import msgspec

from dynkube_testing._calls.nesting import MAX_DEPTH, TooDeep, check_depth

_END = "unexpected end of JSON input"
_WORDS = {
    "object keys must be strings": "looking for beginning of object key string",
    "expected ':'": "after object key",
    "expected ',' or '}'": "after object key:value pair",
    "expected ',' or ']'": "after array element",
    "trailing comma in array": "looking for beginning of value",
    "trailing comma in object": "looking for beginning of object key string",
    "trailing characters": "after top-level value",
    "invalid escape character in string": "in string escape code",
    "invalid character in unicode escape": "in \\u hexadecimal character escape",
    "invalid number": "in numeric literal",
}
_LITERALS = (b"true", b"false", b"null")
# For these errors msgspec reports the offset after the invalid byte.
_BEHIND = {"invalid escape character in string", "invalid character in unicode escape", "trailing characters"}


def parse_json(body: bytes) -> object:
    """Decode ``body``; bytes that are not UTF-8 become U+FFFD, as in Go.

    Raises:
        TooDeep: It is nested too deeply; a subclass of ValueError.
        ValueError: It is not JSON; the message is that of Go.
    """
    try:
        data = msgspec.json.decode(body)
    except UnicodeDecodeError:
        return parse_json(body.decode("utf-8", "replace").encode())
    except RecursionError:
        raise TooDeep("[") from None
    except msgspec.DecodeError as error:
        raise ValueError(_describe(body, str(error))) from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:  # an upper bound of the depth; few bodies need the full check
        check_depth(data)
    return data


def _describe(body: bytes, error: str) -> str:
    match = re.fullmatch(r"JSON is malformed: (.*) \(byte (\d+)\)", error)
    if match is None:
        return _END
    problem, offset = match[1], int(match[2])
    if problem in _BEHIND:
        offset -= 1
    if problem == "invalid character":
        problem, offset = _error_context(body, offset)
    elif problem == "invalid number":
        problem = _number_problem(body, offset)
    if offset >= len(body):
        return _END
    # Go's decoder works on bytes, and prints the invalid byte as a character.
    return f"invalid character {_quoted(chr(body[offset]))} {_WORDS.get(problem, problem)}"


def _number_problem(body: bytes, offset: int) -> str:
    """Return Go's message for a number that is invalid at ``offset``."""
    before = body[offset - 1 : offset]
    if before == b".":
        return "after decimal point in numeric literal"
    if before in {b"e", b"E", b"+"} or re.search(rb"[eE]-$", body[:offset]):
        return "in exponent of numeric literal"
    # After a leading zero the number is complete for Go, so the error is about a character after a value.
    try:
        msgspec.json.decode(body[:offset] + b" " + body[offset:])
    except msgspec.DecodeError as error:
        return str(error).removeprefix("JSON is malformed: ").partition(" (byte")[0]
    return "in numeric literal"


def _error_context(body: bytes, offset: int) -> tuple[str, int]:
    """Return the context that Go's message has for an invalid character, and the offset of that character.

    The context is a string, a number, a literal (``true``), or the beginning of a value.
    """
    if body[offset : offset + 1] < b" " and _in_string(body[:offset]):
        return "in string literal", offset
    if body[offset - 1 : offset] == b"-":
        return "in numeric literal", offset
    for literal in _LITERALS:
        # msgspec reads as many bytes as the literal has, and reports their end instead of the first wrong byte.
        start = offset - len(literal)
        found = body[start:offset] if start >= 0 else b""
        if found[:1] == literal[:1]:
            wrong = next((i for i in range(1, len(literal)) if found[i : i + 1] != literal[i : i + 1]), 0)
            expected = literal[wrong : wrong + 1].decode()
            return f"in literal {literal.decode()} (expecting '{expected}')", start + wrong
    return "looking for beginning of value", offset


def _in_string(before: bytes) -> bool:
    return len(re.findall(rb'(?<!\\)(?:\\\\)*"', before)) % 2 == 1


def _quoted(character: str) -> str:
    """Quote a character as Go does."""
    return {"'": "'\\''", '"': "'\"'", "\n": "'\\n'", "\t": "'\\t'", "\r": "'\\r'"}.get(character, f"'{character}'")
