"""Custom resources without a schema: maps merge, and all other values are atomic."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, version
from tests.contract.owners.kit import Apply, Update, field_sets, force, owned, play

CASES: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "values are owned separately": (
        [Apply("one", {"a": 1, "b": "x"}), Apply("one", {"a": 2, "c": True})],
        {"a": 2, "c": True},
        {"one": "a c"},
    ),
    "others can add values": (
        [Apply("one", {"a": 1}), Update("ctl", {"a": 1, "b": 1}), Apply("one", {"a": 2})],
        {"a": 2, "b": 1},
        {"one": "a", "ctl:Update": "b"},
    ),
    "changed values are a conflict": (
        [Apply("one", {"a": 1}), Update("ctl", {"a": 2}), Apply("one", {"a": 3}, conflicts={"a": "ctl"})],
        {"a": 2},
        {"ctl:Update": "a"},
    ),
    "a list is atomic": (
        [Apply("one", {"a": [1, 1]}), Apply("two", {"a": [1]}, conflicts={"a": "one"}), force("two", {"a": [2]})],
        {"a": [2]},
        {"two": "a"},
    ),
    "a list of maps is atomic": (
        [Apply("one", {"a": [{"name": "x"}]}), force("two", {"a": [{"name": "y"}]})],
        {"a": [{"name": "y"}]},
        {"two": "a"},
    ),
    "maps merge and are owned themselves": (
        [Apply("one", {"a": {"b": {"c": 1}}}), Apply("two", {"a": {"b": {"d": 1}}})],
        {"a": {"b": {"c": 1, "d": 1}}},
        {"one": "a a.b a.b.c", "two": "a a.b a.b.d"},
    ),
    "maps stay until their last owner gives them up": (
        [Apply("one", {"a": {"b": {"c": 1}}, "x": 1}), Apply("two", {"a": {"b": {"d": 1}}}), Apply("one", {"x": 1})],
        {"a": {"b": {"d": 1}}, "x": 1},
        {"one": "x", "two": "a a.b a.b.d"},
    ),
    "a value that an update added is removed with its map": (
        [Apply("one", {"a": {"b": 1}, "x": 1}), Update("ctl", {"a": {"b": 1, "c": 1}, "x": 1}), Apply("one", {"x": 1})],
        {"x": 1},
        {"one": "x"},
    ),
    "a map instead of a scalar is a conflict": (
        [Apply("one", {"a": 1}), Apply("two", {"a": {"b": 1}}, conflicts={"a": "one"})],
        {"a": 1},
        {"one": "a"},
    ),
    "a scalar instead of a map is a conflict": (
        [Apply("one", {"a": {"b": 1}}), Apply("two", {"a": "x"}, conflicts={"a": "one"}), force("two", {"a": "x"})],
        {"a": "x"},
        {"two": "a"},
    ),
    "values of different types differ": (
        [Apply("one", {"a": 1}), Apply("two", {"a": "1"}, conflicts={"a": "one"})],
        {"a": 1},
        {"one": "a"},
    ),
    "true and 1 differ": (
        [Apply("one", {"a": 1}), Apply("two", {"a": True}, conflicts={"a": "one"})],
        {"a": 1},
        {"one": "a"},
    ),
    "applies in two versions are one entry": (
        [Apply("one", {"a": {"b": 1}}), Apply("one", {"a": {"c": 1}}, version="v2")],
        {"a": {"c": 1}},
        {"one": "a a.c"},
    ),
}


def nested(number: int, items: list[int], value: int) -> JSONObject:
    return {"c": {"d": number, "e": items, "f": [{"name": "n", "value": value}]}}


NESTED: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "scalars, lists and maps in nested maps": (
        [
            Apply("one", {"a": 1, "b": nested(2, [1, 2], 1)}),
            Update("ctl", {"a": 1, "b": nested(3, [1, 2, 3], 2), "g": 5}),
            Apply(
                "one",
                {"a": 2, "b": nested(2, [2, 1], 1)},
                conflicts={"b.c.d": "ctl", "b.c.e": "ctl", "b.c.f": "ctl"},
                version="v2",
            ),
            force("one", {"a": 2, "b": nested(2, [2, 1], 1)}, version="v2"),
        ],
        {"a": 2, "b": nested(2, [2, 1], 1), "g": 5},
        {"one": "a b b.c b.c.d b.c.e b.c.f", "ctl:Update": "g"},
    ),
    "nested maps of two appliers and two updaters": (
        [
            Apply("one", {"a": {"b": {}}, "c": {"d": {}}}),
            Apply("two", {"a": {}, "c": {"d": {}}}, version="v2"),
            Update("ctl", {"a": {"b": {"c": {}}}, "c": {"d": {"e": {}}}}),
            Update("ctm", {"a": {"b": {"c": {"d": {}}}}, "c": {"d": {"e": {"f": {}}}}}, version="v2"),
            Update("ctl", {"a": {"b": {"c": {"d": {"e": {}}}}}, "c": {"d": {"e": {"f": {"g": {}}}}}}),
            Apply("one", {}, version="v2"),
        ],
        {"a": None, "c": {"d": {"e": {"f": {"g": {}}}}}},
        {"two": "a c c.d", "ctl:Update": "c.d.e c.d.e.f.g", "ctm:Update": "c.d.e.f"},
    ),
    "values of two appliers and one updater": (
        [
            Apply("one", {"a": {"b": 1}, "c": 1}),
            Update("ctl", {"a": {"b": 1, "d": 1}, "c": 1}),
            Apply("two", {"a": {"d": 1}, "c": 1}, version="v2"),
            Apply("one", {"x": 1}, version="v2"),
        ],
        {"a": {"d": 1}, "c": 1, "x": 1},
        {"one": "x", "two": "a a.d c", "ctl:Update": "a.d"},
    ),
}


@pytest.mark.parametrize(("steps", "spec", "owners"), CASES.values(), ids=CASES)
async def test_owners_without_a_schema(
    cluster: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))

    obj = await play(cluster, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.since("1.22", "conflicts and remaining fields were different")
@pytest.mark.parametrize(("steps", "spec", "owners"), NESTED.values(), ids=NESTED)
async def test_owners_of_nested_values_without_a_schema(
    cluster: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))

    obj = await play(cluster, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


async def test_owners_of_fields_below_preserve_unknown_fields(widgets: Cluster) -> None:
    steps = [Apply("one", {"open": {"known": "a", "x": {"y": 1}}}), Apply("two", {"open": {"x": {"z": [1]}}})]

    obj = await play(widgets, steps)

    assert obj["spec"] == {"open": {"known": "a", "x": {"y": 1, "z": [1]}}}
    assert owned(obj) == field_sets({"one": "open.known open.x open.x.y", "two": "open.x open.x.z"})
