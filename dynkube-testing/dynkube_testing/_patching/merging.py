"""Merging of applied fields into an object, and removal of fields (KEP-555).

The results are those of structured-merge-diff, including the order of lists. Arguments are not modified.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.contents import all_of, form_fits, form_of, parts_of
from dynkube_testing._patching.elements import Path, elements
from dynkube_testing._patching.fieldset import FieldSet
from dynkube_testing._patching.shapes import Shape


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """Return the value ``live`` with ``applied`` merged into it."""
    form = form_of(applied, shape)
    if applied is None and live and parts_of(live, shape) is not None:
        return live  # a null does not change the content
    if form == "map" and form_fits(applied, form) and form_fits(live, form) and not shape.atomic:
        result = dict(live)
        for name, value in applied.items():
            result[name] = merged(live[name], value, shape.field(name)) if name in live else value
        return result
    if form == "list" and form_fits(applied, form) and form_fits(live, form) and shape.list_type != "atomic":
        return _merged_list(live, applied, shape)
    return applied


def _merged_list(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Merge lists that are not atomic.

    Items that are in both lists are in the order of ``applied``. The others are as close to their former position as
    possible.
    """
    before, after = elements(live, shape), elements(applied, shape)
    counts = Counter(before)
    there = {element: item for element, item in zip(before, live, strict=True) if counts[element] == 1}
    given = dict(zip(after, applied, strict=True))
    shared = deque(element for element in after if element in counts)
    result: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        item = given[element]
        result.append(merged(there[element], item, shape.item()) if element in there else item)
        done.add(element)
        if shared and shared[0] == element:
            shared.popleft()

    left = right = 0
    while left < len(before) or right < len(after):
        if left < len(before) and right < len(after):
            if before[left] == after[right]:
                take(after[right])
                left, right = left + 1, right + 1
                continue
            if before[left] in given and shared and shared[0] != before[left]:
                left += 1  # in both lists, but not yet at its position
                continue
        if left < len(before):
            if before[left] not in given:
                result.append(live[left])
                left += 1
                continue
            if before[left] in done:
                left += 1
        if right < len(after):
            take(after[right])
            right += 1
    return result


@dataclass(slots=True)
class _Tree:
    """A node in a tree of paths: whether its path is in the set, and the nodes below."""

    member: bool = False
    below: dict[str, _Tree] = field(default_factory=dict)


def _tree(paths: FieldSet) -> _Tree:
    root = _Tree()
    for path in paths:
        node = root
        for element in path:
            node = node.below.setdefault(element, _Tree())
        node.member = True
    return root


def with_named(fields: FieldSet, shape: Shape) -> FieldSet:
    """Return ``fields`` with those containers of them that the schema declares."""
    found = set(fields)
    _add_named(_tree(fields).below, shape, (), found)
    return frozenset(found)


def contents_of(obj: JSONObject, shape: Shape) -> FieldSet:
    """Return all fields of ``obj``, and their containers that the schema declares."""
    return with_named(all_of(obj, shape), shape)


def _add_named(below: Mapping[str, _Tree], shape: Shape, path: Path, found: set[Path]) -> None:
    for element, tree in below.items():
        if not tree.below:
            continue
        named = element.startswith("f:")
        if named and shape.declares(element[2:]):
            found.add((*path, element))
        _add_named(tree.below, shape.field(element[2:]) if named else shape.item(), (*path, element), found)


def without(obj: JSONObject, fields: FieldSet, shape: Shape) -> JSONObject:
    """Return ``obj`` without ``fields``; containers that become empty are set to null."""
    return _cut(obj, _tree(fields).below, shape) or {} if fields else obj


def _cut(value: Any, below: Mapping[str, _Tree], shape: Shape) -> Any:
    """Return ``value`` without fields marked in ``below``; ``None`` if none are left."""
    if isinstance(value, dict):
        fields = {} if shape.atomic else value
        left = {
            name: _cut_part(child, below.get(f"f:{name}"), shape.field(name))
            for name, child in fields.items()
            if not _is_marked(below, f"f:{name}")
        }
        return left or None
    if isinstance(value, list):
        items = [] if shape.list_type == "atomic" else value
        named, inner = elements(items, shape), shape.item()
        kept = [
            _cut_part(item, below.get(element), inner)
            for element, item in zip(named, items, strict=True)
            if not _is_marked(below, element)
        ]
        return kept or None
    return value


def _is_marked(below: Mapping[str, _Tree], element: str) -> bool:
    return element in below and below[element].member


def _cut_part(value: Any, tree: _Tree | None, shape: Shape) -> Any:
    return value if tree is None else _cut(value, tree.below, shape)
