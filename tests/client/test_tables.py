"""Tables: the server's columns beside its objects, and responses that are not tables."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from dynkube.errors import InvalidInput, ProtocolError
from tests.client.wire import ScriptedServer, connect, error_response, ok, pod, pods

NAME = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
READY = {"name": "Ready", "type": "string", "format": "", "description": "", "priority": 0}
NODE = {"name": "Node", "type": "string", "format": "", "description": "where it runs", "priority": 1}
PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}


def table(
    *rows: tuple[dict[str, Any] | None, list[object]], columns: Any = (NAME, READY, NODE), token: str = ""
) -> Any:
    meta = {"resourceVersion": "9", **({"continue": token} if token else {})}
    cells = [{"cells": cells, "object": obj} for obj, cells in rows]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
    return ok({**head, "columnDefinitions": list(columns), "rows": cells})


async def test_one_request_returns_the_objects_and_their_cells() -> None:
    server = ScriptedServer(table((pod("a"), ["a", "1/1", "n1"]), (pod("b"), ["b", "0/1", None])))

    found = await connect(server).resource("pods").table(namespace="shop", label_selector={"app": "web"})

    assert [obj.name for obj in found] == ["a", "b"]
    assert found.cells == (("a", "1/1", "n1"), ("b", "0/1", None))
    assert [(column.name, column.wide) for column in found.columns] == [
        ("Name", False),
        ("Ready", False),
        ("Node", True),
    ]
    assert (found.kind, found.api_version, found.resource_version) == ("PodList", "v1", "9")
    assert found.server_columns
    assert found.namespaced
    (request,) = server.requests
    assert request.headers["accept"].startswith("application/json;as=Table;v=v1;g=meta.k8s.io,")
    assert request.url.params["includeObject"] == "Object"
    assert request.url.params["labelSelector"] == "app=web"


async def test_pages_are_joined_to_one_table() -> None:
    server = ScriptedServer(table((pod("a"), ["a", "1/1", "n1"]), token="t"), table((pod("b"), ["b", "0/1", "n2"])))

    found = await connect(server).resource("pods").table(page_size=1)

    assert found.column("ready") == ("1/1", "0/1")
    assert server.request_lines == ["GET /api/v1/pods limit=1", "GET /api/v1/pods limit=1 continue=t"]


async def test_columns_that_differ_between_pages_are_matched_by_name() -> None:
    later = table((pod("b"), ["n2", "b"]), columns=(NODE, NAME))
    server = ScriptedServer(table((pod("a"), ["a", "1/1", "n1"]), token="t"), later)

    found = await connect(server).resource("pods").table(page_size=1)

    assert found.cells == (("a", "1/1", "n1"), ("b", None, "n2"))


async def test_pages_that_have_expired_are_read_again_in_one_response() -> None:
    complete = table((pod("a"), ["a", "1/1", "n1"]), (pod("b"), ["b", "0/1", "n2"]))
    server = ScriptedServer(table((pod("a"), ["a", "1/1", "n1"]), token="t"), error_response(410, "Expired"), complete)

    found = await connect(server).resource("pods").table(page_size=1)

    assert [obj.name for obj in found] == ["a", "b"]


async def test_a_list_from_a_server_without_tables_is_shown_and_marked() -> None:
    server = ScriptedServer(pods(9, pod("a"), token="t"))

    found = await connect(server).resource("pods").table(limit=1)

    assert not found.server_columns
    assert ([column.name for column in found.columns], found.cells) == (["Name", "Age"], (("a", ""),))
    assert (found.continue_token, found[0].kind) == ("t", "Pod")
    assert "no columns" in found._repr_html_()


@pytest.mark.parametrize("row", [None, PARTIAL], ids=["nothing", "metadata alone"])
async def test_rows_without_whole_objects_cost_a_second_request(row: dict[str, Any] | None) -> None:
    server = ScriptedServer(table((row, ["a", "1/1", "n1"])), pods(9, pod("a")))

    found = await connect(server).resource("pods").table()

    assert found[0].namespace == "shop"
    assert not found.server_columns
    assert len(server.requests) == 2


async def test_a_row_with_too_few_cells_is_filled_up() -> None:
    server = ScriptedServer(table((pod("a"), ["a"])))

    assert (await connect(server).resource("pods").table()).cells == (("a", None, None),)


async def test_cells_without_a_column_are_left_out() -> None:
    server = ScriptedServer(table((pod("a"), ["a", "b", "c", "d"])))

    assert (await connect(server).resource("pods").table()).cells == (("a", "b", "c"),)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (table(({"metadata": []}, ["a", "b", "c"])), "an object that cannot be decoded"),
        (ok({"kind": "Table", "rows": {}}), "the response is not a Kubernetes table"),
        (ok({"kind": "Status", "status": "Success"}), "expected a list, the server returned a Status"),
    ],
)
async def test_a_response_that_is_neither_table_nor_list_is_an_error_with_the_request(
    response: httpx2.Response, message: str
) -> None:
    with pytest.raises(ProtocolError, match=rf"{message}.*\[GET /api/v1/pods\]"):
        await connect(ScriptedServer(response)).resource("pods").table()


async def test_the_error_for_an_unknown_column_lists_the_columns() -> None:
    found = await connect(ScriptedServer(table())).resource("pods").table()

    with pytest.raises(InvalidInput, match="unknown column 'Status': the table has 'Name', 'Ready', 'Node'"):
        found.column("Status")
