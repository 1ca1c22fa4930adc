r"""Patterns of schemas, which are RE2's, for Python's engine.

What means the same in both is passed on; what is spelled differently is translated. A pattern that cannot be said in
Python (Unicode classes such as ``\p{Greek}``) matches everything here. Unlike RE2, Python's engine may take
exponential time on patterns like ``(a+)+$``.
"""

from __future__ import annotations

import re

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7f",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_TOKENS = re.compile(
    r"""\\Q(?P<literal>.*?)(?:\\E|\Z)
      | \\(?P<escape>[zpPC]) (?P<category>\{\^?\w+\}|\w)?
      | \\x\{(?P<hex>[0-9a-fA-F]+)\}
      | \\.
      | \[\[:(?P<first>\w+):\]     # only at the start of a class, like the next one behind it
      | \[:(?P<posix>\w+):\]
      | (?P<end>\$)
      | (?P<flags>\(\?[imsU]+\))
      | (?P<group>\(\?<(?=[A-Za-z_]))
      | (?P<open>\[\^?\]?)
      | (?P<close>\])
      | .""",
    re.VERBOSE | re.DOTALL,
)
# Of Unicode's categories, those that Python can say.
_LETTER, _NUMBER = "(?u:[^\\W\\d_])", "(?u:\\d)"
_CATEGORIES = {"L": _LETTER, "{L}": _LETTER, "N": _NUMBER, "{N}": _NUMBER, "{Nd}": _NUMBER}


def compile_pattern(pattern: str) -> re.Pattern[str] | None:
    """``pattern`` to be searched for; ``None`` where Python cannot."""
    translation = _Translation()
    try:
        text = _TOKENS.sub(translation.token, pattern)
        return re.compile(text, re.ASCII)
    except (re.error, LookupError, RecursionError, OverflowError):
        return None


class _Translation:
    """Where in a pattern a translation is."""

    __slots__ = ("in_class", "multiline")

    def __init__(self) -> None:
        self.in_class = False
        self.multiline = False

    def token(self, match: re.Match[str]) -> str:
        text = match[0]
        match match.lastgroup:
            case "literal":
                return re.escape(match["literal"])
            case "escape" | "category":
                return self._escape(match)
            case "hex":
                return re.escape(chr(int(match["hex"], 16)))
            case "first":
                self.in_class = True
                return "[" + _POSIX[match["first"]]
            case "posix" if self.in_class:
                return _POSIX[match["posix"]]
            case "end" if not self.in_class and not self.multiline:
                # In RE2 it is the end of the text, in Python also what is before a last newline.
                return "\\Z"
            case "flags" if not self.in_class:
                return self._flags(text)
            case "group" if not self.in_class:
                return "(?P<"
            case "open":
                return self._open(text)
            case "close":
                self.in_class = False
        return text

    def _escape(self, match: re.Match[str]) -> str:
        if match["escape"] == "z":
            return "\\Z" + (match["category"] or "")
        # Raises LookupError for what Python has no class for, and for all of them inside another class.
        return _CATEGORIES["" if self.in_class or match["escape"] != "p" else match["category"]]

    def _flags(self, text: str) -> str:
        if "U" in text:
            raise LookupError(text)
        self.multiline = self.multiline or "m" in text
        return text

    def _open(self, text: str) -> str:
        if self.in_class:
            self.in_class = not text.endswith("]")
            return "\\" + text
        self.in_class = True
        return text
