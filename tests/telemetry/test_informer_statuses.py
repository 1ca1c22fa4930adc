"""F40: the state of every informer of a client in one table, and the statistics of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import trio

from dynkube import ABSENT, DEGRADED, LIVE, Client, Unstructured, connect
from dynkube.errors import ClosedError
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet, replace, widget

pytestmark = pytest.mark.scenario("F40")


async def test_each_informer_is_listed_with_its_selectors_and_state(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))

    async with (
        client.informer(WIDGETS, label_selector="app in (a,b)", namespace="default") as selected,
        client.informer("gadgets.v1.example.com") as absent,
    ):
        await selected.wait_state(LIVE)
        await absent.wait_state(ABSENT)
        widgets, gadgets = client.informers()

    assert (str(widgets.gvr), widgets.namespace, widgets.label_selector) == (WIDGETS, "default", "app in (a,b)")
    assert (widgets.state.phase, widgets.state.reason, widgets.objects) == (LIVE, "Watching", 0)
    assert (gadgets.state.phase, gadgets.state.reason, gadgets.namespace) == (ABSENT, "CRDNotFound", None)
    assert "no CRD gadgets.example.com is installed" in gadgets.state.message


async def test_informers_that_share_a_watch_are_one_entry_with_all_its_users(server: APIServer, client: Client) -> None:
    async with client.informer("pods.v1") as one, client.informer("pods.v1") as other:
        await one.wait_state(LIVE)
        one.add_handler(on_add=print)
        async with other.events():
            await quiet()
            (pods,) = client.informers()

    assert (pods.users, pods.handlers, pods.lists + pods.watches, pods.restarts) == (2, 2, 1, 0)
    assert client.informers() == ()


async def test_a_failure_is_shown_with_its_reason_its_time_and_its_count(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(10)
        server.fail(resource="widgets", status=500)
        server.end_watches("widgets")
        await widgets.wait_state(DEGRADED)
        await trio.sleep(60)

        (status,) = client.informers()

        assert (status.state.reason, status.state.phase) == ("InternalError", DEGRADED)
        assert status.failures >= 4
        assert status.restarts >= 2
        assert status.lag is not None
        assert status.lag > 60
        assert "500 InternalError" in status.last_error
        assert widgets.statistics().reasons == {"InternalError": status.failures}


async def test_the_backlog_is_the_sum_of_all_handlers(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        async def slow(obj: Unstructured) -> None:
            await trio.sleep(100)

        widgets.add_handler(on_add=slow)
        for name in "abc":
            server.create(widget(name))
        await trio.sleep(1)

        (status,) = client.informers()
        assert status.backlog == 2


async def test_the_list_prints_as_a_table(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS, namespace="shop") as widgets, client.informer("gadgets.v1.example.com"):
        await widgets.wait_state(LIVE)
        await quiet()
        statuses = client.informers()

    head, first, second = str(statuses).splitlines()
    assert head.split()[:4] == ["RESOURCE", "NAMESPACE", "SELECTORS", "PHASE"]
    assert first.split()[:4] == [WIDGETS, "shop", "LIVE", "Watching"]
    assert second.split()[:4] == ["gadgets.v1.example.com", "*", "ABSENT", "CRDNotFound"]
    assert statuses._repr_html_().count("<tr>") == 3
    assert str(statuses[0]).startswith(f"{WIDGETS}  shop  LIVE  Watching")


async def test_the_html_escapes_errors(server: APIServer, client: Client) -> None:
    server.fail(resource="pods", status=502, body=b"<script>alert(1)</script>", content_type="text/plain")

    async with client.informer("pods.v1") as pods:
        await pods.wait_state(DEGRADED)
        statuses = client.informers()

    assert "alert(1)" in statuses[0].last_error
    assert "<script>" not in statuses._repr_html_()


@pytest.mark.real_time
async def test_informers_and_statistics_may_be_called_on_any_thread(server: APIServer, client: Client) -> None:
    async with client.informer("pods.v1") as pods:
        await pods.wait_state(LIVE)

        (status,) = await trio.to_thread.run_sync(client.informers)
        statistics = await trio.to_thread.run_sync(pods.statistics)

    assert status.lag is not None
    assert statistics.lag is not None


async def test_informers_of_a_closed_client_raises(server: APIServer) -> None:
    async with connect(transport=server.transport()) as client:
        pass

    with pytest.raises(ClosedError, match="the client is closed"):
        client.informers()


async def test_last_event_does_not_count_bookmarks(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.create(widget("a"))
        await trio.sleep(600)

        statistics = widgets.statistics()

        assert statistics.bookmarks >= 9
        assert statistics.lag is not None
        assert statistics.lag < 60
        assert statistics.last_event is not None
        age = datetime.now(UTC) - statistics.last_event
        assert timedelta(seconds=599) < age < timedelta(seconds=660)


async def test_the_statistics_of_a_handler_count_skipped_events_and_time(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))

    async def slow(obj: Unstructured) -> None:
        await trio.sleep(20)

    async with client.informer(WIDGETS) as widgets:
        handle = widgets.add_handler(on_add=slow, on_update=lambda old, new: None)
        await widgets.wait_state(LIVE)
        for number in range(5):
            await trio.sleep(1)
            replace(server, widget("a", n=number))
        await trio.sleep(30)

        numbers = handle.statistics()
        assert (numbers.handled, numbers.coalesced, numbers.seconds, numbers.longest) == (2, 4, 20, 20)
