"""The ``Warning`` fields of an answer (RFC 7234, 5.5): how the API server tells of deprecations and unknown fields."""

from __future__ import annotations

import re
from collections.abc import Iterable

# warn-code SP warn-agent SP quoted warn-text [SP quoted warn-date]; several may share a field, separated by commas.
_WARNING = re.compile(r'\s*,?\s*(\d{3}) ([^\s",]+) "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?=,|\Z)')
_ESCAPED = re.compile(r"\\(.)")


def parse_warnings(fields: Iterable[str]) -> tuple[str, ...]:
    """The texts of all warnings of code 299, in order, each once.

    Other codes are about caches, which the API server is none. A malformed field gives what precedes the fault.
    """
    texts: dict[str, None] = {}
    for value in fields:
        position = 0
        while match := _WARNING.match(value, position):
            if match[1] == "299":
                texts[_ESCAPED.sub(r"\1", match[3])] = None
            position = match.end()
    return tuple(texts)
