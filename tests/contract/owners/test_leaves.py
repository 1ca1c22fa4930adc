"""Scalars and atomic values: setting, changing and giving them up, and conflicts about them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.contract.owners.kit import Apply, Update, applied, force, owned, play, words

A, B = {"text": "a"}, {"text": "b"}

CASES: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "applying more adds to it": (
        [Apply("one", A), Apply("one", {"text": "b", "number": 1, "flag": True})],
        {"text": "b", "number": 1, "flag": True},
        {"one": "text number flag"},
    ),
    "applying less takes away": (
        [Apply("one", {"text": "a", "number": 1, "flag": True}), Apply("one", A)],
        A,
        {"one": "text"},
    ),
    "another version of the definition is no other manager": (
        [Apply("one", {"text": "a", "number": 1}), Apply("one", A, version="v2")],
        A,
        {"one": "text"},
    ),
    "an update of other fields is in nobody's way": (
        [Apply("one", A), Update("ctl", {"text": "a", "number": 2}), Apply("one", {"text": "c"})],
        {"text": "c", "number": 2},
        {"one": "text", "ctl:Update": "number"},
    ),
    "an update takes what it changes": (
        [Apply("one", {"text": "a", "number": 1}), Update("ctl", {"text": "b", "number": 1})],
        {"text": "b", "number": 1},
        {"one": "number", "ctl:Update": "text"},
    ),
    "what an update has changed is in the way of who applied it": (
        [Apply("one", A), Update("ctl", B), Apply("one", {"text": "c"}, refused={"text": "ctl"})],
        B,
        {"ctl:Update": "text"},
    ),
    "also through another version": (
        [Apply("one", A), Update("ctl", B, version="v2"), Apply("one", {"text": "c"}, refused={"text": "ctl"})],
        B,
        {"ctl:Update": "text"},
    ),
    "unless it is forced": (
        [Apply("one", A), Update("ctl", B), force("one", {"text": "c"})],
        {"text": "c"},
        {"one": "text"},
    ),
    "or the same value is applied, which both own then": (
        [Apply("one", A), Update("ctl", B), Apply("one", B)],
        B,
        {"one": "text", "ctl:Update": "text"},
    ),
    "what an update takes away nobody owns": (
        [Apply("one", {"text": "a", "number": 1}), Update("ctl", {"number": 1})],
        {"number": 1},
        {"one": "number"},
    ),
    "what was created, and is not applied, stays": (
        [Update("ctl", {"text": "a", "number": 1}), Apply("one", {"number": 1}), Apply("one", {})],
        {"text": "a", "number": 1},
        {"ctl:Update": "text number"},
    ),
    "what another has updated since stays too": (
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
    "a list that is one value changes as one": (
        [Apply("one", {"array": ["a"]}), Apply("two", {"array": ["a", "b"]}, refused={"array": "one"})],
        {"array": ["a"]},
        {"one": "array"},
    ),
}


ATOMS: dict[str, tuple[Sequence[Apply | Update], JSONObject, dict[str, str]]] = {
    "it changes as one": (
        [Apply("one", {"atom": {"a": "1"}}), Apply("two", {"atom": {"b": "1"}}, refused={"atom": "one"})],
        {"atom": {"a": "1"}},
        {"one": "atom"},
    ),
    "whoever forces it replaces all of it": (
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
    assert owned(obj) == {who: fields for who, fields in words(owners).items() if fields}


@pytest.mark.since("1.22", "such maps were merged like others")
@pytest.mark.parametrize(("steps", "spec", "owners"), ATOMS.values(), ids=ATOMS)
async def test_owners_of_an_atomic_map(
    widgets: Cluster, steps: Sequence[Apply | Update], spec: JSONObject, owners: dict[str, str]
) -> None:
    obj = await play(widgets, steps)

    assert (obj["spec"], owned(obj)) == (spec, words(owners))


@pytest.mark.since("1.21", "a null was left of it in any case")
async def test_an_empty_spec_becomes_null_which_is_invalid(widgets: Cluster) -> None:
    await play(widgets, [Apply("one", A)])

    code, refused = await applied(widgets, "widgets", widgets.widget(spec={}), "one")

    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec")
    code, gone = await applied(widgets, "widgets", widgets.widget(), "one")
    assert (code, "spec" in gone) == (200, False)
