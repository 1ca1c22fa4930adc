"""Decoding of tables: the rows do not depend on size and JSON layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dynkube.errors import ProtocolError
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.meta._wire.tables import WireTable

COLUMNS = [{"name": "Name", "type": "string", "format": "name", "priority": 0}]
HEAD = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "9", "continue": "t"}}
NESTED = {"rows": [{"cells": [1], "object": {"a": {}}}, {"cells": [2], "object": {}}]}  # as an object might contain
MANY, LONG = 60, "x" * 60_000


def row(number: int, **fields: Any) -> dict[str, Any]:
    metadata = {"name": f"w{number}", "namespace": "shop"}
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"text": LONG, **fields}}
    return {"cells": [f"w{number}"], "object": obj}


def packed(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def written(rows: list[Any], *, indent: int | None = None, **more: Any) -> bytes:
    table = {**HEAD, "columnDefinitions": COLUMNS, "rows": rows, **more}
    return json.dumps(table, indent=indent).encode() if indent else packed(table)


def steps(body: bytes) -> Iterator[list[tuple[str, Any]]]:
    """Yield names of objects and their cells, by batch."""
    table = WireTable.read(body)
    assert table is not None
    assert (table.resource_version, table.continue_token, len(table.columns)) == ("9", "t", 1)
    for batch in table.batches(ObjectDecoder()):
        yield [(each[0].name, each[1][0]) if each else ("", None) for each in batch]


PLAIN = [row(number) for number in range(MANY)]
BODIES = {
    "as servers write it": written(PLAIN),
    "indented": written(PLAIN, indent=1),
    "with what comes after the rows": written(PLAIN, metadata=HEAD["metadata"], more={"z": 1}),
    "with rows in the rows": written([row(number, **NESTED) for number in range(MANY)]),
    "with many rows in each row": written([row(number, tables=[NESTED] * 90) for number in range(MANY)]),
    "with rows before the rows": json.dumps(
        {"x": NESTED, **json.loads(written(PLAIN))}, separators=(",", ":")
    ).encode(),
    "cells last": written([{"object": each["object"], "cells": each["cells"]} for each in PLAIN]),
    "rows first": packed(dict(reversed(json.loads(written(PLAIN)).items()))),
    "blank at its end": written(PLAIN) + b"\n",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_row_is_decoded_once_and_in_order(body: bytes) -> None:
    found = [each for batch in steps(body) for each in batch]

    assert found == [(f"w{number}", f"w{number}") for number in range(MANY)]


@pytest.mark.parametrize("layout", ["as servers write it", "with rows in the rows", "with what comes after the rows"])
def test_a_large_table_is_decoded_in_small_batches(layout: str) -> None:
    assert max(map(len, steps(BODIES[layout]))) < MANY / 5


def test_rows_without_objects_are_reported() -> None:
    rows = [*PLAIN[:30], {"cells": ["a"], "object": None}, *PLAIN[30:], {"cells": ["b"]}]
    table = WireTable.read(written(rows))
    assert table is not None

    found = [each for batch in table.batches(ObjectDecoder()) for each in batch]

    assert [place for place, each in enumerate(found) if each is None] == [30, MANY + 1]


@pytest.mark.parametrize("cut", [-1, -2, -40, -20_000, MANY * 30_000, 200, 20])
def test_a_truncated_table_is_an_error(cut: int) -> None:
    with pytest.raises(ProtocolError, match="the response is not a Kubernetes table, or is truncated"):
        list(steps(BODIES["as servers write it"][:cut]))


@pytest.mark.parametrize("broken", [b'"kind":"Widget""', b'"kind":"Widget"}', b'"kind":{"a":"Widget"'])
def test_invalid_json_within_a_row_is_an_error(broken: bytes) -> None:
    body = BODIES["as servers write it"]
    at = body.find(b'"kind":"Widget"', len(body) // 2)

    with pytest.raises(ProtocolError, match="not a Kubernetes table"):
        list(steps(body[:at] + broken + body[at + len(b'"kind":"Widget"') :]))


@pytest.mark.parametrize("kind", ["WidgetList", "Status", None])
def test_documents_of_other_kinds_are_not_tables(kind: str | None) -> None:
    body = json.loads(BODIES["as servers write it"]) | {"kind": kind}

    assert WireTable.read(packed(body)) is None
