"""Defaults added to a schema later are filled in on reads; objects that have all defaults are not decoded."""

from __future__ import annotations

import pytest

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._store.documents import StoredDocument
from tests.testing.engine.cluster import widget
from tests.testing.schemas.kit import INTEGER, STRING, fields, reschema, serving

DEEP = {**fields(a={**INTEGER, "default": 1}, b=STRING), "default": {"b": "x"}}


@pytest.mark.parametrize(
    "schema",
    [
        fields(a=STRING, g=DEEP),
        {**fields(a=STRING, g=DEEP), "description": "another"},
        fields(a=STRING, g=DEEP, h=INTEGER),
    ],
)
def test_objects_are_not_decoded_if_the_new_schema_does_not_change_them(schema: JSONObject) -> None:
    cluster = serving(fields(a=STRING, g=DEEP))
    cluster.create("widgets", widget(spec={"f": {"a": "x"}}))

    reschema(cluster, schema)

    document = cluster.engine.handle(cluster.request("get", "widgets", "w")).document
    assert isinstance(document, StoredDocument)
    assert document.kind.content is not None
    assert document.kind.content.shows_as_kept(document.version.shape)


def test_an_object_that_the_new_schema_changes_is_encoded_once() -> None:
    cluster = serving(fields(a=STRING))
    cluster.create("widgets", widget(spec={"f": {}}))
    reschema(cluster, fields(a=STRING, g=DEEP))

    first, second = (cluster.engine.handle(cluster.request("get", "widgets", "w")).document for _ in range(2))

    assert isinstance(first, StoredDocument)
    assert first.kind.content is not None
    assert first.json == second.json
    assert len(first.kind.content.encoded) == 1
