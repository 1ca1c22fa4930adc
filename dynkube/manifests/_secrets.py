"""Keeps the values of Secrets out of what is shown to people. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping

from dynkube.meta import Unstructured

_HIDDEN = "***"


def without_secrets(text: str, obj: Unstructured) -> str:
    """``text`` without the values that ``obj`` holds, if it is a Secret.

    API servers quote what they refuse: ``stringData: {pin: 1234}`` comes back as ``expected string, got
    &value.valueUnstructured{Value:1234}``.
    """
    if (obj.api_version, obj.kind) != ("v1", "Secret"):
        return text
    # Longer ones first, as one may be part of another.
    for value in sorted(set(_values(obj)), key=len, reverse=True):
        text = text.replace(value, _HIDDEN)
    return text


def _values(obj: Unstructured) -> Iterator[str]:
    for field in ("data", "stringData"):
        for value in _leaves(obj.get(field)):
            yield from _forms(value)
            try:
                yield from _forms(base64.b64decode(value, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError, ValueError):
                continue


def _forms(value: str) -> Iterator[str]:
    """As it is, and as Go and JSON quote it: a key of several lines comes back as a single one."""
    if value:
        yield value
        yield json.dumps(value, ensure_ascii=False)[1:-1]
        yield json.dumps(value)[1:-1]


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value not in (None, "", True, False):
        yield str(value)
