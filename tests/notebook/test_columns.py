"""Columns of live tables: common ones, those of a CRD, and those of the user."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Unstructured
from dynkube._display.cards import Tone
from dynkube.errors import InvalidInput
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.notebook._columns import Cell, LiveColumn, columns_for, own_columns
from tests.display.kit import POD
from tests.notebook.kit import obj, row


def cells(columns: tuple[LiveColumn, ...], given: Unstructured) -> dict[str, str]:
    return {column.name: column.of(row(given)).text for column in columns}


def test_by_default_the_columns_are_name_state_and_age() -> None:
    of = {column.name: column.of(row(Unstructured(POD))) for column in columns_for((), {})}

    assert list(of) == ["Namespace", "Name", "Ready", "Status", "Age"]
    assert [of[name].text for name in ("Namespace", "Name", "Ready", "Status")] == ["shop", "web-1", "1/1", "Running"]
    assert of["Ready"] == Cell("1/1", Tone.GOOD, "PodScheduled=True\nReady=True")
    assert of["Age"].moment == 1777626000.0


def test_printer_columns_of_a_crd_replace_the_default_ones() -> None:
    printer = (
        PrinterColumn(name="Size", type="integer", json_path=".spec.size"),
        PrinterColumn(name="Hidden", type="string", json_path=".spec.x", priority=1),
        PrinterColumn(name="Age", type="date", json_path=".metadata.creationTimestamp"),
    )

    columns = columns_for(own_columns({"host": "{.spec.hosts[*]}"}), {"": printer})

    assert [column.name for column in columns] == ["Namespace", "Name", "Status", "Size", "host", "Age"]
    assert cells(columns, obj("a", spec={"size": 3, "hosts": ["a.example", "b.example"]})) == {
        "Namespace": "default",
        "Name": "a",
        "Status": "",
        "Size": "3",
        "host": "a.example, b.example",
        "Age": "",
    }


def test_wide_columns_are_included_on_request() -> None:
    printer = (
        PrinterColumn(name="Size", type="integer", json_path=".spec.size"),
        PrinterColumn(name="Hidden", type="string", json_path=".spec.x", priority=1),
    )

    columns = columns_for((), {"": printer}, wide=True)

    assert [column.name for column in columns] == ["Namespace", "Name", "Status", "Size", "Hidden", "Age"]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", 3, "3"),
        ("integer", 3.9, "3"),
        ("integer", "3", ""),
        ("integer", True, ""),
        ("number", 0.5, "0.5"),
        ("boolean", True, "true"),
        ("boolean", "true", ""),
        ("string", "a\nb\x1b[31m", "a b\N{REPLACEMENT CHARACTER}[31m"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("string", 3, "3"),
        ("date", "soon", "<invalid>"),
        ("string", None, ""),
    ],
)
def test_a_value_of_another_type_than_its_column_is_left_out(kind: str, value: Any, expected: str) -> None:
    columns = columns_for((), {"": [PrinterColumn(name="V", type=kind, json_path=".v")]})

    assert cells(columns, obj("a", v=value))["V"] == expected


def test_printer_columns_of_several_clusters_are_those_of_the_first_and_then_of_others() -> None:
    size = PrinterColumn(name="Size", type="integer", json_path=".size")
    wide = PrinterColumn(name="Wide", type="string", json_path=".wide", priority=1)
    note = PrinterColumn(name="Note", type="string", json_path=".note")
    old_size = PrinterColumn(name="Size", type="string", json_path=".oldSize")

    columns = columns_for((), {"east": [size, wide], "north": [], "west": [note, old_size]})

    assert [column.name for column in columns] == ["Cluster", "Namespace", "Name", "Status", "Size", "Note", "Age"]
    assert [columns[4].of(row(obj("a", size=1, oldSize="2"), name)).text for name in ("east", "north", "west")] == [
        "1",
        "1",
        "2",
    ]


def test_a_date_is_converted_to_a_timestamp() -> None:
    columns = columns_for((), {"": [PrinterColumn(name="V", type="date", json_path=".v")]})

    assert columns[3].of(row(obj("a", v="1970-01-01T00:01:00Z"))).moment == 60.0


def test_a_column_may_be_a_function_whose_exception_affects_one_cell() -> None:
    columns = own_columns({"double": lambda each: each["size"] * 2})

    assert columns[0].of(row(obj("a", size=2))).text == "4"
    assert columns[0].of(row(obj("a"))) == Cell("(failed)", Tone.BAD, "KeyError: 'size'")


def test_an_object_that_cannot_be_decoded_has_a_name() -> None:
    broken = Unstructured(b'{"metadata": {"name": "a"}, "spec": "\xff"}')

    assert cells(columns_for((), {}), broken) == {
        "Namespace": "",
        "Name": "a",
        "Ready": "(failed)",
        "Status": "(failed)",
        "Age": "(failed)",
    }


def test_the_status_of_a_deleted_object_is_terminating_also_with_printer_columns() -> None:
    going = Unstructured({"metadata": {"name": "a", "deletionTimestamp": "2026-05-06T12:00:00Z"}})
    columns = columns_for((), {"": [PrinterColumn(name="Size", type="integer", json_path=".size")]})

    assert cells(columns, going)["Status"] == "Terminating"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["image"], "columns is a list: pass"),
        ({"image": 3}, r"columns\['image'\] is a int: pass a JSONPath"),
        ({"": "{.a}"}, "'' is not a heading"),
        ({"image": "{.spec[}"}, "spec"),
    ],
)
def test_invalid_columns_are_rejected(given: Any, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        own_columns(given)
