"""Sets of fields as ``managedFields`` writes them (FieldsV1), and the way from a path to the value in an object.

A path is a tuple of elements as FieldsV1 spells them: ``f:name`` for a field, ``k:{...}`` for the item of a list
with these keys, ``v:...`` for the item of a set with this value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._patching.shapes import Form, Shape

Path: TypeAlias = tuple[str, ...]
FieldSet: TypeAlias = frozenset[Path]

MISSING = object()

_PREFIXES = {"f:", "i:", "k:", "v:"}
# Of the identity of an object nobody is the owner.
_NOT_OWNED: FieldSet = frozenset(
    {("f:apiVersion",), ("f:kind",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "creationTimestamp",
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


def all_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """Everything that ``obj`` says something about, as who applies it means it: :func:`owned` of it can be owned.

    A container counts itself only where it is empty, an item of a list, or under a name that the schema does not tell.
    """
    return frozenset(path for path in _walk(obj, shape, ()) if path)


def fields_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """The fields that ``obj`` says something about, without those that have no owner."""
    return owned(all_of(obj, shape))


def owned(fields: Iterable[Path]) -> FieldSet:
    """``fields`` without the identity of the object, of which nobody is the owner."""
    return frozenset(
        path for path in fields if path != ("f:metadata",) and path[:1] not in _NOT_OWNED and path[:2] not in _NOT_OWNED
    )


def _walk(value: object, shape: Shape, path: Path) -> Iterator[Path]:
    parts = _parts(value, shape)
    if parts is None:
        # A null says something too, but only the container around it can tell that there is one.
        if value is not None:
            yield path
        return
    for element, child in parts.items():
        inner = (*path, element)
        if element.startswith("f:"):
            name = element[2:]
            yield from _walk(child, shape.field(name), inner)
            if child is None or child == {} or not shape.declares(name):
                yield inner
        else:
            yield from _walk(child, shape.item(), inner)
            yield inner


def changes(old: JSONObject, new: JSONObject, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """The fields that ``new`` says otherwise than ``old`` (or for the first time), and those it says no more.

    Containers that came or went count themselves, besides what is in them. Descends only where the two differ, so
    it costs what was changed, not what there is.
    """
    found = _Changes(set(), set())
    found.compare(old, new, shape, (), given=True)
    return owned(found.written), owned(found.gone - found.written)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What a comparison has found so far."""

    written: set[Path]
    gone: set[Path]

    def compare(self, old: object, new: object, shape: Shape, path: Path, *, given: bool) -> None:
        """Note what differs at ``path`` and below.

        ``given`` says that there is something in both, if an empty one: what Go calls a struct.
        """
        if _equal(old, new):
            return
        if given and (old, new) in ((MISSING, {}), (MISSING, []), ({}, MISSING), ([], MISSING)):
            return
        before, after = form_of(old, shape), form_of(new, shape)
        if new is MISSING:
            leaf = self._compare_as(before, old, new, shape, path, given)
        elif old is MISSING or before == after:
            leaf = self._compare_as(after, old, new, shape, path, given)
        else:
            # Another sort of value than before: what was inside is gone, and what is inside now is new.
            self._compare_as(before, old, new, shape, path, given)
            leaf = self._compare_as(after, old, new, shape, path, given)
        if leaf or given:
            return
        if old is MISSING:
            self.written.add(path)
        elif new is MISSING:
            self.gone.add(path)

    def _compare_as(self, form: Form, old: object, new: object, shape: Shape, path: Path, given: bool) -> bool:
        """Compare what is of one form; whether that was compared as one value."""
        before, after = (_parts(value, shape) if form_fits(value, form) else None for value in (old, new))
        if form == "scalar" or not (before or after):
            (self.gone if new is MISSING else self.written).add(path)
            return True
        before, after, there = before or {}, after or {}, given or MISSING not in (old, new)
        for element in before.keys() | after.keys():
            was, now = before.get(element, MISSING), after.get(element, MISSING)
            if _equal(was, now):  # most are: what their shape is need not be found out
                continue
            inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
            self.compare(was, now, inner, (*path, element), given=there and inner.always)
        return False


def _equal(old: object, new: object) -> bool:
    return old == new and isinstance(old, bool) == isinstance(new, bool)


def form_of(value: object, shape: Shape) -> Form:
    """What ``value`` is to be taken for: what it looks like, and nothing, or a null, for what the schema says."""
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "list"
    return (shape.form or "map") if value is None or value is MISSING else "scalar"


def form_fits(value: object, form: Form) -> bool:
    """Whether ``value`` really is what it is taken for."""
    return isinstance(value, dict if form == "map" else list) if form in {"map", "list"} else False


def parts_of(value: object, shape: Shape) -> dict[str, Any] | None:
    """What a value consists of by path element; ``None`` where it is one value."""
    return _parts(value, shape)


def _parts(value: object, shape: Shape) -> dict[str, Any] | None:
    if isinstance(value, dict) and not shape.atomic:
        return {f"f:{name}": child for name, child in value.items()}
    if isinstance(value, list) and shape.list_type != "atomic":
        return dict(zip(elements(value, shape), value, strict=True))
    return None


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
    if not nested.get("f:metadata", True):
        del nested["f:metadata"]
    return nested


def _nested(value: object, shape: Shape, *, given: bool = True) -> JSONObject:
    parts = _parts(value, shape)
    if not parts:
        return {}
    nested: JSONObject = {} if given else {".": {}}
    for element, child in parts.items():
        if not isinstance(child, dict | list):
            nested[element] = {}
            continue
        inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
        given_too = given and inner.always
        below = _nested(child, inner, given=given_too)
        if below or not given_too or (child and _parts(child, inner) is None):
            nested[element] = below
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


def is_fields_v1(encoded: object) -> bool:
    """Whether a value can be read as FieldsV1."""
    return isinstance(encoded, dict) and all(
        (element == "." or element[:2] in _PREFIXES) and is_fields_v1(child) for element, child in encoded.items()
    )


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
