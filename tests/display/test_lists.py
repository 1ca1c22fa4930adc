"""Display of lists: first and last rows, counts, and notes about missing objects."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import TableColumn, Unstructured, UnstructuredList, UnstructuredTable
from dynkube._display import card_of
from tests.display.kit import NOW, Page, lines


def pods(count: int, *, namespaces: int = 1, **options: Any) -> UnstructuredList:
    metadata = ({"name": f"web-{n}", "namespace": f"n{n % namespaces}"} for n in range(count))
    items = [Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": each}) for each in metadata]
    return UnstructuredList(items, api_version="v1", kind="PodList", **options)


@pytest.mark.parametrize(("count", "rows", "gap"), [(0, 0, []), (1, 1, []), (11, 11, []), (12, 10, ["… 2 more …"])])
def test_of_many_objects_the_first_and_the_last_are_displayed(count: int, rows: int, gap: list[str]) -> None:
    page = Page(card_of(pods(count), NOW))

    assert len(page.all(".dk-grid tbody tr:not(.dk-gap)")) == rows
    assert page.all(".dk-gap") == gap


def test_the_count_of_objects_includes_those_left_on_the_server() -> None:
    page = Page(card_of(pods(500, remaining_item_count=1200, continue_token="x", resource_version="42"), NOW))

    assert page.text(".dk-head") == "v1 PodList · 500 objects · n0 · resourceVersion 42"
    assert page.text(".dk-note") == "10 of 500 shown · 1,200 more on the server"


def test_an_unknown_number_of_remaining_objects_is_noted() -> None:
    assert Page(card_of(pods(1, continue_token="x"), NOW)).text(".dk-note").startswith("more on the server, number not")


def test_the_namespace_has_a_column_if_there_are_several() -> None:
    assert Page(card_of(pods(3), NOW)).rows()[0] == ["NAME", "READY", "STATUS", "AGE"]
    assert Page(card_of(pods(3, namespaces=2), NOW)).rows()[0] == ["NAMESPACE", "NAME", "READY", "STATUS", "AGE"]


def test_an_object_that_cannot_be_decoded_has_a_row() -> None:
    bad = Unstructured(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"bad"},"spec":"\xff"}')

    assert Page(card_of(UnstructuredList([bad]), NOW)).rows()[1] == ["bad", "", "(unreadable)", ""]


def test_of_a_long_list_only_displayed_objects_are_decoded() -> None:
    many = pods(1000)

    many._repr_html_()

    assert sum(obj._body is not None for obj in many) == 10


def test_wide_columns_of_a_table_are_hidden_with_a_note() -> None:
    columns = [TableColumn(name="Name"), TableColumn(name="Status"), TableColumn(name="IP", priority=1)]
    failed = Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {"phase": "Failed"}})
    table = UnstructuredTable([failed], columns=columns, cells=[("a", "Error", "10.0.0.1")], namespaced=True)

    page = Page(card_of(table, NOW))

    assert page.rows() == [["NAME", "STATUS"], ["a", "Error"]]
    assert page.all("td .dk-bad") == ["Error"]
    assert page.text(".dk-note") == "1 column not shown: IP (.wide() shows all)"
    wide = Page(card_of(table.wide(), NOW))
    assert wide.rows() == [["NAME", "STATUS", "IP"], ["a", "Error", "10.0.0.1"]]
    assert wide.all(".dk-note") == []


def test_a_table_without_rows_has_no_note_about_columns() -> None:
    columns = [TableColumn(name="Name"), TableColumn(name="IP", priority=1)]

    page = Page(card_of(UnstructuredTable([], columns=columns, cells=[], namespaced=True), NOW))

    assert page.all(".dk-note") == []


def test_in_a_terminal_a_list_has_a_row_for_the_objects_left_out() -> None:
    shown = lines(card_of(pods(12), NOW))

    assert shown[1].split() == ["NAME", "READY", "STATUS", "AGE"]
    assert shown[7] == "… 2 more …"
