"""``Warning`` headers (RFC 7234, 5.5).

API servers use them for deprecations and unknown fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dynkube._logs import get_logger

# warn-code SP warn-agent SP quoted warn-text [SP quoted warn-date]; several may share a header, separated by commas.
_WARNING = re.compile(r'\s*,?\s*(\d{3}) ([^\s",]+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?=,|\Z)')
_ESCAPED = re.compile(r"\\(.)")
_REMEMBERED = 256

_logger = get_logger("dynkube.rest")


def parse_warnings(fields: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of all warnings of code 299, in order and without duplicates.

    Other codes are about caches, which API servers do not use. A malformed header yields the warnings before the error.
    """
    texts: dict[str, None] = {}
    for value in fields:
        position = 0
        while match := _WARNING.match(value, position):
            if match[1] == "299":
                texts[_ESCAPED.sub(r"\1", match[3])] = None
            position = match.end()
    return tuple(texts)


class WarningLog:
    """Logs each distinct warning once, as kubectl does.

    Servers repeat it with every request. It remembers the first 256 texts; further ones are logged at debug level.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, text: str) -> None:
        """Log a warning."""
        if text in self._seen or len(self._seen) >= _REMEMBERED:
            _logger.debug("repeated API server warning: %s", text)
            return
        self._seen.add(text)
        _logger.warning("API server warning: %s", text)
