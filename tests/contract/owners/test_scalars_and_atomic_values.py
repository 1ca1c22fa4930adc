"""Scalars and atomic values: setting, changing and giving them up, and conflicts about them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, applied, field_sets, force, owned, play

A, B = {"text": "a"}, {"text": "b"}

CASES: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "applying more fields adds them": (
        [Apply("one", A), Apply("one", {"text": "b", "number": 1, "flag": True})],
        {"text": "b", "number": 1, "flag": True},
        {"one": "text number flag"},
    ),
    "applying fewer fields removes the others": (
        [Apply("one", {"text": "a", "number": 1, "flag": True}), Apply("one", A)],
        A,
        {"one": "text"},
    ),
    "applies in two versions are of one manager": (
        [Apply("one", {"text": "a", "number": 1}), Apply("one", A, version="v2")],
        A,
        {"one": "text"},
    ),
    "an update of other fields causes no conflict": (
        [Apply("one", A), Update("ctl", {"text": "a", "number": 2}), Apply("one", {"text": "c"})],
        {"text": "c", "number": 2},
        {"one": "text", "ctl:Update": "number"},
    ),
    "an update takes over the fields that it changes": (
        [Apply("one", {"text": "a", "number": 1}), Update("ctl", {"text": "b", "number": 1})],
        {"text": "b", "number": 1},
        {"one": "number", "ctl:Update": "text"},
    ),
    "a field changed by an update is a conflict": (
        [Apply("one", A), Update("ctl", B), Apply("one", {"text": "c"}, conflicts={"text": "ctl"})],
        B,
        {"ctl:Update": "text"},
    ),
    "a field changed by an update in another version is a conflict": (
        [Apply("one", A), Update("ctl", B, version="v2"), Apply("one", {"text": "c"}, conflicts={"text": "ctl"})],
        B,
        {"ctl:Update": "text"},
    ),
    "a forced apply takes over a field changed by an update": (
        [Apply("one", A), Update("ctl", B), force("one", {"text": "c"})],
        {"text": "c"},
        {"one": "text"},
    ),
    "applying the value of an update adds an owner": (
        [Apply("one", A), Update("ctl", B), Apply("one", B)],
        B,
        {"one": "text", "ctl:Update": "text"},
    ),
    "a field removed by an update has no owner": (
        [Apply("one", {"text": "a", "number": 1}), Update("ctl", {"number": 1})],
        {"number": 1},
        {"one": "number"},
    ),
    "created fields stay when they are no longer applied": (
        [Update("ctl", {"text": "a", "number": 1}), Apply("one", {"number": 1}), Apply("one", {})],
        {"text": "a", "number": 1},
        {"ctl:Update": "text number"},
    ),
    "updated fields stay when they are no longer applied": (
        [
            Apply("one", {"text": "a", "number": 1}),
            Update("ctl", {"text": "b", "number": 1}),
            Apply("one", {"number": 1}),
        ],
        {"text": "b", "number": 1},
        {"one": "number", "ctl:Update": "text"},
    ),
    "numbers are compared by value": (
        [Apply("one", {"number": 1}), Apply("two", {"number": 1.0})],
        {"number": 1},
        {"one": "number", "two": "number"},
    ),
    "an atomic list conflicts as a whole": (
        [Apply("one", {"array": ["a"]}), Apply("two", {"array": ["a", "b"]}, conflicts={"array": "one"})],
        {"array": ["a"]},
        {"one": "array"},
    ),
}


ATOMS: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "an atomic map conflicts as a whole": (
        [Apply("one", {"atom": {"a": "1"}}), Apply("two", {"atom": {"b": "1"}}, conflicts={"atom": "one"})],
        {"atom": {"a": "1"}},
        {"one": "atom"},
    ),
    "a forced apply replaces the whole map": (
        [Apply("one", {"atom": {"a": "1"}}), force("two", {"atom": {"b": "1"}})],
        {"atom": {"b": "1"}},
        {"two": "atom"},
    ),
}


@pytest.mark.parametrize(("steps", "spec", "owners"), CASES.values(), ids=CASES)
async def test_owners_of_scalars_and_atomic_lists(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert obj.get("spec") == spec
    assert owned(obj) == {manager: fields for manager, fields in field_sets(owners).items() if fields}


@pytest.mark.since("1.22", "atomic maps were merged")
@pytest.mark.parametrize(("steps", "spec", "owners"), ATOMS.values(), ids=ATOMS)
async def test_owners_of_an_atomic_map(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, field_sets(owners))


@pytest.mark.since("1.21", "the spec always became null")
async def test_an_empty_spec_becomes_null_which_is_invalid(widgets: Cluster) -> None:
    await play(widgets, [Apply("one", A)])

    code, error = await applied(widgets, "widgets", widgets.widget(spec={}), "one")

    assert (code, error["details"]["causes"][0]["field"]) == (422, "spec")
    code, gone = await applied(widgets, "widgets", widgets.widget(), "one")
    assert (code, "spec" in gone) == (200, False)
