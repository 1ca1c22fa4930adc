"""Changes to an immutable document.

Containers on the path are copied, the rest is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type


@final
class _Remove:
    """Type of :data:`REMOVE`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""A value for :meth:`Unstructured.transform` that removes the field or list item."""


def apply_transformations(document: Mapping[str, Any], transformations: Sequence[object]) -> Any:
    """Apply ``path, value, path, value, ...`` in order and return the new document."""
    if len(transformations) % 2:
        raise InvalidInput("transform takes pairs: a path, then a value, a function or REMOVE")
    result: Any = document
    for index in range(0, len(transformations), 2):
        path, change = transformations[index : index + 2]
        if isinstance(path, str) or not isinstance(path, Sequence) or not path:
            raise InvalidInput(f"path {path!r} is not a sequence of keys and indexes like ['spec', 'replicas']")
        result = _changed(result, tuple(path), change, path)
    return result


def _changed(node: Any, steps: tuple[object, ...], change: object, path: Sequence[object]) -> Any:
    if not steps:
        return change(node) if callable(change) else change
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        return _changed_mapping(node, step, rest, change, path)
    if isinstance(step, int) and not isinstance(step, bool):
        return _changed_list(node, step, rest, change, path)
    raise InvalidInput(f"path {list(path)!r}: {step!r} is neither a key nor a list index")


def _changed_mapping(node: Any, key: str, rest: tuple[object, ...], change: object, path: Sequence[object]) -> Any:
    if node is not None and not isinstance(node, Mapping):
        raise InvalidInput(f"path {list(path)!r}: {key!r} requires a mapping, found {a_type(node)}")
    copy = dict(node or {})
    if change is REMOVE and (not rest or key not in copy):
        copy.pop(key, None)
    else:
        copy[key] = _changed(copy.get(key), rest, change, path)
    return copy


def _changed_list(node: Any, index: int, rest: tuple[object, ...], change: object, path: Sequence[object]) -> Any:
    if isinstance(node, str) or not isinstance(node, Sequence):
        raise InvalidInput(f"path {list(path)!r}: {index} is a list index, but the value there is not a list")
    if not -len(node) <= index < len(node):
        raise InvalidInput(f"path {list(path)!r}: index {index} is out of range for a list of {len(node)}")
    copy = list(node)
    if change is REMOVE and not rest:
        del copy[index]
    else:
        copy[index] = _changed(copy[index], rest, change, path)
    return copy
