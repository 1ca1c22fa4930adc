"""Field validation of raw bodies: duplicate fields, unknown JSON patch fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import APPLY_PATCH, JSON_PATCH
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._wire import protobuf

# The fields of an operation in a JSON patch.
_MEMBERS = {"from", "op", "path", "value"}
_KEY = re.compile(rb'"\s*:')


def repeated_fields(media_type: str, body: bytes, data: object) -> tuple[str, ...]:
    """Return an error message for each duplicate field of ``body``.

    The messages are those of kube-apiserver.

    Args:
        media_type: The content type of the body.
        body: The body as received.
        data: The decoded body.
    """
    if media_type == protobuf.MEDIA_TYPE or not isinstance(data, dict | list):
        return ()
    is_json = body.lstrip()[:1] in {b"{", b"["}
    # A quick check: if the body has as many keys (with a colon) as the decoded body, there are no duplicates.
    if is_json and len(_KEY.findall(body)) == _keys(data):
        return ()
    if media_type == APPLY_PATCH or not is_json:
        lines = [f"  line {line}: {trouble}" for line, trouble in yaml.repeated_keys(body)]
        return ("\n".join(["yaml: unmarshal errors:", *lines]),) if lines else ()
    prefix = "json patch " if media_type == JSON_PATCH else ""
    try:
        marked = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return ()
    return tuple(f"{prefix}duplicate field {quoted(path)}" for path in dict.fromkeys(_repeats(marked, "")))


def unknown_members(media_type: str, data: object) -> tuple[str, ...]:
    """Return an error message for each unknown field in a JSON patch's operations."""
    if media_type != JSON_PATCH or not isinstance(data, list):
        return ()
    return tuple(
        f"json patch unknown field {quoted(f'[{index}].{name}')}"
        for index, operation in enumerate(data)
        if isinstance(operation, dict)
        for name in operation
        if name not in _MEMBERS
    )


class _Pairs(list[tuple[str, Any]]):
    """The fields of a JSON object in order, including duplicates."""


def _keys(data: Any) -> int:
    if isinstance(data, dict):
        return len(data) + sum(_keys(value) for value in data.values() if isinstance(value, dict | list))
    if isinstance(data, list):
        return sum(_keys(item) for item in data if isinstance(item, dict | list))
    return 0


def _repeats(value: object, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen = set[str]()
        for name, content in value:
            below = f"{path}.{name}" if path else name
            if name in seen:
                yield below
            seen.add(name)
            yield from _repeats(content, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeats(item, f"{path}[{index}]")
