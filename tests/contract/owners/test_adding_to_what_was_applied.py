"""Managers that extract their configuration, add fields, and apply the result: they keep all of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import dynkube
from dynkube.meta import Unstructured
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, owned, play, words


class Add(Apply):
    """``manager`` extracts its configuration, adds ``spec``, and applies the result."""


Case = tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]

SETS: dict[str, Case] = {
    "what was applied stays": (
        [Apply("one", {"set": ["a"]}), Add("one", {"set": ["b"]})],
        {"set": ["a", "b"]},
        {"one": "set[a] set[b]"},
    ),
    "also where nothing was there before": (
        [Add("one", {"set": ["a"]}), Add("one", {"set": ["b"]})],
        {"set": ["a", "b"]},
        {"one": "set[a] set[b]"},
    ),
    "until it is applied without": (
        [Add("one", {"set": ["a"]}), Apply("one", {"set": ["b"]})],
        {"set": ["b"]},
        {"one": "set[b]"},
    ),
    "what others have taken out does not come back": (
        [Apply("one", {"set": ["a"]}), Update("ctl", {"set": ["b"]}), Add("one", {"set": ["c"]})],
        {"set": ["b", "c"]},
        {"one": "set[c]", "ctl:Update": "set[b]"},
    ),
    "what others have added stays theirs": (
        [Apply("one", {"set": ["a"]}), Update("ctl", {"set": ["a", "b"]}), Add("one", {"set": ["c"]})],
        {"set": ["a", "b", "c"]},
        {"one": "set[a] set[c]", "ctl:Update": "set[b]"},
    ),
    "so does what they have applied": (
        [Apply("one", {"set": ["a"]}), Apply("two", {"set": ["a", "b"]}), Add("one", {"set": ["c"]})],
        {"set": ["a", "b", "c"]},
        {"one": "set[a] set[c]", "two": "set[a] set[b]"},
    ),
    "and what they give up is kept": (
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
    "an empty map is of who applied it, whatever others put in": (
        [Add("one", {"map": {}}), Apply("two", {"map": {"a": "1", "b": "1"}})],
        {"map": {"a": "1", "b": "1"}},
        {"one": "map", "two": "map.a map.b"},
    ),
    "and stays so when they take out some": (
        [Add("one", {"map": {}}), Apply("two", {"map": {"a": "1", "b": "1"}}), Apply("two", {"map": {"b": "1"}})],
        {"map": {"b": "1"}},
        {"one": "map", "two": "map.b"},
    ),
    "until its owner puts in something too": (
        [
            Add("one", {"map": {}}),
            Apply("two", {"map": {"a": "1", "b": "1"}}),
            Add("one", {"map": {"c": "1"}}),
            Apply("two", {"map": {"b": "1"}}),
        ],
        {"map": {"b": "1", "c": "1"}},
        {"one": "map.c", "two": "map.b"},
    ),
    "lists and maps that are one value": (
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

    assert (sorted(obj["spec"]["set"]), owned(obj)) == (sorted(spec["set"]), words(owners))


@pytest.mark.since("1.22", "who applied an empty map did not own it, and maps were merged in any case")
@pytest.mark.parametrize(("steps", "spec", "owners"), WHOLE.values(), ids=WHOLE)
async def test_adding_empty_maps_and_atomic_values(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await carry_out(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, words(owners))
