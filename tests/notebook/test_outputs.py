"""Without a widget, a live table is an output that is replaced only if its text changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import trio

import dynkube
from dynkube._portal.thread import TrioThread
from dynkube.notebook._cells import Cells
from dynkube.notebook._live import PageTable
from dynkube_testing import APIServer
from tests.informers.kit import namespace
from tests.notebook.kit import follow


class Output:
    """IPython's handle of an output that can be updated."""

    display_id = "1"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, bundle: dict[str, str], **options: Any) -> None:
        """Record the new text."""
        self.texts.append(bundle["text/plain"])


@asynccontextmanager
async def displayed(client: dynkube.Client, *, days: int = 0) -> AsyncIterator[tuple[PageTable, Output]]:
    """A table of namespaces that are ``days`` old, displayed in cell "a"."""
    began = datetime.now(UTC) + timedelta(days=days)  # the server uses the real clock

    def now() -> datetime:
        return began + timedelta(seconds=trio.current_time())

    nowhere: Any = TrioThread.__new__(TrioThread)  # the test already runs in the event loop
    async with client.informer("namespaces") as informer, trio.open_nursery() as nursery:
        follower = follow(informer, nursery, now=now)
        table, output = PageTable(follower, nowhere, Cells(lambda function: function())), Output()
        follower.begin()
        table._displayed("cell a", output)
        await trio.sleep(1)
        yield table, output
        await follower.close()


async def test_ages_are_updated_without_events(client: dynkube.Client) -> None:
    async with displayed(client) as (_, output):
        output.texts.clear()

        await trio.sleep(31)

        assert len(output.texts) == 2
        assert len({text.split()[-1] for text in output.texts}) == 2


async def test_an_unchanged_output_is_not_replaced(client: dynkube.Client) -> None:
    async with displayed(client, days=20) as (_, output):
        output.texts.clear()

        await trio.sleep(600)

        assert output.texts == []


async def test_the_last_text_is_not_held_by_the_table(client: dynkube.Client) -> None:
    async with displayed(client) as (table, output):
        assert "kube-system" in output.texts[-1]
        assert "kube-system" not in repr((vars(table), vars(table._outputs)))


async def test_an_output_whose_cell_is_run_again_is_not_updated(server: APIServer, client: dynkube.Client) -> None:
    async with displayed(client) as (table, output):
        other = Output()
        table._displayed("cell b", other)

        table._follower.cell_begins("cell a")
        output.texts.clear()
        server.create(namespace("new"))
        await trio.sleep(2)

        assert output.texts == []
        assert "new" in other.texts[-1]
