"""Slices of lists and tables are lists and tables."""

from __future__ import annotations

import pytest

from dynkube import Unstructured, UnstructuredList
from dynkube.meta import TableColumn, UnstructuredTable
from dynkube.meta._table import joined_resources

PODS = [Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}) for name in ("a", "b", "c")]
NODE = Unstructured({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
COLUMNS = [TableColumn(name="Name"), TableColumn(name="Ready")]
TABLE = UnstructuredTable(
    PODS, columns=COLUMNS, cells=[("a", "1/1"), ("b", "0/1"), ("c", "1/1")], namespaced=True, continue_token="more"
)


def test_a_slice_of_a_table_prints_as_a_table() -> None:
    assert [line.split() for line in str(TABLE[1:]).splitlines()] == [["NAME", "READY"], ["b", "0/1"], ["c", "1/1"]]
    assert TABLE[::-1].column("Ready") == ("1/1", "0/1", "1/1")
    assert TABLE[::-1].cells[0] == ("c", "1/1")


def test_a_slice_is_not_a_page_of_the_server() -> None:
    pods = UnstructuredList(PODS, resource_version="7", continue_token="more", remaining_item_count=5)

    assert (pods[:1].continue_token, pods[:1].remaining_item_count, pods[:1].resource_version) == ("", None, "7")
    assert (list(pods[:1]), len(pods), pods.continue_token) == (PODS[:1], 3, "more")


def test_a_slice_of_a_table_of_several_resources_has_its_part_of_each() -> None:
    nodes = UnstructuredTable([NODE], columns=COLUMNS[:1], cells=[("n",)], namespaced=False)
    both = joined_resources([TABLE, nodes], {})

    assert [list(table) for table in both[2:].tables] == [PODS[2:], [NODE]]
    assert [list(table) for table in both[::-1].tables] == [PODS[::-1], [NODE]]
    assert [line.split() for line in str(both[:1]).splitlines()] == [["NAME", "READY"], ["a", "1/1"]]


def test_an_empty_slice_prints_as_an_empty_list() -> None:
    assert str(TABLE[5:]) == "No resources found"


def test_the_error_about_a_name_as_index_says_what_to_call() -> None:
    with pytest.raises(TypeError, match=r"'web-1' is not a number: .* client\.get\(\) has one by name"):
        TABLE["web-1"]  # type: ignore[call-overload]
