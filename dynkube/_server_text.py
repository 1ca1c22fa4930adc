"""Text of a server, a proxy or a plugin, made fit for messages: of limited length, and with nothing that acts.

Whatever answers a request chooses this text: the messages of error responses, names, header fields, status lines. In a
terminal a control character moves the cursor or rewrites what stands there, and in a log a line break forges a record.
The one function for that is :func:`sanitized`.
"""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_IN_A_LINE: Final = 2000
"""Characters of a log message or of a state's message: some screens' worth, and below the 2,048 bytes at which syslog
servers may cut a record (RFC 5424, 6.1)."""
MOST_IN_A_MESSAGE: Final = 8000
"""Characters of one server text in an error, line breaks included; the longest messages of kube-apiserver are those of
validation, with some 100 characters for each field."""

_MOST_IN_A_WORD: Final = 253  # the longest name that Kubernetes has, a DNS subdomain
_LINES: Final = "\n\t"


def sanitized(text: str, most: int = MOST_IN_A_LINE, *, lines: bool = False) -> str:
    r"""``text`` in at most ``most`` characters and a note of how many were cut, with control characters as escapes.

    Args:
        text: from a server, a proxy, a plugin.
        most: characters that are kept.
        lines: leave line feeds and tabs as they are. Without it the result is one line: for logs and states.

    Returns:
        ``\n`` for a line feed (a backslash and an ``n``), ``\x1b`` for an escape character, ``\u202e`` for a
        mark of direction; spaces of any kind as plain spaces. Text that is printable and short is returned as it is.
    """
    kept = text[:most]
    if not kept.isprintable():
        kept = "".join(map(_escaped_in_lines if lines else _escaped, kept))
    return kept if len(text) <= most else f"{kept}… ({len(text) - most:,} characters more)"


def word(text: str) -> str:
    """The same for what should be one word: a kind, a reason, a name."""
    return sanitized(text, _MOST_IN_A_WORD)


def _escaped_in_lines(character: str) -> str:
    return character if character in _LINES else _escaped(character)


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":  # a space of another width
        return " "
    return character.encode("unicode_escape", "backslashreplace").decode()
