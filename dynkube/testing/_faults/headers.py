"""Headers of requests (scopes) and answers (messages), which are of the same shape."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any


def without_header(message: MutableMapping[str, Any], name: bytes) -> MutableMapping[str, Any]:
    """``message`` without the headers called ``name`` (lower case)."""
    return {**message, "headers": [(key, value) for key, value in message["headers"] if key.lower() != name]}


def header(message: MutableMapping[str, Any], name: bytes) -> str:
    """The first header called ``name`` (lower case); ``""`` where there is none."""
    found = (bytes(value).decode("latin-1") for key, value in message["headers"] if key.lower() == name)
    return next(found, "")
