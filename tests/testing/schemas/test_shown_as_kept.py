"""Defaults that came later are filled in on reads, and that costs nothing where there are none."""

from __future__ import annotations

import pytest

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._store.documents import StoredDocument
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
