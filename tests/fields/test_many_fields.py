"""Objects with many fields and long lists: the same results as for short ones, in linear time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.fields import (
    FieldPath,
    FieldSet,
    ItemKey,
    ManagedFieldsEntry,
    Manager,
    Owners,
    Values,
    extract,
    fields_of,
    owners,
)
from dynkube.fields._handover import released, transferred
from dynkube.fields._items import KeyedItems, index_of_item
from tests.fields.strategies import field_sets

VALUES = st.sampled_from([None, 1, 2, True, "1", "TCP"])
ITEMS = st.lists(st.dictionaries(st.sampled_from(["port", "protocol", "other"]), VALUES) | VALUES, max_size=6)
KEYS = st.dictionaries(st.sampled_from(["port", "protocol"]), VALUES, min_size=1)


@given(ITEMS, KEYS, st.sets(st.just("other")))
def test_indexed_and_single_lookups_find_the_same_item(
    items: list[Any], keys: dict[str, Any], others: set[str]
) -> None:
    found = KeyedItems(items, tuple(keys), others).index(ItemKey(keys))

    assert found == index_of_item(items, keys, others)


@given(ITEMS, KEYS)
def test_indexed_and_single_lookups_find_the_same_value(items: list[Any], keys: dict[str, Any]) -> None:
    obj = {"spec": {"ports": items}}
    values = Values(obj)

    for path in (FieldPath() / "spec" / "ports" / keys, FieldPath.parse(".spec.ports[1].port"), FieldPath() / "nix"):
        assert values.at(path.steps) is path.find(obj)


def of_many(number: int, *, left_out: bool = False) -> dict[str, Any]:
    """Return an object with a list of ``number`` items, which may omit a key that has a default."""
    keys = [f'k:{{"port":{port},"protocol":"TCP"}}' for port in range(number)]
    fields: dict[str, Any] = {"f:spec": {"f:ports": {key: {".": {}, "f:port": {}} for key in keys}}}
    entry = {"manager": "a", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    item = {} if left_out else {"protocol": "TCP"}
    ports = [{"port": port, **item} for port in range(number)]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "managedFields": [entry]},
        "spec": {"ports": ports},
    }


def calls(work: Callable[[], object]) -> int:
    """Return the number of function calls of ``work``, a measure of time that does not depend on the machine."""
    number = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number


def of_each_item(obj: dict[str, Any]) -> list[FieldPath]:
    return [path for path in fields_of(obj, "a") if len(path) == 3]


@pytest.mark.parametrize(
    "work",
    [
        lambda obj: released(obj, of_each_item(obj), "a"),
        lambda obj: transferred(obj, "a", "b", of_each_item(obj)),
        lambda obj: extract(obj, "a"),
    ],
    ids=["release", "transfer", "extract"],
)
@pytest.mark.parametrize("left_out", [True, False], ids=["without defaults", "with all keys"])
def test_four_times_the_items_cost_about_four_times_as_much(work: Callable[[Any], object], left_out: bool) -> None:
    small, large = of_many(50, left_out=left_out), of_many(200, left_out=left_out)

    assert calls(lambda: work(large)) < 6 * calls(lambda: work(small))


def of_many_and_one_whole(number: int) -> dict[str, Any]:
    """Return an object with a map of ``number`` owned fields, and an atomic field after them."""
    fields: dict[str, Any] = {"f:data": {f"f:k{index}": {} for index in range(number)}, "f:whole": {}}
    entry = {"manager": "a", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {"metadata": {"managedFields": [entry]}}


def test_the_owner_of_a_field_is_found_without_searching_all_fields() -> None:
    small, large = owners(of_many_and_one_whole(50)), owners(of_many_and_one_whole(200))

    assert calls(lambda: large.at(".whole.x")) == calls(lambda: small.at(".whole.x"))


@given(field_sets)
def test_the_owners_of_an_atomic_field_own_everything_below_it(fields: FieldSet) -> None:
    entry = ManagedFieldsEntry(Manager("a", "Apply"), fields)
    found = Owners([entry])

    for path in fields:
        is_inner = any(each != path and each.is_within(path) for each in fields)
        assert found.at(path / "no such field") == (() if is_inner else (entry.manager,))
