"""The printer columns in the live table of ``dynkube watch``, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from dynkube import LIVE, Client
from dynkube.cli._columns import PrinterColumns
from dynkube.cli._follow import follow
from dynkube.cli._table import WatchTable
from dynkube.cli._watch import Query
from dynkube_testing import APIServer, Refuse
from tests.cli.kit import noon
from tests.cli.test_watch_table import picture, terminal
from tests.informers.kit import WIDGETS, crd, pod, quiet, replace, widget

COLUMNS = (
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Address", "type": "string", "jsonPath": ".spec.address"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
    {"name": "Secret", "type": "string", "jsonPath": ".spec.secret", "priority": 1},
    {"name": "Since", "type": "date", "jsonPath": ".spec.since"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
SPEC: dict[str, Any] = {"size": 3, "address": "a" * 50, "color": "red", "secret": "no", "since": "2026-01-02T11:59:01Z"}


def with_columns(*columns: dict[str, Any]) -> dict[str, Any]:
    crd_body = crd()
    crd_body["spec"]["versions"][0]["additionalPrinterColumns"] = list(columns)
    return crd_body


@asynccontextmanager
async def watching(client: Client, resource: str, *, width: int = 160) -> AsyncIterator[tuple[WatchTable, list[str]]]:
    """Watch a resource with a periodically drawn table; yield the table and its first lines."""
    query = Query(resource=resource)
    async with query.informer(client) as informer, trio.open_nursery() as nursery:
        columns = PrinterColumns(informer, lambda: query.table(client, informer), noon)
        table = WatchTable(informer, terminal(width=width), noon, columns)
        nursery.start_soon(follow, informer, table)
        await informer.wait_state(LIVE)
        nursery.start_soon(table.run)
        await trio.sleep(5.1)
        yield table, picture(table, terminal(width=width)).splitlines()
        nursery.cancel_scope.cancel()


def tables(server: APIServer, resource: str) -> int:
    """Return how many tables of a resource were requested."""
    return sum(f"/{resource}" in request.path and "includeObject" in request.params for request in server.requests)


async def test_the_columns_of_a_crd_are_those_of_kubectl_get(server: APIServer, client: Client) -> None:
    server.create(with_columns(*COLUMNS))
    server.create(widget("a", **SPEC))

    async with watching(client, WIDGETS) as (_, lines):
        head, row = lines[2].split(), lines[3].split()

    assert head == ["NAMESPACE", "NAME", "SIZE", "ADDRESS", "COLOR", "SINCE", "AGE"]
    assert row[:6] == ["default", "a", "3", "a" * 50, "red", "60s"]
    assert tables(server, "widgets") == 0


async def test_a_column_that_does_not_fit_is_left_out(server: APIServer, client: Client) -> None:
    server.create(with_columns(*COLUMNS))
    server.create(widget("a", **SPEC) | {"status": {"conditions": [{"type": "Ready" * 9, "status": "True"}]}})

    async with watching(client, WIDGETS, width=60) as (_, lines):
        assert lines[2].split() == ["NAMESPACE", "NAME", "SIZE", "COLOR", "SINCE", "AGE"]
        assert lines[3].split()[2:5] == ["3", "red", "60s"]


async def test_columns_follow_their_crd(server: APIServer, client: Client) -> None:
    server.create(with_columns(COLUMNS[0]))
    server.create(widget("a", **SPEC))

    async with watching(client, WIDGETS) as (table, lines):
        replace(server, with_columns(COLUMNS[2]))
        await quiet()
        later = picture(table, terminal()).splitlines()

    assert lines[2].split()[2] == "SIZE"
    assert later[2].split()[2] == "COLOR"


async def test_columns_of_a_built_in_kind_are_requested_from_the_server(server: APIServer, client: Client) -> None:
    server.create(pod("a"))

    async with watching(client, "pods.v1") as (_, lines):
        head, row = lines[2].split(), lines[3].split()

    assert head == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:5] == ["default", "a", "0/1", "Pending", "0"]
    assert tables(server, "pods") == 1


async def test_many_events_cause_few_requests_for_tables(server: APIServer, client: Client) -> None:
    server.create(pod("a"))

    async with watching(client, "pods.v1") as (table, _):
        for number in range(100):
            server.update({**server.get("pods", "a"), "status": {"phase": f"Phase{number}"}}, subresource="status")
            await trio.sleep(0.1)
        await trio.sleep(3)
        lines = picture(table, terminal()).splitlines()

    assert lines[3].split()[:4] == ["default", "a", "0/1", "Phase99"]
    assert 5 <= tables(server, "pods") <= 7, "one in two seconds"


async def test_changes_of_invisible_rows_request_no_table(server: APIServer, client: Client) -> None:
    for number in range(30):
        server.create(pod(f"p{number:02}"))

    async with watching(client, "pods.v1"):
        server.create(pod("q"))
        await trio.sleep(5)

    assert tables(server, "pods") == 1


async def test_if_tables_are_forbidden_conditions_are_printed(server: APIServer, client: Client) -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    server.update({**server.create(pod("a")), "status": ready}, subresource="status")
    server.inject(Refuse(403), resource="pods", when=lambda request: "includeObject" in request.params)

    async with watching(client, "pods.v1") as (_, lines):
        assert lines[2].split() == ["NAMESPACE", "NAME", "CONDITIONS", "AGE"]
        assert lines[3].split()[2] == "Ready"


async def test_columns_of_a_kind_without_columns_are_requested_once(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("first"))

    async with watching(client, WIDGETS):
        for name in "abc":
            server.create(widget(name))
            await trio.sleep(5)

    assert tables(server, "widgets") == 1


@pytest.mark.parametrize(("most", "requested"), [(3, 1), (2, 0)])
async def test_a_large_collection_is_not_requested_as_a_table(
    server: APIServer, client: Client, monkeypatch: pytest.MonkeyPatch, most: int, requested: int
) -> None:
    monkeypatch.setattr("dynkube.cli._columns._MOST_OBJECTS", most)
    for name in "abc":
        server.create(pod(name))

    async with watching(client, "pods.v1"):
        assert tables(server, "pods") == requested
