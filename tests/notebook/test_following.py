"""A live table follows its informer's objects, filter and state, with at most four updates per second."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

import dynkube
from dynkube.notebook._columns import own_columns
from dynkube.notebook._follower import PERIOD, Follower
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, namespace, pod, quiet, replace, widget
from tests.notebook.kit import Page, attach, follow, now


@asynccontextmanager
async def followed(
    client: dynkube.Client, resource: str, *, limit: int = 200, **columns: str
) -> AsyncIterator[tuple[dynkube.Informer, Follower, Page]]:
    async with client.informer(resource) as informer, trio.open_nursery() as nursery:
        follower = follow(informer, nursery, columns=own_columns(columns), limit=limit, now=now)
        page = attach(follower)
        follower.begin()
        await trio.sleep(2 * PERIOD)
        yield informer, follower, page
        await follower.close()


async def test_rows_follow_created_changed_and_deleted_objects(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a", size=1))
    async with followed(client, WIDGETS, size="{.spec.size}") as (_, _, page):
        first = page.texts("Name", "size")

        server.create(widget("b", size=2))
        replace(server, widget("a", size=9))
        await trio.sleep(2 * PERIOD)
        second = page.texts("Name", "size")
        server.delete("widgets", "a")
        await trio.sleep(2 * PERIOD)

        assert (first, second, page.texts("Name")) == ([["a", "1"]], [["a", "9"], ["b", "2"]], [["b"]])


async def test_many_changes_cause_four_updates_per_second(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with followed(client, WIDGETS, size="{.spec.size}") as (_, _, page):
        page.times.clear()
        start = trio.current_time()

        for number in range(200):
            replace(server, widget("a", size=number))
            await trio.sleep(0.01)
        await trio.sleep(PERIOD)

        sent = [when for when in page.times if when - start <= 2]
        assert len(sent) <= 2 / PERIOD + 1
        assert page.texts("size") == [["199"]]


async def test_without_events_only_pulses_are_sent(server: APIServer, client: dynkube.Client) -> None:
    async with followed(client, "namespaces") as (_, _, page):
        page.drain()

        await trio.sleep(40)

        assert page.drain() == ["pulse", "pulse"]


async def test_an_absent_resource_becomes_a_table_when_it_is_installed(
    server: APIServer, client: dynkube.Client
) -> None:
    async with followed(client, WIDGETS) as (_, _, page):
        absent = page.head

        crd_body = crd()
        crd_body["spec"]["versions"][0]["additionalPrinterColumns"] = [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
        ]
        server.create(crd_body)
        server.create(widget("a", size=3))
        await trio.sleep(3)

        assert (absent["phase"], absent["message"]) == ("ABSENT", "no CRD widgets.example.com is installed")
        assert (page.head["phase"], page.head["tone"], page.texts("Name", "Size")) == ("LIVE", "good", [["a", "3"]])
        assert page.shown() == ["Name", "Size", "Age"]


async def test_deleting_the_crd_removes_the_rows(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with followed(client, WIDGETS) as (_, _, page):
        server.delete("customresourcedefinitions", "widgets.example.com")
        await trio.sleep(3)

        assert (page.rows, page.head["phase"]) == ({}, "ABSENT")


async def test_another_filter_adds_and_removes_rows(server: APIServer, client: dynkube.Client) -> None:
    for name, labels in [("a", {"team": "x"}), ("b", {"team": "y"})]:
        server.create(namespace(name, labels))
    async with followed(client, "namespaces") as (informer, _, page):
        every = page.head["counts"]

        informer.set_filter(dynkube.LabelFilter("team=y"))
        await trio.sleep(2 * PERIOD)

        assert every == "6 objects"
        assert page.texts("Name") == [["b"]]
        assert (page.head["counts"], page.head["filter"]) == ("1 of 6 objects", "LabelFilter('team=y')")


async def test_a_new_filter_is_displayed_even_if_no_row_changes(client: dynkube.Client) -> None:
    async with followed(client, "pods") as (informer, _, page):
        informer.set_filter(dynkube.LabelFilter("a=b"))
        await trio.sleep(1.5)

        assert page.head["filter"] == "LabelFilter('a=b')"


async def test_of_many_objects_the_first_are_displayed_with_the_count(
    server: APIServer, client: dynkube.Client
) -> None:
    for number in range(12):
        server.create(pod(f"p{number:02}", ["default", "kube-system"][number % 2]))
    async with followed(client, "pods", limit=7) as (_, _, page):
        assert page.head["counts"] == "7 of 12 shown"
        assert page.texts("Namespace", "Name")[5:] == [["default", "p10"], ["kube-system", "p01"]]
        assert page.shown() == ["Namespace", "Name", "Status", "Age"]

        server.delete("pods", "p00", "default")
        await trio.sleep(2 * PERIOD)

        assert page.texts("Name")[5:] == [["p01"], ["p03"]]


async def test_closing_the_informer_ends_the_table_and_keeps_the_rows(
    server: APIServer, client: dynkube.Client
) -> None:
    async with followed(client, "namespaces") as (informer, follower, page):
        await informer.aclose()
        await quiet()

        assert (page.head["phase"], page.head["following"], len(page.rows)) == ("STOPPED", False, 4)
        assert page.drain()[-1] == "delta"
        assert (await follower.look()).rows == follower.picture.rows


async def test_closing_the_table_does_not_stop_the_informer(server: APIServer, client: dynkube.Client) -> None:
    async with followed(client, "namespaces") as (informer, follower, page):
        await follower.close()
        await follower.close()

        assert (page.head["following"], page.head["phase"]) == (False, "STOPPED")
        assert informer.state.phase is dynkube.LIVE
        assert [s.name for s in informer.statistics().handlers] == []


async def test_a_table_of_a_closed_informer_is_empty_and_ends(client: dynkube.Client) -> None:
    informer = client.informer("pods")
    await informer.aclose()
    async with trio.open_nursery() as nursery:
        follower = follow(informer, nursery, now=now)
        page = attach(follower, greet=False)

        follower.begin()

    assert (page.head["phase"], page.head["following"]) == ("STOPPED", False)


@pytest.mark.parametrize("gone", ["closed", "open"])
async def test_updates_are_sent_only_while_a_page_is_open(server: APIServer, client: dynkube.Client, gone: str) -> None:
    async with followed(client, "namespaces") as (_, follower, page):
        if gone == "closed":
            follower.receive({"kind": "bye", "page": "1"})
        page.drain()

        server.create(namespace("new"))
        await trio.sleep(20)

        assert (page.drain(), len(page.rows)) == (([], 4) if gone == "closed" else (["delta", "pulse"], 5))
        follower.receive({"kind": "hello", "page": "2"})
        await trio.sleep(2 * PERIOD)
        assert ["new"] in page.texts("Name")


async def test_until_a_page_says_hello_whole_tables_are_sent(client: dynkube.Client) -> None:
    async with client.informer("namespaces") as informer, trio.open_nursery() as nursery:
        follower = follow(informer, nursery, now=now)
        page = attach(follower, greet=False)
        follower.begin()

        await trio.sleep(60)

        assert set(page.drain()) == {"table"}
        await follower.close()


async def test_details_are_sent_on_request(server: APIServer, client: dynkube.Client) -> None:
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "stringData": {"pin": "hunter2"}}
    server.create({**secret, "metadata": {"name": "s", "namespace": "default"}})
    async with followed(client, "secrets") as (_, follower, page):
        follower.receive({"kind": "details", "id": "default/s"})
        follower.receive({"kind": "details", "id": "default/gone"})
        follower.receive({"kind": "nonsense", "id": 7})

        sections = {block.get("section") for block in page.details["default/s"]}
        assert {"data", "metadata"} <= sections
        assert "hunter2" not in str(page.messages)
        assert "aHVudGVyMg" not in str(page.messages)
        assert page.details["default/gone"] == []


async def test_a_picture_that_takes_long_is_consistent(server: APIServer, client: dynkube.Client) -> None:
    for number in range(60):
        server.create(pod(f"p{number:02}", "kube-system"))
    async with client.informer("pods") as informer, trio.open_nursery() as nursery:

        def fail(obj: dynkube.Unstructured) -> None:
            if obj.name == "p00":  # in the middle of the picture
                informer.set_filter(lambda obj: obj.name > "p30")

        every_row_takes_long = itertools.count().__next__
        columns = own_columns({"x": fail})
        follower = follow(informer, nursery, columns=columns, now=now, cpu_clock=every_row_takes_long)
        page = attach(follower)
        follower.begin()
        await trio.sleep(4 * PERIOD)

        counts = [(head["shown"], head["matching"]) for message in page.messages if (head := message.get("head"))]
        assert {shown - matching for shown, matching in counts} == {0}
        assert counts[-1] == (29, 29)
        await follower.close()


async def test_only_displayed_objects_are_read_and_only_once(server: APIServer, client: dynkube.Client) -> None:
    for number in range(300):
        server.create(pod(f"p{number:03}", "kube-system"))
    read: list[str] = []
    async with client.informer("pods") as informer, trio.open_nursery() as nursery:
        columns = own_columns({"x": lambda obj: read.append(obj.name)})
        follower = follow(informer, nursery, columns=columns, limit=20, now=now)
        page = attach(follower)
        follower.begin()
        await trio.sleep(4 * PERIOD)
        first = sorted(read)
        read.clear()

        for name in ("p007", "p250"):
            stored = server.get("pods", name, "kube-system")
            server.update({**stored, "metadata": {**stored["metadata"], "labels": {"a": "b"}}})
        await trio.sleep(4 * PERIOD)

        assert page.head["counts"] == "20 of 300 shown"
        assert (first, read) == ([f"p{number:03}" for number in range(20)], ["p007"])
        await follower.close()
