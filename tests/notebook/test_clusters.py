"""A live table of several clusters: their rows together, and each cluster in its own state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube.notebook._audience import GRACE
from dynkube.notebook._columns import own_columns
from dynkube.notebook._follower import PERIOD, Follower
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, replace, widget
from tests.notebook.kit import Page, attach, now

CLUSTERS = ("east", "west")
SIZE = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}


class Clusters:
    """Servers and clients of clusters."""

    def __init__(self) -> None:
        self.servers: dict[str, APIServer] = {}
        self.clients: dict[str, dynkube.Client] = {}

    async def start(self, name: str, stack: AsyncExitStack) -> None:
        """Start a cluster, and connect to it."""
        settings = dynkube.InformerSettings(random=Random(7), linger=0)
        server = self.servers[name] = await stack.enter_async_context(APIServer())
        client = dynkube.connect(transport=server.transport(), settings=settings)
        self.clients[name] = await stack.enter_async_context(client)

    @asynccontextmanager
    async def table(self, **options: Any) -> AsyncIterator[Table]:
        """A table of the widgets of all clusters."""
        async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
            informers = {
                name: await stack.enter_async_context(client.informer(WIDGETS)) for name, client in self.clients.items()
            }
            follower = Follower(lambda: nullcontext(informers), nursery.start_soon, now=now, **options)
            page = attach(follower)
            follower.receive({"kind": "hello", "page": "1", "scrolls": True})
            await trio.sleep(4 * PERIOD)
            yield Table(follower, page, informers)
            await follower.close()


class Table:
    """A table of several clusters on a page."""

    def __init__(self, follower: Follower, page: Page, informers: dict[str, dynkube.Informer]) -> None:
        self.follower = follower
        self.page = page
        self.informers = informers

    async def ask(self, number: int, **question: Any) -> list[str]:
        """Ask for rows, and return their ids."""
        self.follower.receive({"kind": "view", "page": "1", "number": number, **question})
        await trio.sleep(4 * PERIOD)
        return self.page.order

    @property
    def state(self) -> tuple[str, str, str]:
        """The state in the header."""
        head = self.page.head
        return head["phase"], head["message"], head["counts"]


@pytest.fixture
async def clusters() -> AsyncIterator[Clusters]:
    async with AsyncExitStack() as stack:
        clusters = Clusters()
        for name in CLUSTERS:
            await clusters.start(name, stack)
        yield clusters


def fill(server: APIServer, *names: str, columns: tuple[dict[str, str], ...] = (), **spec: Any) -> None:
    """Install the CRD with printer columns, and create widgets."""
    definition = crd()
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = list(columns)
    server.create(definition)
    for name in names:
        server.create(widget(name, **spec))


async def test_rows_have_their_cluster_and_follow_its_changes(clusters: Clusters) -> None:
    east, west = clusters.servers["east"], clusters.servers["west"]
    fill(east, "a", "b", size=1)
    fill(west, "a", size=2)
    async with clusters.table(columns=own_columns({"size": "{.spec.size}"})) as table:
        first = (table.page.texts("Cluster", "Name", "size"), table.page.head["title"], table.state)

        replace(west, widget("a", size=3))
        east.delete("widgets", "b")
        await trio.sleep(2 * PERIOD)

        assert first == (
            [["east", "a", "1"], ["east", "b", "1"], ["west", "a", "2"]],
            "widgets.v1.example.com of 2 clusters",
            ("LIVE", "", "3 objects"),
        )
        assert table.page.texts("Cluster", "Name", "size") == [["east", "a", "1"], ["west", "a", "3"]]
        assert table.page.shown() == ["Cluster", "Name", "size", "Age"]


async def test_details_are_those_of_the_object_of_the_cluster(clusters: Clusters) -> None:
    for name in CLUSTERS:
        fill(clusters.servers[name], "a", of=name)
    async with clusters.table() as table:
        for row_id in ("west/default/a", "default/a", "north/default/a"):
            table.follower.receive({"kind": "details", "page": "1", "id": row_id})

        assert [*table.page.rows] == ["east/default/a", "west/default/a"]
        assert "west" in str(table.page.details["west/default/a"])
        assert (table.page.details["default/a"], table.page.details["north/default/a"]) == ([], [])


async def test_an_unreachable_cluster_is_named_and_keeps_its_rows(clusters: Clusters) -> None:
    for name in CLUSTERS:
        fill(clusters.servers[name], "a")
    async with clusters.table() as table:
        clusters.servers["west"].end_watches(how="cut")
        outage = clusters.servers["west"].refuse_connections()
        await trio.sleep(60)
        clusters.servers["east"].create(widget("b"))
        await trio.sleep(2 * PERIOD)
        degraded = table.state
        rows = table.page.texts("Cluster", "Name")
        outage.remove()
        await trio.sleep(120)

        assert (degraded[0], degraded[2]) == ("DEGRADED", "3 objects")
        assert degraded[1].startswith("west (1 of 2 clusters): ")
        assert rows == [["east", "a"], ["east", "b"], ["west", "a"]]
        assert table.state == ("LIVE", "", "3 objects")


async def test_a_cluster_that_was_never_reached_holds_up_no_other(clusters: Clusters) -> None:
    fill(clusters.servers["east"], "a")
    clusters.servers["west"].refuse_connections()
    async with clusters.table() as table:
        await trio.sleep(60)
        counts = table.state[2]
        table.follower.receive({"kind": "bye", "page": "1"})
        await trio.sleep(2 * GRACE)
        assert table.follower.resting

        clusters.servers["east"].create(widget("b"))
        table.follower.receive({"kind": "hello", "page": "1"})
        await trio.sleep(4 * PERIOD)

        assert (counts, table.state[2]) == ("1 object", "2 objects")
        assert table.page.texts("Cluster", "Name") == [["east", "a"], ["east", "b"]]


async def test_a_cluster_without_the_resource_is_left_out_until_it_has_it(clusters: Clusters) -> None:
    fill(clusters.servers["east"], "a")
    async with clusters.table() as table:
        without = table.state
        fill(clusters.servers["west"], "b")
        await trio.sleep(10)

        assert without == (
            "LIVE",
            "without the resource: west (1 of 2 clusters)",
            "1 object",
        )
        assert table.state == ("LIVE", "", "2 objects")
        assert table.page.texts("Cluster", "Name") == [["east", "a"], ["west", "b"]]


async def test_a_resource_that_no_cluster_has_is_absent(clusters: Clusters) -> None:
    async with clusters.table() as table:
        await trio.sleep(2)

        assert table.page.head["phase"] == "ABSENT"


async def test_printer_columns_are_those_of_all_clusters(clusters: Clusters) -> None:
    older = {**SIZE, "jsonPath": ".spec.oldSize"}
    note = {"name": "Note", "type": "string", "jsonPath": ".spec.note"}
    fill(clusters.servers["east"], "a", columns=(SIZE,), size=1)
    fill(clusters.servers["west"], "a", columns=(note, older), oldSize=2, note="x")
    async with clusters.table() as table:
        assert table.page.shown() == ["Cluster", "Name", "Size", "Note", "Age"]
        assert table.page.texts("Cluster", "Size", "Note") == [["east", "1", ""], ["west", "2", "x"]]


async def test_the_rows_of_a_closed_informer_go_and_those_of_the_last_one_stay(clusters: Clusters) -> None:
    for name in CLUSTERS:
        fill(clusters.servers[name], "a", "b")
    async with clusters.table() as table:
        await table.informers["west"].aclose()
        await trio.sleep(2 * PERIOD)
        one = (table.state, [*table.page.rows])
        await table.informers["east"].aclose()
        await trio.sleep(2 * PERIOD)

        assert one == (
            ("DEGRADED", "west (1 of 2 clusters): Closed", "2 objects"),
            ["east/default/a", "east/default/b"],
        )
        assert (table.page.head["following"], [*table.page.rows]) == (False, ["east/default/a", "east/default/b"])


async def test_a_table_that_rested_shows_the_clusters_whose_informer_is_open(clusters: Clusters) -> None:
    for name in CLUSTERS:
        fill(clusters.servers[name], "a")
    async with clusters.table() as table:
        table.follower.receive({"kind": "bye", "page": "1"})
        await trio.sleep(2 * GRACE)
        await table.informers["east"].aclose()
        table.follower.receive({"kind": "hello", "page": "1"})
        await trio.sleep(4 * PERIOD)

        assert table.page.texts("Cluster", "Name") == [["west", "a"]]
        assert table.state[1] == "east (1 of 2 clusters): Closed"


async def test_filters_are_named_with_their_cluster_if_they_differ(clusters: Clusters) -> None:
    async with clusters.table() as table:
        for informer in table.informers.values():
            informer.set_filter(dynkube.LabelFilter("a=b"))
        await trio.sleep(4)
        same = table.page.head["filter"]
        table.informers["east"].set_filter(None)
        await trio.sleep(4)

        assert (same, table.page.head["filter"]) == ("LabelFilter('a=b')", "west: LabelFilter('a=b')")


async def test_rows_of_all_clusters_are_searched_and_sorted(clusters: Clusters) -> None:
    for place, name in enumerate(CLUSTERS):
        fill(clusters.servers[name], *(f"w{number:03}" for number in range(70)), size=place)
    async with clusters.table(columns=own_columns({"size": "{.spec.size}"}), limit=5) as table:
        window = [*table.page.order]
        found = await table.ask(1, words=["west", "w01"])
        sorted_by_cluster = await table.ask(2, column="Cluster", down=True)
        sorted_by_size = await table.ask(3, column="size")

        assert (window[0], window[69:71]) == ("east/default/w000", ["east/default/w069", "west/default/w000"])
        assert found == [f"west/default/w{number:03}" for number in range(10, 20)]
        assert (sorted_by_cluster[0], sorted_by_size[:2]) == (
            "west/default/w069",
            ["east/default/w000", "east/default/w001"],
        )


async def test_the_rows_of_a_closed_informer_leave_a_search(clusters: Clusters) -> None:
    for name in CLUSTERS:
        fill(clusters.servers[name], *(f"w{number:03}" for number in range(130)))
    async with clusters.table(limit=5) as table:
        await table.ask(1, words=["w"])
        found = table.page.head["view"]["found"]
        await table.informers["east"].aclose()
        await trio.sleep(2 * PERIOD)

        assert (found, table.page.head["view"]["found"]) == (260, 130)
        assert table.page.order[0] == "west/default/w000"
