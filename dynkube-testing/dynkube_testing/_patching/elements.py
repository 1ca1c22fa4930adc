"""Path elements of FieldsV1, and the order of paths.

``f:name`` is a field, ``k:{...}`` the item of a list with these keys, ``v:...`` the item of a set with this value, and
``i:...`` the item with this index (the server never writes such elements, but accepts them).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from dynkube_testing._calls.gotext import compact, escape_html, shown
from dynkube_testing._patching.shapes import Shape

Path: TypeAlias = tuple[str, ...]

PREFIXES = frozenset({"f:", "i:", "k:", "v:"})


def elements(items: list[Any], shape: Shape) -> list[str]:
    """Return the path elements of all items of a ``map`` or ``set`` list."""
    return [element_of(item, shape) for item in items]


def element_of(item: object, shape: Shape) -> str:
    """Return the path element of an item of a ``map`` or ``set`` list.

    An absent key field has its default value, if any.
    """
    if shape.list_type == "map" and isinstance(item, dict):
        keys = {}
        for key in shape.keys:
            value = item[key] if key in item else shape.default(key)
            if value is not None:
                keys[key] = value
        return f"k:{_encode(keys)}"
    return f"v:{_encode(item)}"


def readable(path: Path) -> str:
    """Format a path as in conflict messages: ``.spec.containers[name="app"].image``."""
    return "".join(_readable(element) for element in path)


def _readable(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    if element.startswith("i:"):
        return f"[{element[2:]}]"
    value = msgspec.json.decode(element[2:])
    if isinstance(value, dict):
        return f"[{','.join(f'{key}={shown(item)}' for key, item in sorted(value.items()))}]"
    return f"[={shown(value)}]"


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Sort ``paths`` in the real server's order.

    In each container, its own fields and items come before all longer paths.
    """
    return sorted(paths, key=_place)


def _place(path: Path) -> tuple[object, ...]:
    last = len(path) - 1
    return tuple((index != last, *_rank(element)) for index, element in enumerate(path))


def _rank(element: str) -> tuple[object, ...]:
    if element.startswith("f:"):
        return (0, element[2:])
    value = msgspec.json.decode(element[2:])
    if element.startswith("k:"):
        return (1, tuple((name, *_worth(value[name])) for name in sorted(value)))
    return (2, *_worth(value)) if element.startswith("v:") else (3, value)


def _worth(value: object) -> tuple[int, object]:
    """Return a sort key: numbers come before strings, and strings before booleans."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, _encode(value))


def _encode(value: object) -> str:
    """Encode as JSON like Go: ``1.0`` becomes ``1``, and HTML characters are escaped."""
    parts = value.values() if isinstance(value, dict) else (value,)
    if any(isinstance(part, float | dict | list) for part in parts):
        return compact(value)
    text = msgspec.json.encode(value, order="sorted").decode()
    return escape_html(text) if any(sign in text for sign in "<>&") else text
