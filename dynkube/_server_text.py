"""Sanitizing of text from servers, proxies and plugins for messages.

Limits its length, and escapes control characters. The sender controls this text: messages of error responses, names,
headers, status lines. In a terminal a control character moves the cursor or overwrites text, and in a log a line break
forges a record. :func:`sanitized` is the one function for that.
"""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_IN_A_LINE: Final = 2000
"""Maximum characters of a log message or a state's message.

Some screens of text, and below the 2,048 bytes at which syslog servers may cut a record (RFC 5424, 6.1).
"""
MOST_IN_A_MESSAGE: Final = 8000
"""Maximum characters of server text in an error, line breaks included.

The longest messages of kube-apiserver are those of validation, with some 100 characters for each field.
"""

_MOST_IN_A_WORD: Final = 253  # the longest name in Kubernetes, a DNS subdomain
_LINES: Final = "\n\t"


def sanitized(text: str, most: int = MOST_IN_A_LINE, *, lines: bool = False) -> str:
    r"""Return at most ``most`` characters of ``text``, control characters escaped.

    If characters were cut, a note gives their number.

    Args:
        text: text from a server, a proxy or a plugin.
        most: maximum characters to keep.
        lines: keep line feeds and tabs. By default the result is one line, for logs and states.

    Returns:
        ``\n`` for a line feed (a backslash and an ``n``), ``\x1b`` for an escape character, ``\u202e`` for a
        bidirectional control character; spaces of any kind as plain spaces. Text that is printable and short is
        returned unchanged.
    """
    kept = text[:most]
    if not kept.isprintable():
        kept = "".join(map(_escaped_in_lines if lines else _escaped, kept))
    return kept if len(text) <= most else f"{kept}… ({len(text) - most:,} characters more)"


def word(text: str) -> str:
    """Sanitize text that should be one word: a kind, a reason, a name.

    Returns at most 253 characters on one line.
    """
    return sanitized(text, _MOST_IN_A_WORD)


def _escaped_in_lines(character: str) -> str:
    return character if character in _LINES else _escaped(character)


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":  # a space of another width
        return " "
    return character.encode("unicode_escape", "backslashreplace").decode()
