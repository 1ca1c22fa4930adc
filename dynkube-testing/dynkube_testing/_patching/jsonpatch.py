"""JSON patches (RFC 6902), with the semantics of kube-apiserver.

kube-apiserver is more lenient than the RFC. An absent field of an object is treated as null, so it can be replaced,
copied, and tested to be null. An index may be negative, and then counts from the end of the list. Python libraries
follow the RFC, so none is used here.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.correlation import same_json

Value = TypeVar("Value")

# The maximum number of bytes of JSON that the "copy" operations of one patch may add. It is kube-apiserver's limit
# (JSONPatchMaxCopyBytes, which sets AccumulatedCopySizeLimit of github.com/evanphx/json-patch).
MAX_COPIED = 3 * 1024 * 1024
# The maximum number of list items that the operations of one patch may shift, by insertions and removals in front of
# them. The real server has no such limit, but responds with 504 after 34 seconds; in this time, version 1.36 shifted
# 4,000,000,000 items. Here a request blocks the event loop; this many items take a quarter of a second.
MAX_SHIFTED = 500_000_000

# Characters that Go's encoder writes as an escape of six bytes, with their number of bytes in UTF-8.
_ESCAPED = {b"<": 1, b">": 1, b"&": 1, "\u2028".encode(): 3, "\u2029".encode(): 3}


class NotApplicable(Exception):
    """An operation cannot be applied to the document."""


class TestFailed(NotApplicable):
    """A value is not the one of a ``test`` operation."""


class TooMuchWork(Exception):
    """The operations shift more than :data:`MAX_SHIFTED` list items."""


def json_patched(document: JSONObject, operations: list[JSONObject]) -> Any:
    """Return ``document`` with ``operations`` applied; arguments are not modified.

    Raises:
        NotApplicable: An operation cannot be applied, or all copies together are too large.
        TooMuchWork: The operations shift too many list items.
    """
    patching = _Patching(_copied(document))
    try:
        for operation in _copied(operations):
            patching.carry_out(operation)
    except RecursionError:
        raise NotApplicable("the document is nested too deeply") from None
    return patching.root


def _copied(value: Value) -> Value:
    """Make a deep copy through JSON, ten times as fast as :func:`copy.deepcopy`."""
    copied: Value = msgspec.json.decode(msgspec.json.encode(value))
    return copied


class _Patching:
    """A document to which operations are applied, with the cost of these operations."""

    __slots__ = ("_copied", "_shifted", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0  # bytes
        self._shifted = 0  # items

    def carry_out(self, operation: JSONObject) -> None:
        """Apply an operation. Its value is not copied, but becomes a part of the document."""
        path, value = _pointer(operation, "path"), operation.get("value")
        match operation.get("op"):
            case "add":
                self._add(path, value)
            case "remove":
                self._remove(path)
            case "replace" if not path:
                if not isinstance(value, dict | list):
                    raise NotApplicable("the whole document can only become an object or a list")
                self.root = value
            case "replace":
                _set(*_parent(self.root, path), value)
            case "move":
                source = _pointer(operation, "from")
                moved = _get(*_parent(self.root, source))
                self._remove(source)
                self._add(path, moved)
            case "copy":
                found = _get(*_parent(self.root, _pointer(operation, "from")))
                _parent(self.root, path)  # the destination is checked before the copy is made
                self._add(path, self._copy(found))
            case "test":
                found = _get(*_parent(self.root, path)) if path else self.root
                if not same_json(found, value):
                    raise TestFailed(f"{path} has another value")
            case other:
                raise NotApplicable(f"there is no operation {other!r}")

    def _copy(self, value: Any) -> Any:
        """Return a copy of ``value``, and count its size as encoded by Go.

        Raises:
            NotApplicable: The copies of the patch are larger than :data:`MAX_COPIED`.
        """
        if value is None:
            return None
        encoded = msgspec.json.encode(value)
        self._copied += len(encoded) + sum((6 - size) * encoded.count(sign) for sign, size in _ESCAPED.items())
        if self._copied > MAX_COPIED:
            raise NotApplicable(f"copies add {self._copied} bytes; a patch may add {MAX_COPIED} by copying")
        return msgspec.json.decode(encoded)

    def _add(self, path: str, value: Any) -> None:
        parent, key = _parent(self.root, path)
        if isinstance(parent, dict):
            parent[key] = value
        elif key == "-":
            parent.append(value)
        else:
            index = _index(len(parent) + 1, key)
            self._shift(len(parent) - index)
            parent.insert(index, value)

    def _remove(self, path: str) -> None:
        parent, key = _parent(self.root, path)
        if isinstance(parent, list):
            index = _index(len(parent), key)
            self._shift(len(parent) - index)
            del parent[index]
        elif key in parent:
            del parent[key]
        else:
            raise NotApplicable(f"there is no {key} to remove")

    def _shift(self, items: int) -> None:
        self._shifted += items
        if self._shifted > MAX_SHIFTED:
            raise TooMuchWork


def _pointer(operation: JSONObject, field: str) -> str:
    text = operation.get(field)
    if not isinstance(text, str):
        raise NotApplicable(f"an operation without {field}")
    return text


def _parent(root: Any, pointer: str) -> tuple[Any, str]:
    """Return the object or list that contains the target of a pointer, and its key."""
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
        return parent[_index(len(parent), key)]
    raise NotApplicable(f"{key} is nowhere")


def _set(parent: Any, key: str, value: Any) -> None:
    parent[key if isinstance(parent, dict) else _index(len(parent), key)] = value


def _index(length: int, key: str) -> int:
    """Return the index for ``key`` in a list of ``length`` items.

    ``key`` may be negative, and then counts from the end.

    Raises:
        NotApplicable: ``key`` is not an integer, or not in the range of the list.
    """
    if not re.fullmatch("[+-]?[0-9]{1,9}", key, re.ASCII):
        raise NotApplicable(f"{key!r} is no index")
    index = int(key)
    if not -length <= index < length:
        raise NotApplicable(f"there is no item {index}")
    return index % length
