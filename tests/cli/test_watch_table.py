"""The live table of ``dynkube watch``, drawn on an emulated terminal in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest
import trio
from rich.console import Console

from dynkube import LIVE, Client, Unstructured
from dynkube.cli._follow import follow
from dynkube.cli._table import WatchTable, conditions
from dynkube_testing import APIServer
from tests.cli.kit import noon
from tests.informers.kit import WIDGETS, crd, quiet, widget


def terminal(height: int = 24, width: int = 100) -> Console:
    return Console(file=StringIO(), force_terminal=True, color_system=None, width=width, height=height)


def picture(table: WatchTable, console: Console) -> str:
    with console.capture() as capture:
        console.print(table.render())
    return capture.get()


@asynccontextmanager
async def drawn(client: Client, console: Console) -> AsyncIterator[WatchTable]:
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        table = WatchTable(widgets, console, noon)
        nursery.start_soon(follow, widgets, table)
        await widgets.wait_synced()
        await quiet()
        yield table
        nursery.cancel_scope.cancel()


async def test_while_the_resource_is_absent_the_header_has_the_reason(server: APIServer, client: Client) -> None:
    console = terminal()

    async with drawn(client, console) as table:
        shown = picture(table, console).splitlines()

    assert shown[0].startswith("widgets.v1.example.com  ABSENT ")
    assert shown[0].rstrip().endswith("objects: 0  events: 0")
    assert shown[1].rstrip() == "CRDNotFound: no CRD widgets.example.com is installed"


async def test_objects_are_sorted_rows_above_the_latest_events(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("b"))
    console = terminal()

    async with drawn(client, console) as table:
        server.create(widget("a"))
        await quiet()
        server.delete("widgets", "b")
        await quiet()
        shown = [line.split() for line in picture(table, console).splitlines()]

    assert shown[0][:2] == ["widgets.v1.example.com", "LIVE"]
    assert [row[:2] for row in shown[2:4]] == [["NAMESPACE", "NAME"], ["default", "a"]]
    assert [row[1:] for row in shown[5:]] == [["ADDED", "default/b"], ["ADDED", "default/a"], ["DELETED", "default/b"]]


async def test_rows_that_do_not_fit_are_counted(server: APIServer, client: Client) -> None:
    server.create(crd())
    for number in range(30):
        server.create(widget(f"w{number:02}"))
    console = terminal(height=20)

    async with drawn(client, console) as table:
        lines = picture(table, console).splitlines()

    assert len(lines) <= 20
    assert lines[3].split()[:2] == ["default", "w00"]
    assert "... and 22 more" in [line.strip() for line in lines]


async def test_the_table_is_drawn_at_most_four_times_a_second(server: APIServer, client: Client) -> None:
    server.create(crd())
    console = terminal()
    assert isinstance(console.file, StringIO)

    async with drawn(client, console) as table, trio.open_nursery() as nursery:
        nursery.start_soon(table.run)
        for number in range(95):
            server.create(widget(f"w{number}"))
            await trio.sleep(0.02)
        pictures = console.file.getvalue().count(" LIVE ")
        nursery.cancel_scope.cancel()

    assert pictures == 8, "at 0, 0.25, ... 1.75 of 1.9 seconds"


async def test_without_events_the_table_is_drawn_once_a_second(server: APIServer, client: Client) -> None:
    server.create(crd())
    console = terminal()
    assert isinstance(console.file, StringIO)

    async with drawn(client, console) as table:
        with trio.move_on_after(9.5):
            await table.run()

    assert console.file.getvalue().count(" LIVE ") == 10 + 1, "and once more at the end"


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "[/]", ":smile:"])
async def test_text_from_a_cluster_is_not_interpreted_as_markup(name: str, server: APIServer, client: Client) -> None:
    crd_body = crd()
    server.create(crd_body)
    server.create(widget("a") | {"status": {"conditions": [{"type": name, "status": "True"}]}})
    console = terminal()

    async with drawn(client, console) as table:
        assert name in picture(table, console)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, ""),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "Ready"),
        ({"conditions": [{"type": "Ready", "status": "False", "reason": "Slow"}]}, "Ready=False (Slow)"),
        ({"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "Unknown"}]}, "A, B=Unknown"),
        ({"conditions": [None, "x", {}, {"status": "True"}]}, ""),
        ({"conditions": "none"}, ""),
        ("x", ""),
    ],
)
def test_conditions_that_are_not_true_have_status_and_reason(status: Any, text: str) -> None:
    assert conditions(Unstructured({"status": status})) == text


async def test_an_object_without_a_valid_creation_time_has_no_age(server: APIServer, client: Client) -> None:
    console = terminal()
    async with drawn(client, console) as table:
        assert table._age_of(Unstructured({"metadata": {"creationTimestamp": "soon"}})) == ""
        assert table._age_of(Unstructured({})) == ""
        assert table._age_of(Unstructured({"metadata": {"creationTimestamp": "2026-01-02T11:59:01Z"}})) == "1m"


async def test_the_last_table_stays_and_the_cursor_is_restored(server: APIServer, client: Client) -> None:
    server.create(crd())
    console = terminal()
    assert isinstance(console.file, StringIO)

    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        table = WatchTable(widgets, console, noon)
        with trio.move_on_after(0.1):
            await table.run()

    assert console.file.getvalue().rstrip().endswith("\x1b[?25h"), "the cursor is visible again"
