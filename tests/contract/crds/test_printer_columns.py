"""``additionalPrinterColumns``: the tables of custom resources."""

from __future__ import annotations

from typing import Any

from tests.contract.cluster import TABLE, Cluster
from tests.contract.objects import JSONObject, version


def _column(name: str, kind: str, path: str, **more: Any) -> JSONObject:
    return {"name": name, "type": kind, "jsonPath": path, **more}


async def _table(cluster: Cluster, *columns: JSONObject, **spec: Any) -> JSONObject:
    """Return the table of one Widget with this ``spec``, whose CRD has these columns."""
    served = version() | ({"additionalPrinterColumns": list(columns)} if columns else {})
    await cluster.create_crd(cluster.crd(versions=[served]))
    await cluster.create("widgets", cluster.widget(spec=spec))
    return await cluster.request("GET", cluster.path("widgets"), headers={"Accept": TABLE})


def _headings(table: JSONObject) -> list[tuple[str, str, str, int]]:
    return [(each["name"], each["type"], each["format"], each["priority"]) for each in table["columnDefinitions"]]


def _cells(table: JSONObject) -> list[Any]:
    (row,) = table["rows"]
    cells: list[Any] = row["cells"]
    return cells


async def test_the_default_columns_are_name_and_age(cluster: Cluster) -> None:
    table = await _table(cluster)

    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert _headings(table) == [("Name", "string", "name", 0), ("Age", "date", "", 0)]
    (row,) = table["rows"]
    assert row["cells"][0] == "w"
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_columns_of_the_crd_replace_the_age(cluster: Cluster) -> None:
    table = await _table(
        cluster,
        _column("Color", "string", ".spec.color", description="How it looks.", priority=1),
        _column("Size", "integer", ".spec.size", format="int32"),
    )

    assert _headings(table) == [
        ("Name", "string", "name", 0),
        ("Color", "string", "", 1),
        ("Size", "integer", "int32", 0),
    ]
    assert [each["description"] for each in table["columnDefinitions"][1:]] == [
        "How it looks.",
        "Custom resource definition column (in JSONPath format): .spec.size",
    ]


async def test_cells_have_the_values_at_the_paths_of_their_columns(cluster: Cluster) -> None:
    entries = [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]
    spec = {"text": "x", "number": 3, "part": 1.5, "flag": True, "list": ["a", "b"], "object": {"k": "v"}}
    columns = [
        _column("Text", "string", ".spec.text"),
        _column("Number", "integer", ".spec.number"),
        _column("Part", "number", ".spec.part"),
        _column("Flag", "boolean", ".spec.flag"),
        _column("Second", "string", ".spec.list[1]"),
        _column("Named", "string", '.spec.entries[?(@.name=="b")].value'),
        _column("All", "string", ".spec.list"),
        _column("Object", "string", ".spec.object"),
        _column("Label", "string", r".metadata.labels.example\.com/a"),
    ]

    table = await _table(cluster, *columns, entries=entries, **spec)

    assert _cells(table) == ["w", "x", 3, 1.5, True, "b", "2", '["a","b"]', '{"k":"v"}', None]


async def test_missing_values_and_values_of_another_type_are_null(cluster: Cluster) -> None:
    columns = [
        _column("Missing", "string", ".spec.missing"),
        _column("Number", "integer", ".spec.text"),
        _column("Flag", "boolean", ".spec.text"),
        _column("When", "date", ".spec.text"),
        _column("Text", "string", ".spec.number"),
    ]

    table = await _table(cluster, *columns, text="x", number=3)

    assert _cells(table) == ["w", None, None, None, "<invalid>", "3"]


async def test_each_version_has_its_own_columns(cluster: Cluster) -> None:
    versions = [
        version("v1", additionalPrinterColumns=[_column("A", "string", ".spec.a")]),
        version("v2", storage=False, additionalPrinterColumns=[_column("B", "string", ".spec.b")]),
    ]
    await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.create("widgets", cluster.widget(spec={"a": "x", "b": "y"}))

    paths = [cluster.path("widgets.v1"), cluster.path("widgets.v2")]
    tables = [await cluster.request("GET", path, headers={"Accept": TABLE}) for path in paths]

    assert [_cells(table) for table in tables] == [["w", "x"], ["w", "y"]]
    assert [_headings(table)[1][0] for table in tables] == ["A", "B"]
