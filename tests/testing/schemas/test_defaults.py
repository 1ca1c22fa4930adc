"""Defaults: where they are filled in on writes, and on reads of what was stored before them."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._store.documents import StoredDocument
from tests.testing.engine.cluster import CRDS, Cluster, definition, read_some, version, widget
from tests.testing.schemas.kit import INTEGER, STRING, fields, reschema, serving, stored

DEEP = {**fields(a={**INTEGER, "default": 1}, b=STRING), "default": {"b": "x"}}


@pytest.mark.parametrize(
    ("schema", "written", "kept"),
    [
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
    ],
)
def test_a_write_fills_in_what_is_missing(schema: JSONObject, written: Any, kept: Any) -> None:
    assert stored(serving(schema), written) == kept


def test_a_default_that_came_later_shows_on_what_was_stored_before() -> None:
    cluster = serving(fields(a=STRING))
    cluster.create("widgets", widget(spec={"f": {"a": "x"}}))

    reschema(cluster, fields(a=STRING, g={**STRING, "default": "d"}))

    assert cluster.get("widgets", "w")["spec"] == {"f": {"a": "x", "g": "d"}}
    assert cluster.list_of("widgets")["items"][0]["spec"] == {"f": {"a": "x", "g": "d"}}


async def test_it_shows_on_watches_too() -> None:
    cluster = serving(fields(a=STRING))
    cluster.create("widgets", widget(spec={"f": {}}))
    reschema(cluster, fields(a=STRING, g={**STRING, "default": "d"}))

    stream = cluster.watch("widgets")
    event, *_ = await read_some(stream)
    stream.close()

    assert event["object"]["spec"] == {"f": {"g": "d"}}


def test_a_patch_builds_on_defaults_that_came_later() -> None:
    cluster = serving(fields(a=STRING))
    cluster.create("widgets", widget(spec={"f": {"a": "x"}}))
    reschema(cluster, fields(a=STRING, g={**STRING, "default": "d"}))

    patched = cluster.patch("widgets", "w", {"metadata": {"labels": {"a": "b"}}})

    assert patched["spec"] == {"f": {"a": "x", "g": "d"}}


def test_a_field_that_is_known_no_more_is_not_shown() -> None:
    cluster = serving(fields(a=STRING, b=STRING))
    cluster.create("widgets", widget(spec={"f": {"a": "x", "b": "y"}}))

    reschema(cluster, fields(a=STRING))

    assert cluster.get("widgets", "w")["spec"] == {"f": {"a": "x"}}


@pytest.mark.parametrize(
    "schema",
    [
        fields(a=STRING, g=DEEP),
        {**fields(a=STRING, g=DEEP), "description": "another"},
        fields(a=STRING, g=DEEP, h=INTEGER),
    ],
)
def test_nothing_is_decoded_where_an_edit_of_the_schema_changes_no_object(schema: JSONObject) -> None:
    cluster = serving(fields(a=STRING, g=DEEP))
    cluster.create("widgets", widget(spec={"f": {"a": "x"}}))

    reschema(cluster, schema)

    document = cluster.engine.handle(cluster.request("get", "widgets", "w")).document
    assert isinstance(document, StoredDocument)
    assert document.kind.content is not None
    assert document.kind.content.shows_as_kept(document.version.shape)


def test_what_looks_different_now_is_made_once() -> None:
    cluster = serving(fields(a=STRING))
    cluster.create("widgets", widget(spec={"f": {}}))
    reschema(cluster, fields(a=STRING, g=DEEP))

    first, second = (cluster.engine.handle(cluster.request("get", "widgets", "w")).document for _ in range(2))

    assert isinstance(first, StoredDocument)
    assert first.kind.content is not None
    assert first.json == second.json
    assert len(first.kind.content.encoded) == 1


def test_a_new_object_has_the_status_of_its_schema_and_not_what_was_sent() -> None:
    schema = fields(status={**fields(phase=STRING), "default": {"phase": "New"}})
    cluster = Cluster()
    cluster.create(
        CRDS, definition(versions=[version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})])
    )

    created = cluster.create("widgets", widget(status={"phase": "Sent"}))

    assert created["status"] == {"phase": "New"}
    assert cluster.get("widgets", "w")["status"] == {"phase": "New"}
