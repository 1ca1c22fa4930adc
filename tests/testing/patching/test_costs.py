"""The cost of large patches, in comparisons instead of seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.contents import Repeated, parts_of
from dynkube_testing._patching.jsonpatch import MAX_SHIFTED, NotApplicable, TooMuchWork, json_patched
from dynkube_testing._patching.shapes import custom_shape
from dynkube_testing._patching.strategic import strategically_merged

COUNT = 1_000
NUMBERS = list(range(COUNT))


@dataclass
class Comparisons:
    """Counts the comparisons of strings made by :meth:`strings`."""

    made: int = 0

    def strings(self, numbers: list[int]) -> list[str]:
        comparisons = self

        class Counted(str):
            __slots__ = ()

            def __eq__(self, other: object) -> bool:
                comparisons.made += 1
                return str.__eq__(self, other)

            __hash__ = str.__hash__

        return [Counted(f"example.com/{number}") for number in numbers]


class Merged:
    """A shape whose lists are merged by ``name``, or by value."""

    patch_key, patch_merges, patch_replaces = "name", True, False

    def __init__(self, patch_key: str = "name") -> None:
        self.patch_key = patch_key

    def field(self, name: str) -> Any:
        return Merged("" if name == "finalizers" else "name")

    def item(self) -> Any:
        return self


def named(names: list[str]) -> list[JSONObject]:
    return [{"name": name} for name in names]


@pytest.fixture
def comparisons() -> Comparisons:
    return Comparisons()


def merge(target: JSONObject, patch: JSONObject) -> JSONObject:
    shape: Any = Merged()
    return strategically_merged(target, patch, shape)


def test_a_list_is_ordered_in_few_comparisons(comparisons: Comparisons) -> None:
    present, order = comparisons.strings(NUMBERS[::2]), comparisons.strings(NUMBERS[::-1])

    merged = merge({"finalizers": present}, {"$setElementOrder/finalizers": order, "finalizers": order[::7]})

    assert merged["finalizers"][:3] == [f"example.com/{number}" for number in (999, 998, 996)]
    assert comparisons.made < 20 * COUNT


def test_items_are_merged_by_key_in_few_comparisons(comparisons: Comparisons) -> None:
    present, wanted = comparisons.strings(NUMBERS), comparisons.strings(NUMBERS[::-1])

    assert merge({"ports": named(present)}, {"ports": named(wanted)}) == {"ports": named(wanted)}
    assert comparisons.made < 20 * COUNT


@pytest.mark.parametrize("field", ["finalizers", "ports"])
def test_items_are_deleted_in_few_comparisons(comparisons: Comparisons, field: str) -> None:
    present, unwanted = comparisons.strings(NUMBERS), comparisons.strings(NUMBERS[::-1])
    if field == "finalizers":
        patch: JSONObject = {f"$deleteFromPrimitiveList/{field}": unwanted}
        assert merge({field: present}, patch) == {field: []}
    else:
        patch = {field: [{**item, "$patch": "delete"} for item in named(unwanted)]}
        assert merge({field: named(present)}, patch) == {field: []}
    assert comparisons.made < 20 * COUNT


def test_repeated_items_are_one_value() -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    shape = custom_shape({"type": "object", "properties": {"spec": schema}}).field("spec")
    twice = named([f"n{number}" for number in NUMBERS]) * 2

    parts = parts_of(twice, shape)

    assert parts is not None
    assert list(parts.values()) == [Repeated(({"name": f"n{number}"},) * 2) for number in NUMBERS]


def test_a_patch_that_shifts_too_many_items_is_rejected() -> None:
    adding = {"op": "add", "path": "/data", "value": [1] * 100_000}
    inserting = {"op": "add", "path": "/data/0", "value": 2}
    allowed = MAX_SHIFTED // 105_000
    assert len(json_patched({}, [adding, *[inserting] * allowed])["data"]) == 100_000 + allowed

    with pytest.raises(TooMuchWork):
        json_patched({}, [adding, *[inserting] * (MAX_SHIFTED // 100_000)])


def test_moves_that_nest_an_object_too_deeply_are_an_error() -> None:
    wrapped: list[JSONObject] = [
        {"op": "add", "path": "/w", "value": {}},
        {"op": "move", "from": "/a", "path": "/w/a"},
        {"op": "move", "from": "/w", "path": "/a"},
    ]

    operations: list[JSONObject] = [
        {"op": "add", "path": "/a", "value": {}},
        *wrapped * 100_000,  # more levels than the recursion limits of all versions of Python
        {"op": "copy", "from": "/a", "path": "/b"},
    ]

    with pytest.raises(NotApplicable, match="nested too deeply"):
        json_patched({}, operations)
