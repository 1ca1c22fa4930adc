"""Defaults of schemas: set on writes, and on reads of objects that were stored before the default existed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, version
from tests.contract.schemas.kit import INTEGER, STRING, Fields, fields, serve, update_field_schema

DEEP = {**fields(a={**INTEGER, "default": 1}, b=STRING), "default": {"b": "x"}}
CASES: list[tuple[JSONObject, Any, Any]] = [
    (fields(g={**STRING, "default": "d"}), {}, {"g": "d"}),
    (fields(g={**STRING, "default": "d"}), {"g": "given"}, {"g": "given"}),
    (fields(g={**STRING, "default": "d"}), {"g": None}, {"g": "d"}),
    (fields(g={**STRING, "default": "d", "nullable": True}), {"g": None}, {"g": None}),
    (fields(g=STRING), {"g": None}, {}),
    (fields(g={**STRING, "nullable": True}), {"g": None}, {"g": None}),
    (fields(g=DEEP), {}, {"g": {"b": "x", "a": 1}}),
    (fields(g=DEEP), {"g": {}}, {"g": {"a": 1}}),
    ({"type": "array", "items": fields(a={**INTEGER, "default": 1})}, [{}, {"a": 2}], [{"a": 1}, {"a": 2}]),
    ({"type": "array", "items": {**INTEGER, "default": 7}}, [None, 1], [7, 1]),
    (
        {"type": "object", "additionalProperties": DEEP},
        {"k": {}, "n": None},
        {"k": {"a": 1}, "n": {"b": "x", "a": 1}},
    ),
]
SCHEMAS = [case[0] for case in CASES]
LATER = fields(a=STRING, g={**STRING, "default": "d"})


@pytest.mark.parametrize(("schema", "written", "expected"), CASES)
async def test_a_write_sets_missing_fields_to_their_defaults(
    widgets: Fields, schema: JSONObject, written: Any, expected: Any
) -> None:
    assert await widgets.stored(schema, written) == expected


async def test_reads_show_a_new_default_in_objects_stored_before(cluster: Cluster) -> None:
    await serve(cluster, fields(a=STRING))
    before = await cluster.create("widgets", cluster.widget(spec={"f": {"a": "x"}}))

    await update_field_schema(cluster, LATER)

    found = await cluster.get("widgets", "w")
    assert found["spec"] == {"f": {"a": "x", "g": "d"}}
    assert found["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await cluster.list_of("widgets"))["items"][0]["spec"] == {"f": {"a": "x", "g": "d"}}
    async with cluster.watch("widgets") as events:
        assert (await events.next())["object"]["spec"] == {"f": {"a": "x", "g": "d"}}


async def test_a_patch_is_applied_to_the_object_with_new_defaults(cluster: Cluster) -> None:
    await serve(cluster, fields(a=STRING))
    await cluster.create("widgets", cluster.widget(spec={"f": {"a": "x"}}))
    await update_field_schema(cluster, LATER)

    patched = await cluster.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})

    assert patched["spec"] == {"f": {"a": "x", "g": "d"}}
    assert patched["metadata"]["generation"] == 1


async def test_a_field_removed_from_the_schema_is_not_shown(cluster: Cluster) -> None:
    await serve(cluster, fields(a=STRING, b=STRING))
    await cluster.create("widgets", cluster.widget(spec={"f": {"a": "x", "b": "y"}}))

    await update_field_schema(cluster, fields(a=STRING))

    assert (await cluster.get("widgets", "w"))["spec"] == {"f": {"a": "x"}}


async def test_a_new_object_has_the_default_status_and_not_that_of_the_body(cluster: Cluster) -> None:
    schema = fields(status={**fields(phase=STRING), "default": {"phase": "New"}})
    served = version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})
    await cluster.create_crd(cluster.crd(versions=[served]))

    created = await cluster.create("widgets", cluster.widget(status={"phase": "Sent"}))

    assert created["status"] == {"phase": "New"}
    assert (await cluster.get("widgets", "w"))["status"] == {"phase": "New"}
