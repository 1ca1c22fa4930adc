"""Lists and tables, sorted by a field."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import InvalidJSONPath
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable
from dynkube.meta._table_columns import TableColumn

ABSENT: Any = object()


def listed(*values: Any) -> UnstructuredList:
    """Return objects whose names are the places of their values."""
    return UnstructuredList([made(str(place), value) for place, value in enumerate(values)], resource_version="7")


def made(name: str, value: Any) -> Unstructured:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return Unstructured(body if value is ABSENT else {**body, "value": value})


def names(objects: UnstructuredList) -> str:
    return " ".join(obj.name for obj in objects)


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ([10, 9, 9.5, -1], "3 1 2 0"),
        (["1Gi", "900Mi", "1", "250m", 2], "3 2 4 1 0"),
        (["web-10", "web-9", "web", "api-11"], "3 2 1 0"),
        (["2026-01-02T00:00:00Z", "2026-01-01T23:00:00.5Z", "2026-01-02T00:30:00+01:00"], "1 2 0"),
        (["1" + "0" * 5000, "9" * 5000, "x" + "1" * 5000], "1 0 2"),
        (["b", "2026-01-02T00:00:00Z", 1, True, {"a": 1}, False, "2026-99-99T00:00:00Z"], "5 3 2 1 6 0 4"),
        ([[2], [1], 1e300, 2], "3 2 1 0"),
    ],
)
def test_values_are_compared_by_what_they_are(values: list[Any], order: str) -> None:
    assert names(listed(*values).sort_by("value")) == order


def test_objects_without_a_value_are_last_in_both_directions() -> None:
    objects = listed(ABSENT, 1, None, 2, 1)

    assert names(objects.sort_by("{.value}")) == "1 4 3 0 2"
    assert names(objects.sort_by("{.value}", reverse=True)) == "3 1 4 0 2"


def test_the_first_value_of_a_path_with_several_counts_and_the_rest_stays() -> None:
    objects = listed([{"n": 5}, {"n": 1}], [{"n": 2}])
    found = objects.sort_by("{.value[*].n}")

    assert (names(found), names(objects), found.resource_version) == ("1 0", "0 1", "7")


def test_a_table_is_sorted_with_its_cells() -> None:
    table = UnstructuredTable(
        [made("a", 2), made("b", 1)], columns=[TableColumn(name="Name")], cells=[("a",), ("b",)], namespaced=True
    )

    found = table.wide().sort_by(".value")

    assert (names(found), found.cells, str(found).split()) == ("b a", (("b",), ("a",)), ["NAME", "b", "a"])


def test_a_path_that_does_not_parse_is_an_error() -> None:
    with pytest.raises(InvalidJSONPath):
        listed(1).sort_by(".value[")
