"""``str()`` and ``repr()`` of lists and tables, as for ``print`` and the Python prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube import TableColumn, Unstructured, UnstructuredList, UnstructuredTable, owner_tree
from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.sync import UnstructuredTable as BlockingTable

NAME = TableColumn(name="Name")
READY = TableColumn(name="Ready", type="integer")
NODE = TableColumn(name="Node", priority=1)


def pod(name: str, namespace: str = "shop") -> Unstructured:
    metadata = {"name": name, "namespace": namespace, "uid": "1", "creationTimestamp": "1990-01-01T00:00:00Z"}
    return Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def table(*rows: Any, columns: Any = (NAME, READY, NODE), **options: Any) -> UnstructuredTable:
    items = [pod(f"{row[0]}") for row in rows]
    return UnstructuredTable(items, columns=columns, cells=rows, namespaced=True, **options)


def many(count: int, **options: Any) -> UnstructuredList:
    return UnstructuredList([pod(f"web-{n}") for n in range(count)], kind="PodList", api_version="v1", **options)


@pytest.mark.parametrize("shown", [str, repr])
def test_str_and_repr_are_the_table_of_kubectl(shown: Callable[[object], str]) -> None:
    found = table(("web", 1, "n1"), ("database", 12, None))

    assert shown(found).splitlines() == ["NAME      READY", "web           1", "database     12"]
    assert shown(found.wide()).splitlines() == [
        "NAME      READY  NODE",
        "web           1  n1",
        "database     12",
    ]


def test_a_table_of_the_blocking_client_prints_the_same() -> None:
    found = table(("web", 1, "n1"))

    assert str(BlockingTable.of(found, None)) == str(found)
    assert repr(BlockingTable.of(found, None).wide()) == repr(found.wide())


def test_a_list_prints_names_and_ages() -> None:
    header, row = str(many(1)).splitlines()

    assert header.split() == ["NAME", "AGE"]
    assert (row[:7], row[-1]) == ("web-0  ", "y")


def test_namespaces_and_kinds_have_columns_if_they_differ() -> None:
    node = Unstructured({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})

    assert str(UnstructuredList([pod("a"), node])).splitlines()[0].split() == ["NAMESPACE", "KIND", "NAME", "AGE"]


def test_of_a_long_list_the_first_rows_and_the_number_of_the_others_are_printed() -> None:
    printed, prompted = str(many(1200)).splitlines(), repr(many(1200)).splitlines()

    assert (len(printed), printed[-1]) == (502, "... 700 more of 1,200 objects")
    assert (len(prompted), prompted[-1]) == (62, "... 1,140 more of 1,200 objects")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"remaining_item_count": 1200, "continue_token": "x"}, "... 1,200 more on the server"),
        ({"continue_token": "x"}, "... more on the server"),
    ],
)
def test_objects_left_on_the_server_are_mentioned(options: dict[str, Any], note: str) -> None:
    assert str(many(1, **options)).splitlines()[2:] == [note]


@pytest.mark.parametrize("empty", [many(0), table()])
def test_an_empty_list_prints_a_message(empty: UnstructuredList) -> None:
    assert str(empty) == repr(empty) == "No resources found"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("denied\nby a rule", "denied..."),
        ("\x1b[2Jgone", "\N{REPLACEMENT CHARACTER}[2Jgone"),
        ("x" * 300, "x" * 250 + "..."),
        ("x" * 253, "x" * 253),
        ({"a": [1]}, '{"a": [1]}'),
        (True, "true"),
        (None, ""),
    ],
)
def test_a_cell_has_one_line_and_no_control_characters(cell: Any, shown: str) -> None:
    columns = (TableColumn(name="Evil\x1b\nheading"),)
    found = UnstructuredTable([pod("a")], columns=columns, cells=[(cell,)], namespaced=True)

    assert str(found).split("\n") == ["EVIL\N{REPLACEMENT CHARACTER}...", shown]


def test_columns_beyond_the_sixtieth_are_counted() -> None:
    columns = [TableColumn(name=f"C{n}") for n in range(100)]

    printed = str(table(tuple(range(100)), columns=columns)).splitlines()

    assert (len(printed[0].split()), printed[-1]) == (60, "... 40 more columns")


def test_an_object_that_cannot_be_decoded_is_printed() -> None:
    bad = Unstructured(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"bad"},"spec":"\xff"}')

    assert str(UnstructuredList([bad])).splitlines()[1].split()[0] == "bad"


def test_inside_a_container_ipython_displays_one_line() -> None:
    class Printer:
        def __init__(self) -> None:
            self.stack = [1, 2]
            self.output = ""

        def text(self, obj: str) -> None:
            self.output += obj

    table(("web", 1, "n1"), kind="PodList", api_version="v1")._repr_pretty_(printer := Printer(), False)

    assert printer.output == "<PodList v1 of 1 rv= in 3 columns>"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda found: GVR.parse(found),
        lambda found: owner_tree(found, []),
        lambda found: owner_tree(pod("a"), [[found]]),
    ],
)
def test_a_message_about_a_table_has_one_line(wrong: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        wrong(many(60))

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
