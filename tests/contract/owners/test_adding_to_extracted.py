"""Managers that extract their configuration, add fields, and apply the result: they keep all of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import dynkube
from dynkube.meta import Unstructured
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, field_sets, owned, play


class Add(Apply):
    """``manager`` extracts its configuration, adds ``spec``, and applies the result."""


Case = tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]

SETS: dict[str, Case] = {
    "applied items stay": (
        [Apply("one", {"set": ["a"]}), Add("one", {"set": ["b"]})],
        {"set": ["a", "b"]},
        {"one": "set[a] set[b]"},
    ),
    "items added to a missing object stay": (
        [Add("one", {"set": ["a"]}), Add("one", {"set": ["b"]})],
        {"set": ["a", "b"]},
        {"one": "set[a] set[b]"},
    ),
    "an item that is not applied again is removed": (
        [Add("one", {"set": ["a"]}), Apply("one", {"set": ["b"]})],
        {"set": ["b"]},
        {"one": "set[b]"},
    ),
    "items that others have removed do not come back": (
        [Apply("one", {"set": ["a"]}), Update("ctl", {"set": ["b"]}), Add("one", {"set": ["c"]})],
        {"set": ["b", "c"]},
        {"one": "set[c]", "ctl:Update": "set[b]"},
    ),
    "items that others have added stay theirs": (
        [Apply("one", {"set": ["a"]}), Update("ctl", {"set": ["a", "b"]}), Add("one", {"set": ["c"]})],
        {"set": ["a", "b", "c"]},
        {"one": "set[a] set[c]", "ctl:Update": "set[b]"},
    ),
    "items that others have applied stay theirs": (
        [Apply("one", {"set": ["a"]}), Apply("two", {"set": ["a", "b"]}), Add("one", {"set": ["c"]})],
        {"set": ["a", "b", "c"]},
        {"one": "set[a] set[c]", "two": "set[a] set[b]"},
    ),
    "items that others give up stay with their other owner": (
        [
            Apply("one", {"set": ["a"]}),
            Apply("two", {"set": ["a", "b"]}),
            Add("one", {"set": ["c"]}),
            Apply("two", {"set": ["b"]}),
        ],
        {"set": ["a", "b", "c"]},
        {"one": "set[a] set[c]", "two": "set[b]"},
    ),
}

WHOLE: dict[str, Case] = {
    "an empty map stays owned when others add keys": (
        [Add("one", {"map": {}}), Apply("two", {"map": {"a": "1", "b": "1"}})],
        {"map": {"a": "1", "b": "1"}},
        {"one": "map", "two": "map.a map.b"},
    ),
    "an empty map stays owned when others remove keys": (
        [Add("one", {"map": {}}), Apply("two", {"map": {"a": "1", "b": "1"}}), Apply("two", {"map": {"b": "1"}})],
        {"map": {"b": "1"}},
        {"one": "map", "two": "map.b"},
    ),
    "an empty map is replaced by the keys that its owner adds": (
        [
            Add("one", {"map": {}}),
            Apply("two", {"map": {"a": "1", "b": "1"}}),
            Add("one", {"map": {"c": "1"}}),
            Apply("two", {"map": {"b": "1"}}),
        ],
        {"map": {"b": "1", "c": "1"}},
        {"one": "map.c", "two": "map.b"},
    ),
    "atomic lists and maps": (
        [Add("one", {"array": ["b", "a"], "atom": {"a": "1"}}), Add("one", {"text": "x"})],
        {"array": ["b", "a"], "atom": {"a": "1"}, "text": "x"},
        {"one": "array atom text"},
    ),
}


async def carry_out(cluster: Cluster, steps: Sequence[Apply | Update]) -> JSONObject:
    obj: JSONObject = {}
    for step in steps:
        if isinstance(step, Add):
            applied = dynkube.fields_of(Unstructured(obj), step.manager) if obj else ()
            mine = dynkube.extract(Unstructured(obj), step.manager).to_dict().get("spec") if applied else None
            obj = await play(cluster, [Apply(step.manager, together(mine or {}, step.spec))])
        else:
            obj = await play(cluster, [step])
    return obj


def together(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {name: together(one.get(name), value) for name, value in other.items()}
    return [*one, *other] if isinstance(one, list) else other


@pytest.mark.parametrize(("steps", "spec", "owners"), SETS.values(), ids=SETS)
async def test_adding_items_to_a_set(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await carry_out(widgets, steps)

    assert (sorted(obj["spec"]["set"]), owned(obj)) == (sorted(spec["set"]), field_sets(owners))


@pytest.mark.since("1.22", "applied empty maps were not owned, and atomic maps were merged")
@pytest.mark.parametrize(("steps", "spec", "owners"), WHOLE.values(), ids=WHOLE)
async def test_adding_empty_maps_and_atomic_values(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await carry_out(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))
