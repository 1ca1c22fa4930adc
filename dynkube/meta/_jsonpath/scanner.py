"""A scanner for JSONPath source.

It has the primitives and errors that the parsers share.
"""

from __future__ import annotations

import re

from dynkube.errors import InvalidJSONPath

_BLANKS = re.compile(r"[ \t]*")
# Numbers in the API have at most 64 bits.
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?")
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<body>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)""")
_UNPRINTED = str.maketrans("\t\r\n", "   ")

# The escapes of a Go string; quotes and hexadecimal forms are handled separately.
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))", re.DOTALL)
_SIMPLE_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


class Scanner:
    """A source string and a position in it."""

    def __init__(self, text: str, *, strict: bool) -> None:
        self.text = text
        self.strict = strict
        self.position = 0

    def at(self, prefix: str) -> bool:
        """Whether the rest begins with ``prefix``."""
        return self.text.startswith(prefix, self.position)

    @property
    def at_end(self) -> bool:
        """Whether the position is at the end of the source."""
        return self.position >= len(self.text)

    def accept(self, prefix: str) -> bool:
        """Consume ``prefix`` if it is next; return whether it was."""
        found = self.at(prefix)
        if found:
            self.position += len(prefix)
        return found

    def expect(self, prefix: str, purpose: str) -> None:
        """Consume ``prefix``, or raise InvalidJSONPath."""
        if not self.accept(prefix):
            raise self.error(f"expected {prefix!r} {purpose}, found {self.found()}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume and return a match of ``pattern`` at the position, or ``None``."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def skip_blanks(self) -> None:
        """Consume spaces and tabs."""
        self.match(_BLANKS)

    def quoted(self) -> str | None:
        """Consume a quoted string and return its body, escapes kept.

        Returns ``None`` if no quote is next.
        """
        if self.text[self.position : self.position + 1] not in ("'", '"'):
            return None
        match = self.match(_QUOTED)
        if match is None:
            raise self.error("unterminated quote")
        return match["body"]

    def number(self) -> int | float | None:
        """Consume and return a number; ``None`` if none is next."""
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
        """Describe the character at the position, for a message."""
        return "the end" if self.at_end else repr(self.text[self.position])

    def error(self, message: str, position: int | None = None) -> InvalidJSONPath:
        """Create an error that points at ``position``, by default the current one."""
        # Line breaks become blanks of the same width: the source has to be on one line, so that the caret is below the
        # right character.
        text = self.text.translate(_UNPRINTED)
        return InvalidJSONPath(
            f"JSONPath: {message}", text=text, position=self.position if position is None else position
        )
