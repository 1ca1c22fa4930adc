"""Of more rows than a page holds it gets a window, which follows scrolling, sorting, searching and changes."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

import dynkube
from dynkube.informers._slices import Slices
from dynkube.meta import Added, Deleted, Updated
from dynkube.notebook._columns import ColumnSource, columns_for, own_columns
from dynkube.notebook._follower import PERIOD, Follower
from dynkube.notebook._ranking import Wish
from dynkube.notebook._view import Asked, TableView
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet, replace, widget
from tests.notebook.kit import Page, Selection, attach, follow, now, obj

ROWS = 100  # of a window
OBJECTS = 350


class Scrolled:
    """A page that can scroll."""

    def __init__(self, follower: Follower, page: Page) -> None:
        self.follower = follower
        self.page = page
        self.number = 0

    async def ask(self, **question: Any) -> None:
        """Ask for something, and wait until it is shown."""
        self.number += 1
        self.follower.receive({"kind": "view", "page": "1", "number": self.number, **question})
        await trio.sleep(2 * PERIOD)

    @property
    def view(self) -> dict[str, Any]:
        """Where the rows are."""
        view: dict[str, Any] = self.page.head["view"]
        return view

    @property
    def names(self) -> list[str]:
        """The names of the rows, in their order."""
        return [row_id.split("/")[1] for row_id in self.page.order]


@asynccontextmanager
async def scrolled(server: APIServer, client: dynkube.Client, **columns: ColumnSource) -> AsyncIterator[Scrolled]:
    """A table of widgets w000 ... w349, whose sizes descend."""
    server.create(crd())
    for number in range(OBJECTS):
        server.create(widget(f"w{number:03}", size=1_000 - number, note=f"note-{number % 50}x"))
    async with client.informer(WIDGETS) as informer, trio.open_nursery() as nursery:
        follower = follow(informer, nursery, columns=own_columns(columns), limit=5, now=now)
        page = attach(follower)
        follower.receive({"kind": "hello", "page": "1", "scrolls": True})
        await trio.sleep(4 * PERIOD)
        yield Scrolled(follower, page)
        await follower.close()


def w(first: int, count: int = ROWS) -> list[str]:
    """Return the names of widgets from ``first`` on."""
    return [f"w{number:03}" for number in range(first, first + count)]


async def test_a_page_gets_the_window_that_it_was_scrolled_to(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        first = table.names
        await table.ask(first=120)
        second = table.names
        await table.ask(first=9_999)

        assert (first, second, table.names) == (w(0), w(120), w(OBJECTS - ROWS))
        assert (table.page.head["counts"], table.view["found"]) == ("350 objects", OBJECTS)
        assert len(table.page.rows) == ROWS


async def test_only_rows_that_the_page_does_not_have_are_sent(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        table.page.drain()
        await table.ask(first=30)

        (message,) = [each for each in table.page.messages if each["kind"] == "delta"]
        assert (len(message["add"]), len(message["drop"])) == (30, 30)


async def test_scrolling_is_answered_soon(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        table.page.times.clear()
        start = trio.current_time()
        await table.ask(first=100)

        assert table.page.times[0] - start <= 0.06


async def test_rows_stay_in_place_when_others_come_and_go_above(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        await table.ask(first=150)
        server.create(widget("a1"))
        server.create(widget("a2"))
        server.delete("widgets", "w007")
        await trio.sleep(2 * PERIOD)

        assert (table.names, table.view["first"]) == (w(150), 151)


async def test_at_the_top_new_rows_are_shown(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        server.create(widget("a1"))
        await trio.sleep(2 * PERIOD)

        assert (table.names, table.view["first"]) == (["a1", *w(0, ROWS - 1)], 0)


async def test_all_objects_are_searched(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client, note="{.spec.note}", length=lambda obj: f"is {len(obj.name)}") as table:
        await table.ask(words=["w03"])
        by_name = table.names
        await table.ask(words=["note-7x", "is"])
        by_cells = table.names
        await table.ask(words=["metadata"])

        assert by_name == w(30, 10)
        assert by_cells == [f"w{number:03}" for number in range(7, OBJECTS, 50)]
        assert (table.names, table.view["found"], table.view["done"]) == ([], 0, 1)  # in the JSON, and in no cell


async def test_a_search_follows_changes(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client, note="{.spec.note}") as table:
        await table.ask(words=["note-7x"])
        replace(server, widget("w001", size=1, note="note-7x"))
        replace(server, widget("w007", size=1, note="other"))
        server.delete("widgets", "w057")
        server.create(widget("w999", note="NOTE-7X"))
        await trio.sleep(2 * PERIOD)

        assert table.names == ["w001", "w107", "w157", "w207", "w257", "w307", "w999"]


@pytest.mark.parametrize("down", [False, True])
async def test_rows_are_sorted_by_a_column_and_move_when_it_changes(
    server: APIServer, client: dynkube.Client, down: bool
) -> None:
    async with scrolled(server, client, size="{.spec.size}") as table:
        await table.ask(column="size", down=down)
        before = table.names[:3]
        replace(server, widget("w100", size=[1, 5_000][down]))
        await trio.sleep(2 * PERIOD)

        assert before == (["w000", "w001", "w002"] if down else ["w349", "w348", "w347"])
        assert table.names[:3] == (["w100", "w000", "w001"] if down else ["w100", "w349", "w348"])
        assert len(table.names) == ROWS


async def test_a_search_that_is_changed_ends_the_last_one(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        for words in (["w"], ["w0"], ["w01"], ["w012"]):
            table.number += 1
            table.follower.receive({"kind": "view", "page": "1", "number": table.number, "words": words})
        await trio.sleep(2 * PERIOD)
        one = table.names
        await table.ask(words=[])

        assert (one, table.names) == (["w012"], w(0))


async def test_a_second_page_shows_what_the_first_one_does(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        await table.ask(first=120, top=140)
        table.follower.receive({"kind": "hello", "page": "2", "scrolls": True})
        await trio.sleep(2 * PERIOD)

        assert (table.names, table.view["asked"]["page"], table.view["asked"]["top"]) == (w(120), "1", 140)


@pytest.mark.parametrize("question", [{"first": "x"}, {"words": "w01"}, {"words": [7, ""]}, {"column": "none"}])
async def test_an_invalid_question_has_the_defaults(
    server: APIServer, client: dynkube.Client, question: dict[str, Any]
) -> None:
    async with scrolled(server, client) as table:
        await table.ask(**question)

        assert table.names == w(0)


async def test_few_rows_are_all_on_the_page(server: APIServer, client: dynkube.Client) -> None:
    async with scrolled(server, client) as table:
        for name in w(0, OBJECTS - ROWS):
            server.delete("widgets", name)
        await trio.sleep(4 * PERIOD)

        assert (table.page.head["view"], len(table.page.rows)) == (None, ROWS)


async def test_a_search_of_many_steps_has_no_outdated_rows() -> None:
    selection, ticks = Selection(), itertools.count()
    for name in w(0, 200):
        selection.fold(Added(obj(name, note="found")))
    view = TableView(selection, 1, Asked(wish=Wish(words=("found",))))
    columns = columns_for(own_columns({"note": "{.note}"}), {})

    def change_others() -> None:
        if selection.get(("", "default", "w100")) is None:
            return
        selection.fold(Deleted(obj("w100")))
        selection.fold(Updated(obj("w101"), obj("w101", version=2, note="other")))

    view.window(columns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.keep_ranked, Slices(lambda: next(ticks)), change_others)  # a checkpoint for each object
        await quiet()
        nursery.cancel_scope.cancel()

    _, head = view.window(columns)
    assert (head and head.found, head and head.done) == (198, 1)


async def test_a_search_that_is_given_up_leaves_no_progress() -> None:
    selection, ticks = Selection(), itertools.count()
    for name in w(0, 200):
        selection.fold(Added(obj(name, note="found")))
    view = TableView(selection, 1, Asked(wish=Wish(words=("found",))))
    columns = columns_for(own_columns({"note": "{.note}"}), {})

    def clear_the_search() -> None:
        view.ask(Asked(number=2))

    view.window(columns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(view.keep_ranked, Slices(lambda: next(ticks)), clear_the_search)
        await quiet()
        nursery.cancel_scope.cancel()

    _, head = view.window(columns)
    assert (head and head.found, head and head.done) == (200, 1)
