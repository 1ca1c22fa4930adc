"""F16 to F18, F20: a history that is gone, goes back, or is told in pieces."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import LIVE, Client
from dynkube.testing import APIServer, Cut, Refuse, Rewrite, rewrites
from tests.informers.folding import Subscription
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, replace, widget


def lists_of(server: APIServer, resource: str = "widgets") -> list[Any]:
    return [r for r in server.requests if r.verb == "list" and r.resource and r.resource.resource == resource]


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


@pytest.mark.scenario("F17", "P13")
async def test_a_backup_that_was_restored_is_followed_although_numbers_come_again(
    server: APIServer, client: Client
) -> None:
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
async def test_a_backup_that_was_restored_with_later_revisions_is_followed_at_once(
    server: APIServer, streaming: bool
) -> None:
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

        server.restore(backup)  # the count of revisions goes on, the objects have the versions of the backup
        await trio.sleep(60)

        assert sorted(await recorder.drain()) == ["add/deleted", "delete/created", "update/changed"]
        assert {obj.name: obj["spec"]["n"] for obj in widgets} == {"kept": 1, "changed": 1, "deleted": 1}
        replace(server, widget("changed", n=3))
        assert await recorder.drain() == ["update/changed"]


@pytest.mark.scenario("F17", "P3", "P13")
@pytest.mark.parametrize("silence", [90.0, 1000.0], ids=["silent", "ended"])
async def test_a_backup_with_earlier_revisions_is_noticed_before_the_first_bookmark(
    server: APIServer, silence: float
) -> None:
    server.create(widget("a", n=1))
    backup = server.snapshot()
    replace(server, widget("a", n=2))
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False, watch_idle_timeout=silence)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        server.restore(backup, rewind=True)  # a watch from a later version is silent: no bookmark either
        await trio.sleep(settings.watch_timeout[1])

        assert [obj["spec"]["n"] for obj in widgets] == [1]
        assert widgets.statistics().reasons["ResourceVersionRegressed"] == 1


@pytest.mark.scenario("F17", "P2")
async def test_one_version_of_one_object_in_two_pasts_is_told_as_a_change(server: APIServer, client: Client) -> None:
    server.create(widget("a", n=1))
    backup = server.snapshot()
    replace(server, widget("a", n=2))
    server.create(widget("b"))
    seen: list[int] = []
    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(
            on_add=lambda obj: None if obj.name == "b" else seen.append(obj["spec"]["n"]),
            on_update=lambda old, new: seen.append(new["spec"]["n"]),
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
        assert seen == [2, 3]


@pytest.mark.scenario("F17", "P3")
async def test_a_server_that_lags_takes_nothing_back(server: APIServer, client: Client) -> None:
    server.create(widget("a", n=1))
    async with client.informer(WIDGETS) as widgets:
        told = Subscription(widgets)
        await widgets.wait_state(LIVE)
        for number in range(5):
            replace(server, widget("a", n=number))
        await quiet()

        server.inject(Rewrite(rewrites.rewind(4)), verb="watch", resource="widgets", duration=300)
        server.end_watches("widgets", how="cut")
        replace(server, widget("a", n=9))
        await trio.sleep(200)

        assert [obj["spec"]["n"] for obj in widgets] == [9]
        assert told.wrong == []
        assert 1 <= len(lists_of(server)) <= 6


@pytest.mark.scenario("F17", "P3")
async def test_a_list_that_is_older_than_asked_for_is_not_believed(server: APIServer, client: Client) -> None:
    server.create(widget("a", n=1))
    async with client.informer(WIDGETS) as widgets:
        told = Subscription(widgets)
        await widgets.wait_state(LIVE)
        replace(server, widget("a", n=2))
        await trio.sleep(30)

        server.inject(Refuse(410), verb="watch", resource="widgets", times=1)
        server.inject(Rewrite(rewrites.rewind(3)), verb="list", resource="widgets", times=1)
        server.end_watches("widgets", how="clean")
        replace(server, widget("a", n=3))
        await trio.sleep(10)

        assert [obj["spec"]["n"] for obj in widgets] == [3]
        assert (told.wrong, widgets.state.phase) == ([], LIVE)
        assert ["resourceVersion" in request.params for request in lists_of(server)] == [True, False]


@pytest.mark.scenario("F16", "F18")
@pytest.mark.parametrize("effect", [Refuse(410), Rewrite(rewrites.expired, skip=1, times=1)], ids=["status", "event"])
async def test_410_while_a_list_is_streamed_leads_to_one_plain_list(
    server: APIServer, client: Client, effect: Any
) -> None:
    for name in ("a", "b", "c"):
        server.create(widget(name))
    server.inject(effect, verb="watch", resource="widgets", times=1)
    async with client.informer(WIDGETS) as widgets:
        told = Subscription(widgets)
        await widgets.wait_state(LIVE)
        await quiet()

        assert names(widgets.list()) == ["a", "b", "c"]
        assert (len(lists_of(server)), told.wrong, set(told.told.values())) == (1, [], {1})


@pytest.mark.scenario("F18")
async def test_a_server_known_to_stream_lists_is_believed_although_one_stream_broke_off(
    server: APIServer, client: Client
) -> None:
    for plural in ("gadgets", "gizmos"):
        server.create(crd(plural))
    server.create(widget("a"))
    async with client.informer("gadgets.v1.example.com") as gadgets:
        await gadgets.wait_state(LIVE)
        server.inject(Cut("clean"), verb="watch", resource="widgets", times=1)  # a server that shuts down
        async with client.informer(WIDGETS) as widgets, client.informer("gizmos.v1.example.com") as gizmos:
            await widgets.wait_state(LIVE)
            await gizmos.wait_state(LIVE)

            assert names(widgets.list()) == ["a"]
            assert (len(lists_of(server)), len(lists_of(server, "gizmos"))) == (1, 0)


@pytest.mark.scenario("F20", "F16")
async def test_a_page_that_expires_in_the_middle_costs_one_whole_list_and_nothing_is_lost(server: APIServer) -> None:
    for number in range(250):
        server.create(widget(f"w{number}"))
    settings = dynkube.InformerSettings(random=Random(7), page_size=20, streaming_lists=False)
    server.inject(Refuse(410), verb="watch", resource="widgets", times=1)
    expired = server.inject(Refuse(410), verb="list", resource="widgets", skip=4, times=1)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        assert len(widgets) == 250
        asked = [sorted(request.params) for request in lists_of(server)]
        assert asked[2:] == [["continue", "limit"]] * 3 + [[]], "the first list is from a cache, and has no pages"
        assert expired.hits == 1


@pytest.mark.scenario("F20", "P13")
async def test_a_watch_that_is_dropped_again_and_again_under_load_loses_nothing(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS) as widgets:
        told = Subscription(widgets, pause=0.5)
        await widgets.wait_state(LIVE)
        await trio.sleep(15)
        for number in range(600):
            server.create(widget(f"w{number}"))
            if number % 100 == 99:
                server.end_watches("widgets", how="reset")
                await trio.sleep(15)
        await trio.sleep(600)

        assert len(widgets) == len(told.folded) == 600
        assert (told.wrong, set(told.told.values()), lists_of(server)) == ([], {1}, [])
