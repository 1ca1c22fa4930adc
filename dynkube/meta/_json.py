"""JSON in the words of this package: what flows through signatures, and what reading it raises."""

from __future__ import annotations

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
