"""A cursor over a JSONPath's text: what every part of the parser needs, and how it complains."""

from __future__ import annotations

import re

from dynkube.errors import InvalidJSONPath

_BLANKS = re.compile(r"[ \t]*")
# Numbers of the API have at most 64 bits.
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<body>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)""")
_UNPRINTED = str.maketrans("\t\r\n", "   ")

# The escapes of a Go string; quotes and hexadecimal forms are treated beside.
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))", re.DOTALL)
_SIMPLE_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str, *, strict: bool) -> None:
        self.text = text
        self.strict = strict
        self.position = 0

    def at(self, prefix: str) -> bool:
        """Whether the rest begins with ``prefix``."""
        return self.text.startswith(prefix, self.position)

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position >= len(self.text)

    def accept(self, prefix: str) -> bool:
        """Step over ``prefix`` if the rest begins with it."""
        found = self.at(prefix)
        if found:
            self.position += len(prefix)
        return found

    def expect(self, prefix: str, purpose: str) -> None:
        """Step over ``prefix``, or complain that it is missing."""
        if not self.accept(prefix):
            raise self.error(f"expected {prefix!r} {purpose}, found {self.found()}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what ``pattern`` matches here."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def skip_blanks(self) -> None:
        """Step over spaces and tabs."""
        self.match(_BLANKS)

    def quoted(self) -> str | None:
        """A text in quotes without them, escapes kept; ``None`` if no quote stands here."""
        if self.text[self.position : self.position + 1] not in ("'", '"'):
            return None
        match = self.match(_QUOTED)
        if match is None:
            raise self.error("this quote is not closed")
        return match["body"]

    def number(self) -> int | float | None:
        """A number, or ``None`` if none stands here."""
        match = self.match(_NUMBER)
        if match is None:
            return None
        return float(match[0]) if "." in match[0] else int(match[0])

    def unquote(self, body: str, position: int, quote: str) -> str:
        r"""Resolve the escapes of a Go string (``\n``, ``\"``, ``\x41``, ``\101``, ``\u00e9``)."""
        if "\\" not in body:
            return body
        raw = bytearray()
        end = 0
        for match in _ESCAPE.finditer(body):
            raw += body[end : match.start()].encode("utf-8", "surrogatepass")
            end = match.end()
            byte, octal, short, long, simple = match.groups()
            try:
                if byte or octal:
                    raw.append(int(byte, 16) if byte else int(octal, 8))
                elif short or long:
                    raw += chr(int(short or long, 16)).encode()
                else:
                    raw += (quote if simple == quote else _SIMPLE_ESCAPES[simple]).encode()
            except (KeyError, ValueError):
                raise self.error(f"unknown escape {match[0]}", position + match.start()) from None
        raw += body[end:].encode("utf-8", "surrogatepass")
        return raw.decode("utf-8", "replace")

    def found(self) -> str:
        """What stands here, for a message."""
        return "the end" if self.at_end else repr(self.text[self.position])

    def error(self, message: str, position: int | None = None) -> InvalidJSONPath:
        """A complaint that points at ``position``, by default here."""
        # One caret needs one line; blanks of the same width keep it under its character.
        text = self.text.translate(_UNPRINTED)
        return InvalidJSONPath(
            f"JSONPath: {message}", text=text, position=self.position if position is None else position
        )
