"""JSON patches (RFC 6902) as kube-apiserver carries them out.

It is more lenient than the RFC: in objects, a field that is not there reads as null. So it can be replaced, copied, and
tested to be null; indexes may count from the end of a list. Libraries for Python follow the RFC.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._schemas.correlation import same_json


class NotApplicable(Exception):
    """An operation that cannot be carried out on the document."""


def json_patched(document: JSONObject, operations: list[JSONObject]) -> Any:
    """``document`` after ``operations``, one after the other; arguments stay as they are.

    Raises:
        NotApplicable: One of the operations cannot be carried out.
    """
    root: Any = copy.deepcopy(document)
    for operation in operations:
        root = _carried_out(root, operation)
    return root


def _carried_out(root: Any, operation: JSONObject) -> Any:
    path = _pointer(operation, "path")
    value = copy.deepcopy(operation.get("value"))
    match operation.get("op"):
        case "add":
            _add(*_parent(root, path), value)
        case "remove":
            _remove(*_parent(root, path))
        case "replace" if not path:
            if not isinstance(value, dict | list):
                raise NotApplicable("the whole document can only become an object or a list")
            return value
        case "replace":
            _set(*_parent(root, path), value)
        case "move":
            parent, key = _parent(root, _pointer(operation, "from"))
            moved = _get(parent, key)
            _remove(parent, key)
            _add(*_parent(root, path), moved)
        case "copy":
            copied = copy.deepcopy(_get(*_parent(root, _pointer(operation, "from"))))
            _add(*_parent(root, path), copied)
        case "test":
            found = _get(*_parent(root, path)) if path else root
            if not same_json(found, value):
                raise NotApplicable(f"{path} has another value")
        case other:
            raise NotApplicable(f"there is no operation {other!r}")
    return root


def _pointer(operation: JSONObject, field: str) -> str:
    text = operation.get(field)
    if not isinstance(text, str):
        raise NotApplicable(f"an operation without {field}")
    return text


def _parent(root: Any, pointer: str) -> tuple[Any, str]:
    """The object or list that a pointer ends in, and the key there."""
    _, *parts = pointer.split("/")
    if not parts:
        raise NotApplicable(f"{pointer} does not begin with a slash")
    *parents, key = (part.replace("~1", "/").replace("~0", "~") for part in parts)
    for part in parents:
        root = _get(root, part)
    if not isinstance(root, dict | list):
        raise NotApplicable(f"{pointer} leads nowhere")
    return root, key


def _get(parent: Any, key: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(key)
    if isinstance(parent, list):
        return parent[_index(parent, key)]
    raise NotApplicable(f"{key} is nowhere")


def _set(parent: Any, key: str, value: Any) -> None:
    parent[key if isinstance(parent, dict) else _index(parent, key)] = value


def _add(parent: Any, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    else:
        parent.insert(_index([*parent, None], key), value)


def _remove(parent: Any, key: str) -> None:
    if isinstance(parent, list):
        del parent[_index(parent, key)]
    elif key in parent:
        del parent[key]
    else:
        raise NotApplicable(f"there is no {key} to remove")


def _index(items: list[Any], key: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,9}", key, re.ASCII):
        raise NotApplicable(f"{key!r} is no index")
    index = int(key)
    if not -len(items) <= index < len(items):
        raise NotApplicable(f"there is no item {index}")
    return index % len(items)
