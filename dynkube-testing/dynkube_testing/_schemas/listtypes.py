"""Validation of lists of type ``set`` or ``map``: items or keys must be unique."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dynkube.errors import StatusCause
from dynkube_testing._calls.gotext import shown
from dynkube_testing._schemas.findings import INVALID
from dynkube_testing._schemas.structural import Node, walk


def list_causes(value: Any, node: Node | None, path: str = "") -> Iterator[StatusCause]:
    """Yield the causes for duplicates in the lists of ``value``, at all levels."""
    for part, schema, at in walk(value, node, path):
        if schema.list_type == "set" and isinstance(part, list):
            yield from _twice(part, at)
        elif schema.list_type == "map" and isinstance(part, list):
            yield from _map_causes(part, schema, at)


def _map_causes(value: list[Any], node: Node, path: str) -> Iterator[StatusCause]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            text = f"Invalid value: {shown(item)}: must be an object for an array of list-type map"
            yield StatusCause(f"{path}[{index}]", INVALID, text)
            return
    keys = ({name: (item or {})[name] for name in node.map_keys if name in (item or {})} for item in value)
    yield from _twice(keys, path)


def _twice(values: Iterable[Any], path: str) -> Iterator[StatusCause]:
    """Yield a cause for each value that occurs twice or more, at its second index."""
    seen: dict[bytes, int] = {}
    for index, value in enumerate(values):
        text = msgspec.json.encode(value, order="sorted")
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield StatusCause(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {shown(value)}")
