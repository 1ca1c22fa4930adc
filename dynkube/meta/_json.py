"""Names for decoded JSON, so that signatures say what flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

# What a JSON decoder gives: freely mutable containers.
JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

# What a caller may pass: anything that reads like JSON, frozen views included.
JSONLike: TypeAlias = "bool | int | float | str | Sequence[JSONLike] | Mapping[str, JSONLike] | None"
