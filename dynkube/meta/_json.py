"""JSON types for annotations, and the exceptions raised by decoding."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

# The result of a JSON decoder: mutable containers.
JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

# Accepted from callers: anything JSON-like, immutable views included.
JSONLike: TypeAlias = "bool | int | float | str | Sequence[JSONLike] | Mapping[str, JSONLike] | None"

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of msgspec for malformed bytes.

The bytes are not JSON, have invalid UTF-8 in a string, or are nested too deep for Python. All three must be caught, as
otherwise a hostile or broken server could terminate the program.
"""

_WRONG_TYPE: Final = re.compile(r"Expected `([^`|]*?)(?: \| null)?`, got `([^`]*)`(?: - at `\$\.?([^`]*)`)?")
_WORDS: Final = {
    "array": "a list",
    "bool": "a boolean",
    "float": "a number",
    "int": "a number",
    "object": "a mapping",
    "str": "a string",
}


def complaint(error: Exception) -> str:
    """Describe a decoder's error for users.

    A value of the wrong type is explained in plain words.
    """
    found = _WRONG_TYPE.fullmatch(str(error))
    if found is None:
        return str(error)
    wanted, got, path = found.groups()
    # YAML reads an unquoted 7 as a number and yes as a boolean, where usually a string is meant.
    hint = ": put it in quotes" if wanted == "str" and got in ("bool", "float", "int") else ""
    return f"{path or 'it'} is {_WORDS.get(got, got)}, expected {_WORDS.get(wanted, wanted)}{hint}"
