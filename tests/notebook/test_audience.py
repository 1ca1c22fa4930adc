"""A live table follows its informer while a page is open (or may be), rests when there is none, and resumes."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import ConnectFailed
from dynkube.notebook._audience import GRACE, SILENCE
from dynkube.notebook._follower import Follower
from dynkube.notebook._picture import Row
from dynkube.notebook._source import ONE, Sources
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import namespace
from tests.notebook.kit import Page, attach, now

HELLO = {"kind": "hello", "page": "1"}
BYE = {"kind": "bye", "page": "1"}


@asynccontextmanager
async def opened(client: dynkube.Client) -> AsyncIterator[Sources]:
    """Namespaces, with their own informer."""
    async with client.informer("namespaces.v1") as informer:
        yield {ONE: informer}


@asynccontextmanager
async def table(client: dynkube.Client, *, greet: bool = True) -> AsyncIterator[tuple[Follower, Page]]:
    """A table of namespaces with its own informer."""
    async with trio.open_nursery() as nursery:
        follower = Follower(lambda: opened(client), nursery.start_soon, now=now)
        page = attach(follower, greet=greet)
        follower.begin()
        await trio.sleep(1)
        yield follower, page
        await follower.close()


def followed(client: dynkube.Client) -> list[str]:
    """Return the resources of the client's informers."""
    return [str(each.gvr) for each in client.informers()]


def rows_alive() -> list[Row]:
    """Return all rows that are referenced by anything."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, Row)]


async def test_after_the_last_page_has_closed_the_informer_ends(client: dynkube.Client) -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    async with table(client) as (follower, _):
        follower.receive({"kind": "hello", "page": "2"})
        follower.receive(BYE)
        await trio.sleep(GRACE + 2)
        one_page_left = followed(client)
        follower.receive({"kind": "bye", "page": "2"})
        await trio.sleep(GRACE - 2)
        in_between = followed(client)
        await trio.sleep(4)

        assert (one_page_left, in_between, followed(client)) == (["namespaces.v1"], ["namespaces.v1"], [])
        assert follower.resting
        assert trio.lowlevel.current_statistics().tasks_living <= tasks


@pytest.mark.parametrize("rests", [True, False])
async def test_resting_and_closed_tables_hold_no_rows(client: dynkube.Client, rests: bool) -> None:
    async with table(client) as (follower, _):
        before = len(rows_alive())
        if rests:
            follower.receive(BYE)
            await trio.sleep(2 * GRACE)
        else:
            await follower.close()

        assert (before, rows_alive()) == (4, [])
        assert len(follower.picture.rows) == 4


async def test_a_page_that_returns_in_time_receives_the_changes(server: APIServer, client: dynkube.Client) -> None:
    async with table(client) as (follower, page):
        follower.receive(BYE)
        server.create(namespace("new"))
        await trio.sleep(GRACE - 2)
        follower.receive(HELLO)
        await trio.sleep(2 * GRACE)

        assert ["new"] in page.texts("Name")
        assert not follower.resting


@pytest.mark.parametrize(
    "message", [HELLO, {"kind": "here", "page": "1"}, {"kind": "details", "id": "/new", "page": "1"}]
)
async def test_any_message_of_a_page_resumes_a_resting_table(
    server: APIServer, client: dynkube.Client, message: dict[str, Any]
) -> None:
    async with table(client) as (follower, page):
        follower.receive(BYE)
        await trio.sleep(2 * GRACE)
        server.create(namespace("new"))
        page.drain()

        follower.receive(message)
        await trio.sleep(2)

        assert next(kind for kind in page.drain() if kind != "details") == "table"
        assert page.texts("Name")[-1] == ["new"]
        assert (page.head["phase"], followed(client)) == ("LIVE", ["namespaces.v1"])


async def test_while_a_table_resumes_its_rows_stay_and_the_state_is_current(
    server: APIServer, client: dynkube.Client
) -> None:
    async with table(client) as (follower, page):
        follower.receive(BYE)
        await trio.sleep(2 * GRACE)
        server.inject(Refuse(503), resource="namespaces", duration=10)

        follower.receive(HELLO)
        await trio.sleep(2)
        down = (page.head["phase"], page.head["counts"], len(page.rows))
        await trio.sleep(60)

        assert down == ("DEGRADED", "4 objects", 4)
        assert page.head["phase"] == "LIVE"


async def test_details_requested_while_a_table_resumes_are_sent_afterwards(
    server: APIServer, client: dynkube.Client
) -> None:
    async with table(client) as (follower, page):
        follower.receive(BYE)
        await trio.sleep(2 * GRACE)
        server.inject(Refuse(503), resource="namespaces", duration=10)
        request = {"kind": "details", "page": "1", "id": "/default"}

        follower.receive(HELLO)
        await trio.sleep(2)
        follower.receive(request)  # as the script does for expanded rows after a whole table
        too_early = page.details.copy()
        page.drain()
        await trio.sleep(60)
        drained = page.drain()
        follower.receive(request)

        assert too_early == {}
        assert "table" in drained
        assert page.details["/default"]


async def test_a_failed_start_is_displayed_and_retried_for_the_next_page(client: dynkube.Client) -> None:
    @asynccontextmanager
    async def opening() -> AsyncIterator[Sources]:
        if unreachable:
            raise ConnectFailed("nothing there")
        async with opened(client) as sources:
            yield sources

    unreachable = [True]
    async with trio.open_nursery() as nursery:
        follower = Follower(opening, nursery.start_soon, now=now)
        page = attach(follower)
        await trio.sleep(1)
        found = (page.head["phase"], page.head["message"], follower.resting)
        unreachable.clear()

        follower.receive(HELLO)
        await trio.sleep(2)

        assert found == ("UNKNOWN", "nothing there", True)
        assert (page.head["phase"], len(page.rows)) == ("LIVE", 4)
        await follower.close()


async def test_a_page_that_opens_while_the_informer_closes_resumes_the_table(
    server: APIServer, client: dynkube.Client
) -> None:
    @asynccontextmanager
    async def opening() -> AsyncIterator[Sources]:
        async with opened(client) as sources:
            yield sources
            with trio.CancelScope(shield=True):  # like a connection that closes slowly
                await trio.sleep(5)

    async with trio.open_nursery() as nursery:
        follower = Follower(opening, nursery.start_soon, now=now)
        page = attach(follower)
        await trio.sleep(1)
        follower.receive(BYE)
        await trio.sleep(GRACE + 2)
        follower.receive({"kind": "hello", "page": "cell a", "stays": True})  # its only message
        server.create(namespace("new"))
        await trio.sleep(10)

        assert page.texts("Name")[-1] == ["new"]
        assert not follower.resting
        await follower.close()


async def test_a_table_that_rested_during_a_cell_rests_again_when_its_page_is_silent(
    client: dynkube.Client,
) -> None:
    async with table(client) as (follower, _):
        follower.cell_begins("")
        follower.receive(BYE)
        await trio.sleep(GRACE + 2)
        resting = follower.resting  # a resting table is not notified of cells, nor of the end of this one
        follower.receive(HELLO)
        await trio.sleep(SILENCE + GRACE + 4)

        assert (resting, follower.resting) == (True, True)


async def test_a_silent_page_counts_as_closed_after_a_while(client: dynkube.Client) -> None:
    async with table(client) as (follower, _):
        await trio.sleep(SILENCE - 10)
        follower.receive({"kind": "here", "page": "1"})
        await trio.sleep(SILENCE - 10)
        resting = follower.resting
        await trio.sleep(GRACE + 20)

        assert (resting, follower.resting) == (False, True)


async def test_while_a_cell_runs_a_silent_page_does_not_count_as_closed(
    server: APIServer, client: dynkube.Client
) -> None:
    async with table(client) as (follower, page):
        follower.cell_begins("")
        await trio.sleep(1_000)
        server.create(namespace("new"))
        await trio.sleep(2)
        during = page.texts("Name")
        follower.cell_ends()
        await trio.sleep(SILENCE - 2)
        after = follower.resting
        await trio.sleep(GRACE + 4)

        assert (["new"] in during, after, follower.resting) == (True, False, True)


async def test_pages_are_updated_while_a_cell_blocks_their_messages(server: APIServer, client: dynkube.Client) -> None:
    async with table(client, greet=False) as (follower, page):
        follower.cell_begins("")
        await trio.sleep(600)
        page.times.clear()

        server.create(namespace("new"))
        await trio.sleep(3)
        last = page.texts("Name")[-1]
        await trio.sleep(600)

        assert last == ["new"]
        assert set(page.drain()) == {"table"}
        assert len(page.times) <= 600 / 15 + 2  # without events only pulses


async def test_without_a_page_the_table_rests(client: dynkube.Client) -> None:
    async with table(client, greet=False) as (follower, _):
        await trio.sleep(GRACE + 2)

        assert (follower.resting, followed(client)) == (True, [])


async def test_a_static_output_counts_as_closed_when_its_cell_is_run_again(client: dynkube.Client) -> None:
    async with table(client, greet=False) as (follower, _):
        follower.receive({"kind": "hello", "page": "cell a", "stays": True})
        for cell in ("cell b", "", "cell c"):
            follower.cell_begins(cell)
            follower.cell_ends()
            await trio.sleep(1_000)
        before = follower.resting
        follower.cell_begins("cell a")
        follower.cell_ends()
        await trio.sleep(GRACE + 2)

        assert (before, follower.resting) == (False, True)


async def test_a_resting_table_can_be_closed(client: dynkube.Client) -> None:
    async with table(client) as (follower, page):
        follower.receive(BYE)
        await trio.sleep(2 * GRACE)

        await follower.close()
        follower.receive(HELLO)
        await trio.sleep(2)

        assert (page.head["phase"], page.head["following"], followed(client)) == ("STOPPED", False, [])
