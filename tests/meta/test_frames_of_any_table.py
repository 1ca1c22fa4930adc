"""Tables with arbitrary cells as data frames: no error, no lost row or column, and stable types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube.meta import TableColumn, Unstructured, UnstructuredTable
from tests.recorded_cases import load_cases

PRINTED = "Custom resource definition column (in JSONPath format): "
NEW_YEAR = "2026-01-01T00:00:00Z"
RECORDED = Path(__file__).parents[1] / "testing" / "tables" / "recorded" / "builtin.yaml"

_TEXTS = st.text(st.characters()) | st.sampled_from(["\ud800", "\ud83d\ude00", "5d", NEW_YEAR, "<none>", "0001-01-01"])
_NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -(2**63) - 1, 10**400])
ANYTHING = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
)
PATHS = ["", "when", f"{PRINTED}.spec.x", f"{PRINTED}.spec.x (since when)", f"{PRINTED}.metadata.creationTimestamp"]
COLUMNS = st.builds(
    TableColumn,
    name=st.sampled_from(["X", "X (2)", "x", "Age", "Created", "Created At", "Namespace", "object", ""]) | _TEXTS,
    type=st.sampled_from(["string", "integer", "number", "boolean", "date", "array", ""]),
    description=st.sampled_from(PATHS),
)
# The cells that a server writes for each column type.
FITTING = {
    "string": st.none() | _TEXTS,
    "integer": st.none() | st.integers(-(2**63), 2**63 - 1),
    "number": st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.none() | st.booleans(),
    "date": st.none() | st.sampled_from(["5d", "<invalid>"]),
}


def table(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[Any]], specs: Sequence[Any], namespaced: bool = True
) -> UnstructuredTable:
    objects = [
        Unstructured(
            {
                "apiVersion": "e.com/v1",
                "kind": "Widget",
                "metadata": {"name": f"w{number}", "creationTimestamp": NEW_YEAR},
                "spec": {"x": spec},
            }
        )
        for number, spec in enumerate(specs[: len(rows)])
    ]
    return UnstructuredTable(objects, columns=columns, cells=[tuple(row) for row in rows], namespaced=namespaced)


def types(found: UnstructuredTable) -> tuple[list[str], list[Any]]:
    return found.to_pandas().dtypes.astype(str).to_list(), list(found.to_polars().schema.values())


@given(st.data(), st.lists(COLUMNS, max_size=5), st.integers(0, 4), st.booleans())
def test_no_row_and_no_column_is_lost_for_any_cells(
    data: st.DataObject, columns: list[TableColumn], count: int, namespaced: bool
) -> None:
    rows = [[data.draw(ANYTHING) for _ in columns] for _ in range(count)]
    found = table(columns, rows, [data.draw(st.sampled_from([NEW_YEAR, None, "soon", 3])) for _ in rows], namespaced)

    pandas, polars = found.to_pandas(with_object=True), found.to_polars(with_object=True)

    wide = namespaced + len(columns) + 1 if columns else len(["Namespace", "Name", "Created", "object"])
    assert pandas.shape == (count, wide)
    assert polars.width == wide
    assert polars.height == count
    assert list(pandas.columns) == polars.columns
    for place, column in enumerate(columns):
        if column.type in FITTING and column.type != "date" and column.name != "Age":
            there = [row[place] is not None for row in rows]
            assert pandas.iloc[:, namespaced + place].notna().to_list() == _without_nan(rows, place, there)


def _without_nan(rows: Sequence[Sequence[Any]], place: int, there: list[bool]) -> list[bool]:
    return [is_there and row[place] == row[place] for row, is_there in zip(rows, there, strict=True)]


@given(st.data(), st.lists(COLUMNS.filter(lambda column: column.type in FITTING), max_size=5), st.integers(1, 4))
def test_rows_do_not_change_the_types_of_columns(data: st.DataObject, columns: list[TableColumn], count: int) -> None:
    rows = [[data.draw(FITTING[column.type]) for column in columns] for _ in range(count)]
    full = table(columns, rows, [data.draw(st.sampled_from([NEW_YEAR, None])) for _ in rows])

    assert types(full) == types(table(columns, [], []))


def test_a_column_of_numbers_stays_one_with_large_integers() -> None:
    columns = [TableColumn(name="Load", type="number")]

    found = table(columns, [[2**53 + 1], [0.5]], [None, None])

    assert types(found) == types(table(columns, [], []))


@pytest.mark.parametrize(
    ("api_version", "kind", "column", "cell", "shown"),
    [
        ("v1", "ConfigMapList", TableColumn(name="Data"), 3, "Int64"),
        ("apps/v1", "DeploymentList", TableColumn(name="Up-to-date"), 2, "Int64"),
        ("storage.k8s.io/v1", "StorageClassList", TableColumn(name="AllowVolumeExpansion"), True, "boolean"),
        ("batch/v1", "CronJobList", TableColumn(name="Suspend", type="boolean"), "False", "string"),
        ("e.com/v1", "ConfigMapList", TableColumn(name="Data"), 3, "string"),
        # "<none>" in other rows
        ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfigurationList", TableColumn(name="Queues"), 3, "string"),
    ],
)
def test_columns_that_servers_declare_with_a_wrong_type_are_corrected(
    api_version: str, kind: str, column: TableColumn, cell: Any, shown: str
) -> None:
    named: Any = {"columns": [column], "namespaced": False, "api_version": api_version, "kind": kind}
    full = UnstructuredTable(table([column], [[cell]], [None]), cells=[(cell,)], **named)

    assert full.to_pandas().dtypes.astype(str).to_list() == [shown]
    assert types(full) == types(UnstructuredTable([], cells=[], **named))


def test_recorded_rows_of_a_real_server_do_not_change_the_types_of_columns() -> None:
    for row in load_cases(RECORDED):
        obj = Unstructured(row["object"])
        columns = [
            TableColumn(name=name, type=kind, format=form, priority=int(priority))
            for name, kind, form, priority in (column.split("|") for column in row["columns"])
        ]
        named: Any = {"columns": columns, "namespaced": True, "api_version": obj.api_version, "kind": f"{obj.kind}List"}

        full = UnstructuredTable([obj], cells=[tuple(row["cells"])], **named)

        assert types(full) == types(UnstructuredTable([], cells=[], **named)), row


def test_a_path_followed_by_text_is_only_a_description() -> None:
    columns = [TableColumn(name="Since", type="date", description=f"{PRINTED}.spec.x (since when)")]

    frame = table(columns, [["5d"]], [NEW_YEAR]).to_polars()

    assert columns[0].json_path is None
    assert frame["Since"].to_list() == ["5d"]


def test_of_several_timestamps_the_first_is_used_as_by_servers() -> None:
    columns = [TableColumn(name="Since", type="date", description=f"{PRINTED}.spec.x[*].at")]

    frame = table(columns, [["5d"]], [[{"at": NEW_YEAR}, {"at": "2027-01-01T00:00:00Z"}]]).to_polars()

    assert [each.isoformat() for each in frame["Since"]] == ["2026-01-01T00:00:00+00:00"]


def test_a_created_at_column_of_a_server_is_a_timestamp() -> None:
    columns = [TableColumn(name="Name", format="name"), TableColumn(name="Created At", type="date")]

    frame = table(columns, [["w0", NEW_YEAR]], [None], namespaced=False).to_polars()

    assert frame.schema == {"Name": pl.String, "Created At": pl.Datetime("us", "UTC")}


def test_numbered_columns_do_not_collide_with_other_columns() -> None:
    columns = [TableColumn(name=name) for name in ("X", "X", "X (2)", "object")]

    frame = table(columns, [["a", "b", "c", "d"]], [None], namespaced=False).to_pandas(with_object=True)

    assert list(frame.columns) == ["X", "X (2)", "X (2) (2)", "object (2)", "object"]
    assert frame.iloc[0, :4].to_list() == ["a", "b", "c", "d"]


def test_huge_numbers_and_lone_surrogates_are_converted_to_strings() -> None:
    made = {"n": lambda obj: 10**5000, "t": lambda obj: "a\ud800", "i": lambda obj: [10**5000], "f": lambda obj: obj}

    frame = table([TableColumn(name="X")], [["a"]], [None]).to_pandas(fields=made)

    assert frame["n"][0] == "1" + "0" * 5000
    assert frame["t"][0] == "a\N{REPLACEMENT CHARACTER}"
    assert isinstance(frame["i"][0], str)
    assert isinstance(frame, pd.DataFrame)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (3, "column 3 is an int: pass its heading; the table has 'X'"),
        ("nosuch", "unknown column 'nosuch': the table has 'X'"),
    ],
)
def test_an_unknown_column_is_rejected(name: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        table([TableColumn(name="X")], [["a"]], [None]).column(name)
