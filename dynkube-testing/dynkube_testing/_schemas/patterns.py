r"""Regular expressions in schemas and CEL rules: RE2, with Go's error messages.

With any pattern, ``google-re2`` matches in time linear in the length of the string. It accepts nearly the same syntax
as Go; ``\C``, which Go rejects, is rejected here too. RE2 programs work on bytes and Go's on characters, so some very
large patterns that Go compiles are "too large" here. RE2 does not support ``\p{LC}`` and ``\p{Cn}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

# Bytes of memory for the program and the states of one expression. ``^[\p{L}\p{N} ]{1,63}$`` needs less, and compiles
# in 20 ms, during which the process does nothing else; ``\pL{253}`` needs more, and took 0.13 s with RE2's default of
# 8 MiB.
_MAX_MEMORY = 1536 * 1024

# Go's error messages by those of RE2: https://pkg.go.dev/regexp/syntax#ErrorCode
_IN_GO = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "unexpected )": "unexpected )",
}

# The deepest nesting of groups that Go compiles: https://pkg.go.dev/regexp/syntax#ErrNestingDepth
_MAX_GROUPS = 999
# Finds ``\C`` and the parentheses of groups. The other alternatives match quotations, escapes and character classes, so
# that ``\C`` and parentheses in them are skipped.
_TOKENS = re.compile(
    r"""\\Q(?s:.*?)(?:\\E|\Z)
      | \\(?P<any>C)
      | \\(?s:.)
      | \[\^?\]?(?:\[:\^?\w+:\]|\\(?s:.)|[^\]\\])*\]
      | (?P<bracket>[()])
    """,
    re.VERBOSE | re.ASCII,
)
_CLASS_ESCAPE = re.compile(r"\\[pP]\{\^?([^}]*)\}|\\(?s:.)")
# Long names of Unicode general categories, accepted since Go 1.25: lower case, without spaces, "_" and "-".
_CATEGORIES = {
    "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf", "unassigned": "Cn", "privateuse": "Co",
    "surrogate": "Cs", "letter": "L", "casedletter": "LC", "lowercaseletter": "Ll", "modifierletter": "Lm",
    "otherletter": "Lo", "titlecaseletter": "Lt", "uppercaseletter": "Lu", "mark": "M", "combiningmark": "M",
    "spacingmark": "Mc", "enclosingmark": "Me", "nonspacingmark": "Mn", "number": "N", "decimalnumber": "Nd",
    "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "closepunctuation": "Pe", "finalpunctuation": "Pf",
    "initialpunctuation": "Pi", "otherpunctuation": "Po", "openpunctuation": "Ps", "symbol": "S",
    "currencysymbol": "Sc", "modifiersymbol": "Sk", "mathsymbol": "Sm", "othersymbol": "So", "separator": "Z",
    "lineseparator": "Zl", "paragraphseparator": "Zp", "spaceseparator": "Zs",
}  # fmt: skip


TOO_LARGE = "error parsing regexp: expression too large"


class BadPattern(ValueError):
    """An invalid regular expression, with the message of Go's ``regexp``; ``TOO_LARGE`` if it needs too much memory."""


class Pattern:
    """A compiled regular expression.

    Attributes:
        size: The number of instructions in its program; an instruction has 16 bytes.
    """

    __slots__ = ("_compiled", "size")

    def __init__(self, compiled: re2._Regexp) -> None:
        self._compiled = compiled
        self.size: int = compiled.programsize

    def found_in(self, text: str) -> bool:
        """Return whether ``text`` contains a match."""
        return self._compiled.search(_bytes(text)) is not None

    def matches(self, text: str) -> Iterator[str]:
        """Yield the non-overlapping matches in ``text``, from left to right."""
        for match in self._compiled.finditer(_bytes(text)):
            yield match[0].decode()


def compile_pattern(pattern: str) -> Pattern:
    """Compile a regular expression; recently compiled ones are cached by RE2.

    Raises:
        BadPattern: The pattern is invalid in Go.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY

    def compiled(text: str) -> re2._Regexp:
        return re2.compile(_bytes(text), options)

    try:
        found = compiled(pattern)
    except re2.error as error:
        respelled = _CLASS_ESCAPE.sub(_respelled, pattern)
        if respelled == pattern:
            raise _bad(_in_go(error, pattern)) from None
        try:
            found = compiled(respelled)
        except re2.error:
            raise _bad(_in_go(error, pattern)) from None
    _reject_re2_extensions(pattern)
    return Pattern(found)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _reject_re2_extensions(pattern: str) -> None:
    depth = 0
    for token in _TOKENS.finditer(pattern):
        if token["any"]:
            raise _bad(r"invalid escape sequence: `\C`")  # matches any byte in RE2
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
        if depth > _MAX_GROUPS:
            raise _bad(f"expression nests too deeply: `{pattern}`")


def _respelled(found: re.Match[str]) -> str:
    r"""Return an escape like ``\p{greek}`` or ``\p{Letter}`` with RE2's name for it.

    Since 1.25, Go ignores case, spaces, "_" and "-" in these names.
    """
    given = found[1]
    if given is None:
        return found[0]
    script = "_".join(part.capitalize() for part in re.split("[ _-]", given))
    return found[0].replace(given, _CATEGORIES.get(re.sub("[ _-]", "", given).lower(), script))


def _bad(problem: str) -> BadPattern:
    return BadPattern(f"error parsing regexp: {problem}")


def _in_go(error: re2.error, pattern: str) -> str:
    """Return Go's error message for an ``error`` of RE2."""
    words, _, what = error.args[0].decode("utf-8", "replace").partition(": ")
    if words.startswith("trailing "):
        return "trailing backslash at end of expression: ``"
    if words == "invalid UTF-8":  # the pattern is UTF-8, but ends where RE2 expects digits
        words, what = "invalid escape sequence", r"\x{"
    elif words == "invalid repetition size":
        what = what.removesuffix("?")
    elif what in {"(?<=", "(?<!"}:  # Go parses ``(?<`` as the beginning of a group name
        rest = pattern[pattern.index(what) :]
        words, what = "invalid named capture group", rest[: rest.find(">") + 1] or rest
    return f"{_IN_GO[words]}: `{what}`" if words in _IN_GO else "expression too large"
