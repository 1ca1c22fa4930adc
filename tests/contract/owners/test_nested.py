"""Nested lists, maps and structs: which fields are removed with others, and the owners of the containers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, field_sets, owned, play

Case = tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]


def lists(**values: list[str]) -> JSONObject:
    return {"lists": [{"name": name, "values": items} for name, items in values.items()]}


def maps(**values: JSONObject) -> JSONObject:
    return {"maps": [{"name": name, "values": items} for name, items in values.items()]}


INSIDE: dict[str, Case] = {
    "a value in a set in a list": (
        [Apply("one", lists(a=["x"])), Apply("one", lists(a=["y"]))],
        lists(a=["y"]),
        {"one": "lists[a] lists[a].name lists[a].values[y]"},
    ),
    "a set and its item": (
        [Apply("one", lists(a=["x"])), Apply("one", lists(b=["y"]))],
        lists(b=["y"]),
        {"one": "lists[b] lists[b].name lists[b].values[y]"},
    ),
    "a value in a map in a list": (
        [Apply("one", maps(a={"x": "1"})), Apply("one", maps(a={"x": "2"}))],
        maps(a={"x": "2"}),
        {"one": "maps[a] maps[a].name maps[a].values.x"},
    ),
    "a map and its item": (
        [Apply("one", maps(a={"x": "1"})), Apply("one", maps(b={"x": "2"}))],
        maps(b={"x": "2"}),
        {"one": "maps[b] maps[b].name maps[b].values.x"},
    ),
    "a value in a set in a map": (
        [Apply("one", {"mapOfLists": {"a": ["x"]}}), Apply("one", {"mapOfLists": {"a": ["y"]}})],
        {"mapOfLists": {"a": ["y"]}},
        {"one": "mapOfLists.a mapOfLists.a[y]"},
    ),
    "a set and its key": (
        [Apply("one", {"mapOfLists": {"a": ["x"]}}), Apply("one", {"mapOfLists": {"b": ["y"]}})],
        {"mapOfLists": {"b": ["y"]}},
        {"one": "mapOfLists.b mapOfLists.b[y]"},
    ),
    "a value in a map in a map": (
        [Apply("one", {"mapOfMaps": {"a": {"x": "1"}}}), Apply("one", {"mapOfMaps": {"a": {"x": "2"}}})],
        {"mapOfMaps": {"a": {"x": "2"}}},
        {"one": "mapOfMaps.a mapOfMaps.a.x"},
    ),
    "a key with a map": (
        [Apply("one", {"mapOfMaps": {"a": {"x": "1"}}}), Apply("one", {"mapOfMaps": {"b": {"x": "1"}}})],
        {"mapOfMaps": {"b": {"x": "1"}}},
        {"one": "mapOfMaps.b mapOfMaps.b.x"},
    ),
    "an empty list is stored without an owner": (
        [Apply("one", {"set": [], "text": "x"})],
        {"set": [], "text": "x"},
        {"one": "text"},
    ),
    "names with dots are not paths": (
        [Apply("one", {"map": {"a.b/c": "1"}}), Apply("two", {"map": {"a.b/c": "2"}}, conflicts={"map.a.b/c": "one"})],
        {"map": {"a.b/c": "1"}},
        {"one": "map.a.b/c"},
    ),
}

STRUCTS: dict[str, Case] = {
    "fields of a struct that are no longer applied": (
        [Apply("one", {"struct": {"a": "1", "inner": {"c": "1"}}}), Apply("one", {"struct": {"b": "1"}})],
        {"struct": {"b": "1"}},
        {"one": "struct.b"},
    ),
    "a struct that is no longer applied": (
        [Apply("one", {"struct": {"a": "1"}, "text": "x"}), Apply("one", {"text": "x"})],
        {"text": "x"},
        {"one": "text"},
    ),
    "empty maps and structs are owned": (
        [Apply("one", {"map": {}, "struct": {}})],
        {"map": {}, "struct": {}},
        {"one": "map struct"},
    ),
    "their contents are owned instead": (
        [Apply("one", {"map": {}, "struct": {}}), Apply("one", {"map": {"a": "1"}, "struct": {"a": "1"}})],
        {"map": {"a": "1"}, "struct": {"a": "1"}},
        {"one": "map.a struct.a"},
    ),
}

LEFT: dict[str, Case] = {
    "fields of a struct that others have updated stay": (
        [
            Apply("one", {"struct": {"a": "1"}, "text": "x"}),
            Update("ctl", {"struct": {"a": "1", "inner": {"c": "1"}}, "text": "x"}),
            Apply("one", {"text": "x"}),
        ],
        {"struct": {"inner": {"c": "1"}}, "text": "x"},
        {"one": "text", "ctl:Update": "struct.inner struct.inner.c"},
    ),
    "all of a struct stays if others have taken it over": (
        [
            Apply("one", {"struct": {"inner": {"c": "1"}}, "text": "x"}),
            Update("ctl", {"struct": {"inner": {"c": "2"}}, "text": "x"}),
            Apply("one", {"text": "x"}),
        ],
        {"struct": {"inner": {"c": "2"}}, "text": "x"},
        {"one": "text", "ctl:Update": "struct.inner.c"},
    ),
    "keys of a map that others own stay": (
        [
            Apply("one", {"map": {"a": "1", "b": "1"}}),
            Apply("two", {"map": {"b": "1", "c": "1"}}),
            Apply("one", {"map": {"a": "1"}}),
        ],
        {"map": {"a": "1", "b": "1", "c": "1"}},
        {"one": "map.a", "two": "map.b map.c"},
    ),
    "keys of nested maps that others have applied stay": (
        [
            Apply("one", {"mapOfMaps": {"a": {"x": "1"}, "c": {"x": "1"}}}),
            Apply("two", {"mapOfMaps": {"a": {"y": "1"}, "b": {"x": "1"}}}),
            Apply("one", {"text": "x"}),
        ],
        {"mapOfMaps": {"a": {"y": "1"}, "b": {"x": "1"}}, "text": "x"},
        {"one": "text", "two": "mapOfMaps.a mapOfMaps.a.y mapOfMaps.b mapOfMaps.b.x"},
    ),
    "fields of an item that others have applied stay": (
        [
            Apply("one", maps(a={"x": "1", "y": "1"}, b={"x": "1"})),
            Apply("two", maps(a={"z": "1"})),
            Apply("one", maps(b={"x": "1"})),
        ],
        maps(a={"z": "1"}, b={"x": "1"}),
        {"one": "maps[b] maps[b].name maps[b].values.x", "two": "maps[a] maps[a].name maps[a].values.z"},
    ),
    "an item that others have only updated is removed": (
        [
            Apply("one", maps(a={"x": "1"}, b={"x": "1"})),
            Update("ctl", maps(a={"x": "1", "y": "1"}, b={"x": "1"})),
            Apply("one", maps(b={"x": "1"})),
        ],
        maps(b={"x": "1"}),
        {"one": "maps[b] maps[b].name maps[b].values.x"},
    ),
}


@pytest.mark.parametrize(("steps", "spec", "owners"), INSIDE.values(), ids=INSIDE)
async def test_owners_of_values_in_nested_lists_and_maps(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.since("1.22", "removed structs became null, and applied empty structs were not owned")
@pytest.mark.parametrize(("steps", "spec", "owners"), STRUCTS.values(), ids=STRUCTS)
async def test_owners_of_structs_and_empty_maps(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.parametrize(("steps", "spec", "owners"), LEFT.values(), ids=LEFT)
async def test_a_container_that_is_no_longer_applied_keeps_the_fields_of_others(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))
