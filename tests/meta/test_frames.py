"""Objects as data frames: columns and types do not depend on the rows."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dynkube
from dynkube.errors import InvalidInput, InvalidJSONPath, InvalidObject
from dynkube.meta import Fields, JSONPath, TableColumn, Unstructured, UnstructuredList, UnstructuredTable

NEW_YEAR = "2026-01-01T00:00:00Z"
PRINTED = "Custom resource definition column (in JSONPath format): "


def widget(name: str = "w", namespace: str = "shop", created: str | None = NEW_YEAR, **spec: object) -> Unstructured:
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created}
    return Unstructured({"apiVersion": "e.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec})


def listed(*objects: Unstructured) -> UnstructuredList:
    return UnstructuredList(objects)


def table(*cells: Any, columns: list[TableColumn], namespaced: bool = True) -> UnstructuredTable:
    objects = [widget(f"w{number}", since=NEW_YEAR) for number in range(len(cells))]
    return UnstructuredTable(objects, columns=columns, cells=list(cells), namespaced=namespaced)


def test_every_list_has_columns_for_names_and_creation_time() -> None:
    frame = listed(widget("a"), widget("b", namespace="", created=None)).to_polars()

    assert frame.rows() == [("shop", "a", datetime(2026, 1, 1, tzinfo=UTC)), (None, "b", None)]
    assert frame.schema == {"Namespace": pl.String, "Name": pl.String, "Created": pl.Datetime("us", "UTC")}


def test_pandas_frames_have_nullable_types() -> None:
    objects = listed(widget("a", n=1, f=0.5, on=True, s="x"), widget("b"))
    fields = {"n": "{.spec.n}", "f": "{.spec.f}", "on": "{.spec.on}", "s": "{.spec.s}"}

    frame = objects.to_pandas(fields=fields)

    assert frame.dtypes.astype(str).to_dict() == {
        "Namespace": "string",
        "Name": "string",
        "Created": "datetime64[us, UTC]",
        "n": "Int64",
        "f": "Float64",
        "on": "boolean",
        "s": "string",
    }
    assert frame["n"][0] == 1
    assert frame.loc[1, ["n", "f", "on", "s"]].isna().all()
    assert frame["Created"].max() == pd.Timestamp(NEW_YEAR)


def test_an_empty_list_has_the_same_types() -> None:
    full, empty = listed(widget()), listed()

    assert empty.to_polars().schema == full.to_polars().schema
    assert empty.to_pandas().dtypes.equals(full.to_pandas().dtypes)


@pytest.mark.parametrize(
    ("values", "kind", "shown"),
    [
        ([1, None, 2], "Int64", [1, None, 2]),
        ([1, 2.5], "Float64", [1.0, 2.5]),
        ([True, False], "Boolean", [True, False]),
        (["80%", 3], "String", ["80%", "3"]),
        ([*[1] * 200, "50%"], "String", [*["1"] * 200, "50%"]),
        ([True, 1], "String", ["true", "1"]),
        ([{"a": 1}, [1, "x"]], "String", ['{"a":1}', '[1,"x"]']),
        ([2**53 + 1, 0.5], "String", ["9007199254740993", "0.5"]),
        ([2**63, 1], "String", ["9223372036854775808", "1"]),
        ([NEW_YEAR, None], "Datetime(time_unit='us', time_zone='UTC')", [datetime(2026, 1, 1, tzinfo=UTC), None]),
        ([NEW_YEAR, "never"], "String", [NEW_YEAR, "never"]),
        (["2026-02-30T00:00:00Z"], "String", ["2026-02-30T00:00:00Z"]),
        (["0001-01-01T00:00:00+14:00"], "String", ["0001-01-01T00:00:00+14:00"]),
        (["2026-01-01T02:00:00.25+02:00"], "Datetime(time_unit='us', time_zone='UTC')", None),
        ([None, None], "String", [None, None]),
        (["2026"], "String", ["2026"]),
    ],
)
def test_the_type_of_a_field_fits_all_its_values(values: list[object], kind: str, shown: list[object] | None) -> None:
    objects = listed(*[widget(x=value) for value in values])

    frame = objects.to_polars(fields={"x": "{.spec.x}"})

    assert str(frame.schema["x"]) == kind
    assert frame["x"].to_list() == (shown or [datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)])
    assert len(objects.to_pandas(fields={"x": "{.spec.x}"})) == len(values)


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (np.int64(3), "Int64", 3),
        (np.float32(0.5), "Float64", 0.5),
        (np.bool_(True), "Boolean", True),
        (np.datetime64("2026-01-01"), "String", "2026-01-01"),
        (date(2026, 1, 1), "String", "2026-01-01"),
        (Decimal("1.50"), "String", "1.50"),
        (dynkube.LIVE, "String", "LIVE"),
        ('"quoted"', "String", '"quoted"'),
        ({"a": date(2026, 1, 1)}, "String", '{"a":"2026-01-01"}'),
    ],
)
def test_results_of_functions_are_converted_by_their_type(value: object, kind: str, shown: object) -> None:
    frame = dynkube.to_polars([widget()], fields={"x": lambda obj: value})

    assert str(frame.schema["x"]) == kind
    assert frame["x"].to_list() == [shown]
    assert dynkube.to_pandas([widget()], fields={"x": lambda obj: value})["x"].to_list() == [shown]


def test_an_exception_in_a_function_has_a_note_with_column_and_object() -> None:
    with pytest.raises(KeyError, match="nosuch") as caught:
        listed(widget()).to_pandas(fields={"x": lambda obj: obj["nosuch"]})

    assert caught.value.__notes__ == [f"in column 'x' of fields, for {widget()!r}"]


def test_unreadable_json_has_a_note_with_columns_and_object() -> None:
    unreadable = Unstructured(widget().json.replace(b'"spec":{', b'"spec":{"x":1e999'))

    with pytest.raises(InvalidObject) as caught:
        listed(unreadable).to_polars(fields={"x": "{.spec.x}"})

    assert caught.value.__notes__ == [f"in columns 'Created', 'x' of fields, for {unreadable!r}"]


def test_several_matches_are_joined_and_no_match_is_null() -> None:
    objects = listed(widget(c=[{"i": "a:1"}, {"i": "b:2"}]), widget(c=[{"i": "a:1"}]), widget())

    frame = objects.to_polars(fields={"images": ".spec.c[*].i", "first": lambda obj: obj.name.upper()})

    assert frame["images"].to_list() == ["a:1,b:2", "a:1", None]
    assert frame["first"].to_list() == ["W", "W", "W"]


def test_paths_and_functions_may_be_mixed_in_any_order() -> None:
    fields: Fields = {
        "function": lambda obj: obj.name.upper(),
        "inner": "{.spec.size.max}",
        "filtered": '{.spec.parts[?(@.name=="door")].price}',
        "outer": "{.spec.size}",
        "whole": JSONPath.compile("{.spec.size}"),
        "absent": "{.spec.colour}",
    }
    parts = [{"name": "door", "price": 7}, {"name": "roof", "price": 9}]

    frame = listed(widget("w", size={"max": 3}, parts=parts), widget("x")).to_polars(fields=fields)

    size = '{"max":3}'
    assert frame.select(*fields).rows() == [("W", 3, 7, size, size, None), ("X", None, None, None, None, None)]


def test_a_field_may_replace_the_creation_time_by_a_path() -> None:
    frame = listed(widget(n=3)).to_polars(fields={"Created": "{.spec.n}"})

    assert frame.rows() == [("shop", "w", 3)]


def test_a_field_replaces_a_column_with_the_same_name() -> None:
    frame = listed(widget()).to_polars(fields={"Name": "{.metadata.namespace}"})

    assert frame.columns == ["Namespace", "Name", "Created"]
    assert frame["Name"].to_list() == ["shop"]


def test_the_object_is_included_as_json_on_request() -> None:
    obj = widget(x=1)

    frame = dynkube.to_polars([obj], with_object=True)

    assert frame["object"].to_list() == [obj.json.decode()]


def test_a_table_has_the_columns_and_types_of_the_server() -> None:
    columns = [
        TableColumn(name="Name", format="name"),
        TableColumn(name="Ready"),
        TableColumn(name="Size", type="integer"),
        TableColumn(name="Load", type="number", priority=1),
        TableColumn(name="Up", type="boolean"),
        TableColumn(name="Since", type="date", description=f"{PRINTED}.spec.since"),
        TableColumn(name="Age", type="date", description=f"{PRINTED}.metadata.creationTimestamp"),
    ]
    found = table(("w0", "1/1", 3, 1, True, "5d", "7d"), ("w1", None, None, 0.5, None, "5d", "7d"), columns=columns)

    frame = found.to_polars()

    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert frame.rows() == [
        ("shop", "w0", "1/1", 3, 1.0, True, moment, moment),
        ("shop", "w1", None, None, 0.5, None, moment, moment),
    ]
    assert frame.columns == ["Namespace", "Name", "Ready", "Size", "Load", "Up", "Since", "Created"]
    assert dynkube.to_pandas(found).equals(found.to_pandas())


def test_a_column_with_cells_of_another_type_has_strings() -> None:
    columns = [TableColumn(name="Size", type="integer"), TableColumn(name="When", type="date")]

    frame = table((3, "5d"), ("<none>", NEW_YEAR), columns=columns, namespaced=False).to_polars()

    assert frame.rows() == [("3", "5d"), ("<none>", NEW_YEAR)]


def test_columns_with_the_same_name_are_numbered() -> None:
    columns = [TableColumn(name="X"), TableColumn(name="X", type="integer")]

    frame = table(("a", 1), columns=columns).to_pandas()

    assert list(frame.columns) == ["Namespace", "X", "X (2)"]


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (["{.a}"], InvalidInput, "fields is a list: pass a dict of column names and JSONPaths"),
        ({"x": 3}, InvalidInput, "'x' is 3: pass a JSONPath or a function"),
        ({"": "{.a}"}, InvalidInput, "'' is not a column name"),
        ({"x": "{.a"}, InvalidJSONPath, r"expected|}"),
        ({"object": "{.a}"}, InvalidInput, "rename it"),
    ],
)
def test_invalid_fields_are_rejected(fields: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        listed(widget()).to_pandas(fields=fields, with_object=True)


@pytest.mark.parametrize("frame", [dynkube.to_pandas, dynkube.to_polars])
@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([{"a": 1}], "objects holds a dict: pass a list of objects"),
        (None, "objects is None: pass a list of objects"),
        (5, "objects is an int: pass a list of objects"),
        ("web", "objects is a str: pass a list of objects"),
        (widget(), "objects is an Unstructured: pass a list of objects"),
    ],
)
def test_values_that_are_not_lists_of_objects_are_rejected(frame: Any, objects: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        frame(objects)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_the_error_for_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ImportError, match=rf"to_{package}\(\) needs {package}: pip install 'dynkube\[{package}\]'"):
        getattr(listed(widget()), f"to_{package}")()
