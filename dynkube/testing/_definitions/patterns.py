r"""Whether a ``pattern`` is a regular expression to the server, in the syntax of RE2 and the words of Go's parser.

It knows the grammar only: whether a script in ``\p{Greek}`` exists, for one, is not looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MAX_REPETITION = 1000
_FLAGS = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?[:)]")
_BAD_FLAGS = re.compile(r"\(\?[imsU-]*.?", re.DOTALL)
_NAMED = re.compile(r"\(\?P?<")
_NAME = re.compile(r"\w+>", re.ASCII)
_COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_POSIX = re.compile(r"\[:\^?([a-z]*):\]")
_POSIX_NAMES = frozenset(
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()  # noqa: SIM905 - reads better
)
_UNICODE = re.compile(r"\\[pP](?:\{\^?([^}]*)\}|(.))", re.DOTALL)
_CATEGORY = re.compile(r"C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?|[A-Z][a-z_A-Z]{2,}|Yi|LC|Cn")
# What stands for one character: hexadecimal, octal, a control character, or punctuation as it is.
_CHARACTER = re.compile(
    r"\\(?:x\{([0-9a-fA-F]+)\}|x[0-9a-fA-F]{2}|0[0-7]{0,2}|[1-7][0-7]{1,2}|[afnrtv]|[!-/:-@\[-`{-~])"
)
_BAD_CHARACTER = re.compile(r"\\(?:x\{[0-9a-fA-F]*|x[0-9a-fA-F]?|.)", re.DOTALL)
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class _Problem(Exception):
    """What is wrong."""


def pattern_problem(pattern: str) -> str:
    """What is wrong with ``pattern``; ``""`` if nothing is."""
    try:
        _Parser(pattern).parse()
    except _Problem as problem:
        return f"error parsing regexp: {problem}"
    return ""


@dataclass(slots=True)
class _Parser:
    """One pass over a pattern. ``weights`` has, for each open group, how often anything in it may be repeated."""

    text: str
    at: int = 0
    operand: bool = False  # whether there is something to repeat
    weight: int = 1  # how often that something repeats already
    repeated: int = -1  # where a repetition that has just ended began
    weights: list[int] = field(default_factory=lambda: [1])

    def parse(self) -> None:
        while self.at < len(self.text):
            match self.text[self.at]:
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "|":
                    self.at, self.operand, self.repeated = self.at + 1, False, -1
                case "*" | "+" | "?":
                    self._repeat(self.at + 1, 1)
                case "{" if count := _COUNT.match(self.text, self.at):
                    self._repeat(count.end(), _times(count))
                case "[":
                    self._took(_class_end(self.text, self.at))
                case "\\":
                    self._took(_escape_end(self.text, self.at))
                case _:
                    self._took(self.at + 1)
        if len(self.weights) > 1:
            raise _Problem(f"missing closing ): `{self.text}`")

    def _took(self, end: int, weight: int = 1) -> None:
        self.at, self.operand, self.weight, self.repeated = end, True, weight, -1

    def _open(self) -> None:
        rest = self.text[self.at :]
        end, opens = 1, True
        if named := _NAMED.match(rest):
            name = _NAME.match(rest, named.end())
            if name is None:
                close = rest.find(">")
                raise _Problem(f"invalid named capture: `{rest[: close + 1] if close >= 0 else rest}`")
            end = name.end()
        elif rest.startswith("(?"):
            flags = _FLAGS.match(rest)
            if flags is None:
                bad = _BAD_FLAGS.match(rest)
                raise _Problem(f"invalid or unsupported Perl syntax: `{bad[0] if bad else rest}`")
            end, opens = flags.end(), flags[0].endswith(":")
        if opens:
            self.weights.append(1)
            self.operand = False
        self.at, self.repeated = self.at + end, -1

    def _close(self) -> None:
        if len(self.weights) == 1:
            raise _Problem(f"unexpected ): `{self.text}`")
        weight = self.weights.pop()
        self.weights[-1] = max(self.weights[-1], weight)
        self._took(self.at + 1, weight)

    def _repeat(self, end: int, times: int) -> None:
        begin = self.at
        operator = self.text[begin:end]
        end += self.text[end : end + 1] == "?"
        if self.repeated >= 0:
            raise _Problem(f"invalid nested repetition operator: `{self.text[self.repeated : end]}`")
        if not self.operand:
            raise _Problem(f"missing argument to repetition operator: `{self.text[begin:end]}`")
        weight = self.weight * max(times, 1)
        if weight > _MAX_REPETITION:
            raise _Problem(f"invalid repeat count: `{operator}`")
        self.weights[-1] = max(self.weights[-1], weight)
        self._took(end, weight)
        self.repeated = begin


def _times(count: re.Match[str]) -> int:
    low, high = int(count[1]), int(count[3] or count[1])
    if high < low or high > _MAX_REPETITION or (count[3] and not count[2]):
        raise _Problem(f"invalid repeat count: `{count[0]}`")
    return high


def _escape_end(text: str, at: int) -> int:
    """Where an escape outside of a class ends."""
    following = text[at + 1 : at + 2]
    if following == "Q":
        end = text.find("\\E", at)
        return len(text) if end < 0 else end + 2
    if following and following in "AbBzdDsSwW":
        return at + 2
    return _unicode_end(text, at) or _character(text, at)[1]


def _unicode_end(text: str, at: int) -> int:
    r"""Where ``\pL`` or ``\p{Lu}`` ends; 0 if there is none."""
    found = _UNICODE.match(text, at)
    if found is None:
        return 0
    if not _CATEGORY.fullmatch(found[1] if found[1] is not None else found[2]):
        raise _Problem(f"invalid character class range: `{found[0]}`")
    return found.end()


def _character(text: str, at: int) -> tuple[int, int]:
    """The code point of one character, escaped or not, and where it ends."""
    if text[at] != "\\":
        return ord(text[at]), at + 1
    found = _CHARACTER.match(text, at)
    if found is None or int(found[1] or "0", 16) > 0x10FFFF:
        bad = _BAD_CHARACTER.match(text, at)
        if bad is None:
            raise _Problem("trailing backslash at end of expression: ``")
        raise _Problem(f"invalid escape sequence: `{bad[0]}`")
    escape = found[0][1:]
    if found[1] or escape[0] == "x":
        return int(found[1] or escape[1:], 16), found.end()
    if escape[0].isdigit():
        return int(escape, 8), found.end()
    return _CONTROL.get(escape, ord(escape)), found.end()


def _class_end(text: str, begin: int) -> int:
    """Where the class that begins with ``[`` ends."""
    at = first = begin + 1 + text.startswith("^", begin + 1)
    while at < len(text) and (text[at] != "]" or at == first):
        if posix := _POSIX.match(text, at):
            if posix[1] not in _POSIX_NAMES:
                raise _Problem(f"invalid character class range: `{posix[0]}`")
            at = posix.end()
        elif text[at] == "\\" and text[at + 1 : at + 2] in set("dDsSwW"):
            at += 2
        else:
            at = _unicode_end(text, at) or _range_end(text, at)
    if at >= len(text):
        raise _Problem(f"missing closing ]: `{text[begin:]}`")
    return at + 1


def _range_end(text: str, at: int) -> int:
    low, end = _character(text, at)
    if text[end : end + 1] != "-" or text[end + 1 : end + 2] in {"]", ""}:
        return end
    high, end = _character(text, end + 1)
    if high < low:
        raise _Problem(f"invalid character class range: `{text[at:end]}`")
    return end
