"""Headers of ASGI scopes and messages, which have the same structure."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any


def without_header(message: MutableMapping[str, Any], name: bytes) -> MutableMapping[str, Any]:
    """Return ``message`` without the headers named ``name`` (lower case)."""
    return {**message, "headers": [(key, value) for key, value in message["headers"] if key.lower() != name]}


def header(message: MutableMapping[str, Any], name: bytes) -> str:
    """Return the first header named ``name`` (lower case), or ``""``."""
    found = (bytes(value).decode("latin-1") for key, value in message["headers"] if key.lower() == name)
    return next(found, "")
