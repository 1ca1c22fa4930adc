"""Merging what is applied into what is there, and taking out what is not applied any more (KEP-555).

The results are those of structured-merge-diff, in the order of lists as well. Objects that are given stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._patching.fieldset import FieldSet, Path, all_of, elements, form_fits, form_of, parts_of
from dynkube.testing._patching.shapes import Shape


def merged(live: Any, applied: Any, shape: Shape) -> Any:
    """``applied`` laid over ``live``."""
    form = form_of(applied, shape)
    if applied is None and live and parts_of(live, shape) is not None:
        return live  # a null says nothing about what is inside
    if form == "map" and form_fits(applied, form) and form_fits(live, form) and not shape.atomic:
        result = dict(live)
        for name, value in applied.items():
            result[name] = merged(live[name], value, shape.field(name)) if name in live else value
        return result
    if form == "list" and form_fits(applied, form) and form_fits(live, form) and shape.list_type != "atomic":
        return _merged_list(live, applied, shape)
    return applied


def _merged_list(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Items of both come in the order they are applied; others stay as near as possible to where they were."""
    before, after = elements(live, shape), elements(applied, shape)
    there = {element: item for element, item in zip(before, live, strict=True) if before.count(element) == 1}
    given = dict(zip(after, applied, strict=True))
    shared = [element for element in after if element in before]
    result: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        item = given[element]
        result.append(merged(there[element], item, shape.item()) if element in there else item)
        done.add(element)
        if shared and shared[0] == element:
            shared.pop(0)

    left = right = 0
    while left < len(before) or right < len(after):
        if left < len(before) and right < len(after):
            if before[left] == after[right]:
                take(after[right])
                left, right = left + 1, right + 1
                continue
            if before[left] in given and shared and shared[0] != before[left]:
                left += 1  # of both, and not its turn
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


def without_former(result: JSONObject, former: FieldSet, present: Iterable[FieldSet], shape: Shape) -> JSONObject:
    """``result`` of a merge without what its manager applied before, and nobody wants now.

    Args:
        result: The merged object.
        former: What the manager applied last time.
        present: What each manager owns from now on, this one included.
        shape: The shape of the object.
    """
    if not former:
        return result
    last = _with_named(former, shape)
    everything = _with_named(all_of(result, shape), shape)
    wanted = _with_named(frozenset().union(*present), shape)
    pruned = _without(result, last, shape)
    pruned = _without(result, everything - _left(pruned, shape) - wanted, shape)
    return _without(result, (everything - _left(pruned, shape)) & last, shape)


def _left(obj: JSONObject, shape: Shape) -> FieldSet:
    return _with_named(all_of(obj, shape), shape)


@dataclass(slots=True)
class _Tree:
    """A set of paths by their elements: whether this one is in it, and what is below."""

    member: bool = False
    below: dict[str, _Tree] = field(default_factory=dict)

    @classmethod
    def of(cls, paths: Iterable[Path]) -> _Tree:
        root = cls()
        for path in paths:
            node = root
            for element in path:
                node = node.below.setdefault(element, cls())
            node.member = True
        return root


def _with_named(fields: FieldSet, shape: Shape) -> FieldSet:
    """``fields`` with the containers around them that the schema names."""
    found = set(fields)
    _add_named(_Tree.of(fields).below, shape, (), found)
    return frozenset(found)


def _add_named(below: Mapping[str, _Tree], shape: Shape, path: Path, found: set[Path]) -> None:
    for element, tree in below.items():
        if not tree.below:
            continue
        named = element.startswith("f:")
        if named and shape.declares(element[2:]):
            found.add((*path, element))
        _add_named(tree.below, shape.field(element[2:]) if named else shape.item(), (*path, element), found)


def _without(obj: JSONObject, fields: FieldSet, shape: Shape) -> JSONObject:
    return _cut(obj, _Tree.of(fields).below, shape) or {} if fields else obj


def _cut(value: Any, below: Mapping[str, _Tree], shape: Shape) -> Any:
    """``value`` without what is marked; ``None`` where nothing is left of it."""
    parts = parts_of(value, shape)
    if not parts:
        return value if not isinstance(value, dict | list) else None
    left = {}
    for element, child in parts.items():
        marked = below.get(element)
        if marked is None:
            left[element] = child
        elif not marked.member:
            inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
            left[element] = _cut(child, marked.below, inner)
    if isinstance(value, list):
        return list(left.values()) or None
    return {element[2:]: child for element, child in left.items()} or None
