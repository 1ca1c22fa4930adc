"""Sets of fields as ``managedFields`` writes them (FieldsV1), and the way from a path to the value in an object.

A path is a tuple of elements as FieldsV1 spells them: ``f:name`` for a field, ``k:{...}`` for the item of a list
with these keys, ``v:...`` for the item of a set with this value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._patching.shapes import Shape

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

MISSING = object()

# Of the identity of an object nobody is the owner.
_NOT_OWNED: FieldSet = frozenset(
    {("f:apiVersion",), ("f:kind",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    }
)


def fields_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """The fields that ``obj`` says something about: leaves, empty objects, and the items of lists that merge."""
    return _owned(path for path in _walk(obj, shape, ()) if path)


def _walk(value: object, shape: Shape, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and value and not shape.atomic:
        for name, child in value.items():
            inner = (*path, f"f:{name}")
            if isinstance(child, dict | list):
                yield from _walk(child, shape.field(name), inner)
            else:
                yield inner
    elif isinstance(value, list) and shape.list_type != "atomic":
        for item, element in zip(value, elements(value, shape), strict=True):
            yield (*path, element)
            if isinstance(item, dict):
                yield from _walk(item, shape.item(), (*path, element))
    else:
        yield path


def changes(old: JSONObject, new: JSONObject, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """The fields that ``new`` says otherwise than ``old`` (or for the first time), and those it says no more.

    Containers that came or went count themselves, besides what is in them. Descends only where the two differ, so
    it costs what was changed, not what there is.
    """
    written: set[Path] = set()
    gone: set[Path] = set()
    _compare(old, new, shape, (), written, gone)
    return _owned(written), _owned(gone - written)


def _compare(old: object, new: object, shape: Shape, path: Path, written: set[Path], gone: set[Path]) -> None:
    if old == new:
        return
    before, after = _parts(old, shape), _parts(new, shape)
    if before is None or after is None:
        # At least one of them is one value: what was is replaced as a whole.
        gone.update(_inside(old, shape, path) if before else ())
        written.update(_inside(new, shape, path) if after else (path,))
        return
    for element in before.keys() | after.keys():
        inner, inside = (shape.field(element[2:]) if element.startswith("f:") else shape.item()), (*path, element)
        if element not in after:
            gone.update(_inside(before[element], inner, inside))
        elif element not in before:
            written.update(_inside(after[element], inner, inside))
        else:
            _compare(before[element], after[element], inner, inside, written, gone)


def _parts(value: object, shape: Shape) -> dict[str, object] | None:
    """What a value consists of by path element; ``None`` where it is one value."""
    if isinstance(value, dict) and not shape.atomic:
        return {f"f:{name}": child for name, child in value.items()}
    if isinstance(value, list) and shape.list_type != "atomic":
        return dict(zip(elements(value, shape), value, strict=True))
    return None


def _inside(value: object, shape: Shape, path: Path) -> Iterator[Path]:
    """All of a value that came or went as a whole, containers included."""
    parts = _parts(value, shape)
    if not parts or not shape.always:
        yield path
    for element, child in (parts or {}).items():
        inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
        yield from _inside(child, inner, (*path, element))


def _owned(paths: Iterable[Path]) -> FieldSet:
    return frozenset(path for path in paths if path[:1] not in _NOT_OWNED and path[:2] not in _NOT_OWNED)


def says(encoded: JSONObject, path: Path) -> bool:
    """Whether the FieldsV1 ``encoded`` has ``path``, without reading all of it."""
    node: object = encoded
    for element in path:
        node = node.get(element) if isinstance(node, dict) else None
    return isinstance(node, dict) and (not node or "." in node)


def all_fields_v1(obj: JSONObject, shape: Shape) -> JSONObject:
    """``to_fields_v1(changes({}, obj, shape)[0])`` in one go: every creation needs it."""
    nested = _nested(obj, shape)
    nested.pop(".", None)
    for owned_by_nobody in _NOT_OWNED:
        *parents, last = owned_by_nobody
        node = nested
        for parent in parents:
            node = node.get(parent, {})
        node.pop(last, None)
    if not nested["f:metadata"]:
        del nested["f:metadata"]
    return nested


def _nested(value: object, shape: Shape) -> JSONObject:
    parts = _parts(value, shape)
    if not parts:
        return {}
    nested: JSONObject = {} if shape.always else {".": {}}
    for element, child in parts.items():
        if isinstance(child, dict | list):
            nested[element] = _nested(child, shape.field(element[2:]) if element.startswith("f:") else shape.item())
        else:
            nested[element] = {}
    return nested


def elements(items: list[Any], shape: Shape) -> list[str]:
    """The path element of each item of a list that merges by key or by value."""
    return [element_of(item, shape) for item in items]


def element_of(item: object, shape: Shape) -> str:
    """The path element of one item."""
    if shape.list_type == "map" and isinstance(item, dict):
        keys = {}
        for key in shape.keys:
            value = item.get(key, shape.default(key))
            if value is not None:
                keys[key] = value
        return f"k:{_encode(keys)}"
    return f"v:{_encode(item)}"


def value_at(obj: object, path: Path, shape: Shape) -> object:
    """The value at ``path``, or :data:`MISSING`."""
    value = obj
    for element in path:
        if element.startswith("f:"):
            if not isinstance(value, dict) or element[2:] not in value:
                return MISSING
            value, shape = value[element[2:]], shape.field(element[2:])
            continue
        index = index_of(value, element, shape)
        if index is None:
            return MISSING
        assert isinstance(value, list)
        value, shape = value[index], shape.item()
    return value


def index_of(items: object, element: str, shape: Shape) -> int | None:
    """Where the item with this path element is in a list, or ``None``."""
    if not isinstance(items, list) or shape.list_type == "atomic":
        return None
    found = elements(items, shape)
    return found.index(element) if element in found else None


def remove_at(obj: JSONObject, path: Path, shape: Shape) -> JSONObject:
    """A copy of ``obj`` without what is at ``path``; the same object where there is nothing."""
    removed: JSONObject = _removed(obj, path, shape)
    return removed


def _removed(value: Any, path: Path, shape: Shape) -> Any:
    element, *rest = path
    if element.startswith("f:"):
        name = element[2:]
        if not isinstance(value, dict) or name not in value:
            return value
        if rest:
            return {**value, name: _removed(value[name], tuple(rest), shape.field(name))}
        return {key: child for key, child in value.items() if key != name}
    index = index_of(value, element, shape)
    if index is None:
        return value
    replaced = [_removed(value[index], tuple(rest), shape.item())] if rest else []
    return [*value[:index], *replaced, *value[index + 1 :]]


def to_fields_v1(fields: Iterable[Path]) -> JSONObject:
    """The nested form of ``managedFields[].fieldsV1``."""
    root: JSONObject = {}
    for path in sorted(fields):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return {element: _compact(child) for element, child in root.items()}


def _compact(node: JSONObject) -> JSONObject:
    """A leaf is written ``{}``; only where there is more below does the dot say that the node itself counts."""
    if set(node) == {"."}:
        return {}
    return {element: child if element == "." else _compact(child) for element, child in node.items()}


def from_fields_v1(encoded: JSONObject) -> FieldSet:
    """Read ``managedFields[].fieldsV1``."""
    return frozenset(_unfold(encoded, ()))


def _unfold(node: JSONObject, path: Path) -> Iterator[Path]:
    if path and (not node or "." in node):
        yield path
    for element, child in node.items():
        if element != "." and isinstance(child, dict):
            yield from _unfold(child, (*path, element))


def readable(path: Path) -> str:
    """A path as conflict messages show it: ``.spec.containers[name="app"].image``."""
    return "".join(_readable(element) for element in path)


def _readable(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    value = msgspec.json.decode(element[2:])
    if isinstance(value, dict):
        return f"[{','.join(f'{key}={_encode(item)}' for key, item in sorted(value.items()))}]"
    return f"[={_encode(value)}]"


def _encode(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
