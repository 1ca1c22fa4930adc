"""F16 to F18, F20: history that was compacted, goes back, or is sent in pages."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import LIVE, Client
from dynkube_testing import APIServer, Cut, Refuse, Rewrite, rewrites
from tests.informers.folding import Subscription
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget


def lists_of(server: APIServer, resource: str = "widgets") -> list[Any]:
    return [r for r in server.requests if r.verb == "list" and r.resource and r.resource.resource == resource]


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


@pytest.mark.scenario("F17", "P13")
async def test_a_restored_backup_with_reused_revisions_is_followed(server: APIServer, client: Client) -> None:
    for name in ("kept", "changed", "deleted"):
        server.create(widget(name, n=1))
    backup = server.snapshot()
    replace(server, widget("changed", n=2))
    server.delete("widgets", "deleted")
    server.create(widget("created"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        assert len(await recorder.drain()) == 3

        server.restore(backup, rewind=True)
        await trio.sleep(400)

        assert sorted(await recorder.drain()) == ["add/deleted", "delete/created", "update/changed"]
        assert {obj.name: obj["spec"]["n"] for obj in widgets} == {"kept": 1, "changed": 1, "deleted": 1}
        replace(server, widget("changed", n=3))
        await quiet()
        assert await recorder.drain() == ["update/changed"]


@pytest.mark.scenario("F17", "P3", "P13")
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
async def test_a_restored_backup_with_later_revisions_is_followed_at_once(server: APIServer, streaming: bool) -> None:
    for name in ("kept", "changed", "deleted"):
        server.create(widget(name, n=1))
    backup = server.snapshot()
    replace(server, widget("changed", n=2))
    server.delete("widgets", "deleted")
    server.create(widget("created"))
    recorder = Recorder()
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=streaming)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        assert len(await recorder.drain()) == 3

        server.restore(backup)  # revisions continue; the objects have the versions of the backup
        await trio.sleep(60)

        assert sorted(await recorder.drain()) == ["add/deleted", "delete/created", "update/changed"]
        assert {obj.name: obj["spec"]["n"] for obj in widgets} == {"kept": 1, "changed": 1, "deleted": 1}
        replace(server, widget("changed", n=3))
        assert await recorder.drain() == ["update/changed"]


@pytest.mark.scenario("F17", "P3", "P13")
@pytest.mark.parametrize("silence", [90.0, 1000.0], ids=["silent", "ended"])
async def test_a_restored_backup_with_earlier_revisions_is_noticed_before_the_first_bookmark(
    server: APIServer, silence: float
) -> None:
    server.create(widget("a", n=1))
    backup = server.snapshot()
    replace(server, widget("a", n=2))
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False, watch_idle_timeout=silence)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        server.restore(backup, rewind=True)  # a watch from a later version gets nothing: no bookmark either
        await trio.sleep(settings.watch_timeout[1])

        assert [obj["spec"]["n"] for obj in widgets] == [1]
        assert widgets.statistics().reasons["ResourceVersionRegressed"] == 1


@pytest.mark.scenario("F17", "P2")
async def test_two_states_of_an_object_with_the_same_resource_version_are_an_update(
    server: APIServer, client: Client
) -> None:
    server.create(widget("a", n=1))
    backup = server.snapshot()
    replace(server, widget("a", n=2))
    server.create(widget("b"))
    values: list[int] = []
    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(
            on_add=lambda obj: None if obj.name == "b" else values.append(obj["spec"]["n"]),
            on_update=lambda old, new: values.append(new["spec"]["n"]),
        )
        await widgets.wait_state(LIVE)
        before = widgets.get("a", namespace="default")

        server.restore(backup, rewind=True)
        replace(server, widget("a", n=3))
        await trio.sleep(400)

        after = widgets.get("a", namespace="default")
        assert before is not None
        assert after is not None
        assert before.resource_version == after.resource_version
        assert values == [2, 3]


@pytest.mark.scenario("F17", "P3")
async def test_a_lagging_server_reverts_no_object(server: APIServer, client: Client) -> None:
    server.create(widget("a", n=1))
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)
        for number in range(5):
            replace(server, widget("a", n=number))
        await quiet()

        server.inject(Rewrite(rewrites.rewind(4)), verb="watch", resource="widgets", duration=300)
        server.end_watches("widgets", how="cut")
        replace(server, widget("a", n=9))
        await trio.sleep(200)

        assert [obj["spec"]["n"] for obj in widgets] == [9]
        assert subscription.wrong == []
        assert 1 <= len(lists_of(server)) <= 6


@pytest.mark.scenario("F17", "P3")
async def test_a_list_that_is_older_than_requested_is_rejected(server: APIServer, client: Client) -> None:
    server.create(widget("a", n=1))
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)
        replace(server, widget("a", n=2))
        await trio.sleep(30)

        server.inject(Refuse(410), verb="watch", resource="widgets", times=1)
        server.inject(Rewrite(rewrites.rewind(3)), verb="list", resource="widgets", times=1)
        server.end_watches("widgets", how="clean")
        replace(server, widget("a", n=3))
        await trio.sleep(10)

        assert [obj["spec"]["n"] for obj in widgets] == [3]
        assert (subscription.wrong, widgets.state.phase) == ([], LIVE)
        assert ["resourceVersion" in request.params for request in lists_of(server)] == [True, False]


@pytest.mark.scenario("F16", "F18")
@pytest.mark.parametrize("effect", [Refuse(410), Rewrite(rewrites.expired, skip=1, times=1)], ids=["status", "event"])
async def test_a_410_during_a_streaming_list_leads_to_one_plain_list(
    server: APIServer, client: Client, effect: Any
) -> None:
    for name in ("a", "b", "c"):
        server.create(widget(name))
    server.inject(effect, verb="watch", resource="widgets", times=1)
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)
        await quiet()

        assert names(widgets.list()) == ["a", "b", "c"]
        assert (len(lists_of(server)), subscription.wrong, set(subscription.event_counts.values())) == (1, [], {1})


@pytest.mark.scenario("F18")
async def test_a_broken_stream_does_not_disable_streaming_lists_that_have_worked_before(
    server: APIServer, client: Client
) -> None:
    for plural in ("gadgets", "gizmos"):
        server.create(crd(plural))
    server.create(widget("a"))
    async with client.informer("gadgets.v1.example.com") as gadgets:
        await gadgets.wait_state(LIVE)
        server.inject(Cut("clean"), verb="watch", resource="widgets", times=1)  # as from a server that shuts down
        async with client.informer(WIDGETS) as widgets, client.informer("gizmos.v1.example.com") as gizmos:
            await widgets.wait_state(LIVE)
            await gizmos.wait_state(LIVE)

            assert names(widgets.list()) == ["a"]
            assert (len(lists_of(server)), len(lists_of(server, "gizmos"))) == (1, 0)


@pytest.mark.scenario("F20", "F16")
async def test_a_continue_token_that_expires_costs_one_full_list_and_loses_no_object(server: APIServer) -> None:
    for number in range(250):
        server.create(widget(f"w{number}"))
    settings = dynkube.InformerSettings(random=Random(7), page_size=20, streaming_lists=False)
    server.inject(Refuse(410), verb="watch", resource="widgets", times=1)
    expired = server.inject(Refuse(410), verb="list", resource="widgets", skip=4, times=1)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        assert len(widgets) == 250
        params = [sorted(request.params) for request in lists_of(server)]
        assert params[2:] == [["continue", "limit"]] * 3 + [[]], "the first list is from a cache, and has no pages"
        assert expired.hits == 1


@pytest.mark.scenario("F20", "P13")
async def test_a_watch_that_is_cut_repeatedly_under_load_loses_no_event(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets, pause=0.5)
        await widgets.wait_state(LIVE)
        await trio.sleep(15)
        for number in range(600):
            server.create(widget(f"w{number}"))
            if number % 100 == 99:
                server.end_watches("widgets", how="reset")
                await trio.sleep(15)
        await trio.sleep(600)

        assert len(widgets) == len(subscription.folded) == 600
        assert (subscription.wrong, set(subscription.event_counts.values()), lists_of(server)) == ([], {1}, [])
