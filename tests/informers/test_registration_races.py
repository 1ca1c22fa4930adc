"""G5, G6, G8: handlers and indexes that are added at any moment while a resource is created or deleted."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
import trio

from dynkube import ABSENT, LIVE, Client, Informer, Unstructured
from dynkube_testing import APIServer
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget

ROUNDS, EACH = 50, 20


async def subscribe_at_any_moment(informer: Informer, random: Random, subscribed: list[Subscription]) -> None:
    """Add a handler and an index, after a random number of steps of the scheduler."""
    for _ in range(random.randrange(60)):
        await trio.lowlevel.checkpoint()
    subscribed.append(Subscription(informer))
    informer.add_index(f"n{len(subscribed)}", "{.spec.n}")


@pytest.mark.scenario("G5", "F29", "P2")
async def test_handlers_and_indexes_added_while_the_resource_is_created_miss_nothing(
    server: APIServer, client: Client
) -> None:
    random = Random(5)
    for number in range(ROUNDS):
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_state(ABSENT)
            subscribed: list[Subscription] = []
            async with trio.open_nursery() as nursery:
                for _ in range(EACH):
                    nursery.start_soon(subscribe_at_any_moment, widgets, random, subscribed)
                server.create(crd())
                for name in ("a", "b", "c"):
                    server.create(widget(name, n=number))
            await widgets.wait_state(LIVE)
            await quiet()

            assert [names(one.folded.values()) for one in subscribed] == [["a", "b", "c"]] * EACH
            assert {(*one.wrong, *one.event_counts.values()) for one in subscribed} == {(1, 1, 1)}
            assert {len(widgets.by_index(f"n{i + 1}", str(number))) for i in range(EACH)} == {3}
            server.delete(CRDS, "widgets.example.com")
            await widgets.wait_state(ABSENT)
            await quiet()
            assert [one.folded for one in subscribed] == [{}] * EACH


@pytest.mark.scenario("G5", "F29", "P4")
async def test_handlers_added_and_removed_at_any_moment_leave_nothing_behind(server: APIServer, client: Client) -> None:
    random, steps = Random(29), 40
    async with client.informer(WIDGETS) as widgets:
        for _ in range(100):
            server.create(crd())
            server.create(widget("a"))
            one = Subscription(widgets)
            for _ in range(random.randrange(steps)):
                await trio.lowlevel.checkpoint()
            one.handle.remove()
            before = one.event_counts.copy()
            server.delete(CRDS, "widgets.example.com")
            await quiet()

            assert (one.event_counts, one.wrong) == (before, [])
        assert widgets.statistics().handlers == ()


@pytest.mark.scenario("G6", "P5")
async def test_a_handler_finds_its_object_in_every_index_although_the_resource_is_created_late(
    server: APIServer, client: Client
) -> None:
    found: list[tuple[str, list[str]]] = []

    def look_up(obj: Unstructured) -> None:
        found.append((obj.name, names(widgets.by_index("host", obj["spec"]["host"]))))

    async with client.informer(WIDGETS, indexes={"host": "{.spec.host}"}) as widgets:
        widgets.add_handler(on_add=look_up)
        await widgets.wait_state(ABSENT)
        for _ in range(2):
            server.create(crd())
            for name in ("a", "b"):
                server.create(widget(name, host="x"))
            await widgets.wait_state(LIVE)
            late = widgets.add_handler(on_add=look_up)
            await late.wait_synced()
            late.remove()

            assert Counter(name for name, _ in found) == {"a": 2, "b": 2}
            assert all(name in listed for name, listed in found)
            found.clear()
            server.delete(CRDS, "widgets.example.com")
            await widgets.wait_state(ABSENT)


@pytest.mark.scenario("G8", "F31")
async def test_a_crd_created_after_the_informer_was_left_causes_no_request(server: APIServer, client: Client) -> None:
    recorder = Recorder()
    async with client.informer("gadgets.v1.example.com") as stays:
        await stays.wait_synced()
        await trio.sleep(60)
        tasks = trio.lowlevel.current_statistics().tasks_living
        async with client.informer(WIDGETS) as left:
            recorder.attach(left)
            await left.wait_state(ABSENT)
        server.forget_requests()

        server.create(crd())
        server.create(widget("a"))
        await trio.sleep(3600)

        assert not [request for request in server.requests if "widgets" in request.path.split("/")]
        assert (recorder.events, trio.lowlevel.current_statistics().tasks_living) == ([], tasks)
