"""JSON in the words of this package: what flows through signatures, and what reading it raises."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

# What a JSON decoder gives: freely mutable containers.
JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

# What a caller may pass: anything that reads like JSON, frozen views included.
JSONLike: TypeAlias = "bool | int | float | str | Sequence[JSONLike] | Mapping[str, JSONLike] | None"

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises about bytes: no JSON, no UTF-8 inside a text, or nested deeper than Python can follow.

All three come from whoever wrote the bytes. Catching the first alone would let a hostile or broken server end the
program with the other two.
"""

_WRONG_TYPE: Final = re.compile(r"Expected `([^`|]*?)(?: \| null)?`, got `([^`]*)`(?: - at `\$\.?([^`]*)`)?")
_WORDS: Final = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "object": "a mapping",
    "str": "text",
}


def complaint(error: Exception) -> str:
    """What a decoder says of a document, for people: of a value of the wrong type in words, else as it is."""
    found = _WRONG_TYPE.fullmatch(str(error))
    if found is None:
        return str(error)
    wanted, got, path = found.groups()
    # What YAML makes of 7 and of yes is hardly ever meant where text belongs.
    hint = ": put it in quotes" if wanted == "str" and got in ("bool", "float", "int") else ""
    return f"{path or 'it'} is {_WORDS.get(got, got)}, and has to be {_WORDS.get(wanted, wanted)}{hint}"
