"""Informers of several clusters as one reader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, STOPPED, SYNCING, Client, Join, JSONPathFilter, Unstructured, join
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers import ClusterObject
from dynkube_testing import APIServer, Delay, Refuse
from tests.informers.kit import WIDGETS, crd, quiet, widget

CLUSTERS = ("east", "west")


class Clusters:
    """Two clusters, each with a widget ``a`` and one named like the cluster."""

    def __init__(self) -> None:
        self.servers: dict[str, APIServer] = {}
        self.clients: dict[str, Client] = {}

    async def start(self, name: str, stack: AsyncExitStack) -> Client:
        """Start a cluster, and connect to it."""
        settings = dynkube.InformerSettings(random=Random(7), linger=0)
        server = self.servers[name] = await stack.enter_async_context(APIServer())
        server.create(crd())
        server.create(widget("a", of=name))
        server.create(widget(name, labels={"cluster": name}))
        client = dynkube.connect(transport=server.transport(), settings=settings)
        self.clients[name] = await stack.enter_async_context(client)
        return client

    def join(self, *names: str, **options: Any) -> Join:
        """Join the informers of these clusters."""
        return join({name: self.clients[name].informer(WIDGETS, **options) for name in names or CLUSTERS})


async def after(seconds: float, function: Callable[[], Awaitable[None]]) -> None:
    await trio.sleep(seconds)
    await function()


@pytest.fixture
async def nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery for background tasks; it is cancelled at the end of the test."""
    async with trio.open_nursery() as opened:
        yield opened
        opened.cancel_scope.cancel()


@pytest.fixture
async def clusters() -> AsyncIterator[Clusters]:
    async with AsyncExitStack() as stack:
        clusters = Clusters()
        for name in CLUSTERS:
            await clusters.start(name, stack)
        yield clusters


class Calls:
    """Records the calls of a handler as ``east add/a``."""

    def __init__(self, joined: Join) -> None:
        self.made: list[str] = []
        self.registration = joined.add_handler(
            on_add=lambda cluster, obj: self.made.append(f"{cluster} add/{obj.name}"),
            on_update=lambda cluster, old, new: self.made.append(f"{cluster} update/{new.name}"),
            on_delete=lambda cluster, obj: self.made.append(f"{cluster} delete/{obj.name}"),
        )

    async def drain(self) -> list[str]:
        await quiet()
        made, self.made = sorted(self.made), []
        return made


def keys(found: list[ClusterObject]) -> list[str]:
    return sorted(f"{cluster}/{obj.name}" for cluster, obj in found)


async def test_objects_are_read_with_their_clusters(clusters: Clusters) -> None:
    async with clusters.join(indexes={"name": "{.metadata.name}"}) as widgets:
        await widgets.wait_synced()

        assert keys(widgets.list()) == keys(list(widgets)) == ["east/a", "east/east", "west/a", "west/west"]
        assert keys(widgets.list(cluster="west", namespace="default")) == ["west/a", "west/west"]
        assert keys(widgets.list(label_selector="cluster")) == ["east/east", "west/west"]
        assert keys(widgets.by_index("name", "a")) == ["east/a", "west/a"]
        found = widgets.get("west", "a")
        assert found is not None
        assert (found["spec"]["of"], widgets.get("east", "west"), len(widgets)) == ("west", None, 4)
        assert (widgets.state.phase, widgets.has_synced) == (LIVE, True)
        assert repr(widgets) == "<Join of east, west: LIVE objects=4>"


async def test_handlers_are_called_with_the_cluster(clusters: Clusters) -> None:
    widgets = clusters.join()
    calls = Calls(widgets)
    async with widgets:
        await widgets.wait_synced()
        assert await calls.drain() == ["east add/a", "east add/east", "west add/a", "west add/west"]
        assert calls.registration.has_synced

        clusters.servers["west"].delete("widgets", "a", "default")
        assert await calls.drain() == ["west delete/a"]

        calls.registration.remove()
        clusters.servers["west"].delete("widgets", "west", "default")
        assert await calls.drain() == []


async def test_async_handlers_never_run_for_two_clusters_at_the_same_time(clusters: Clusters) -> None:
    running, most = 0, 0
    seen: set[tuple[str, str, bool]] = set()

    async def on_add(cluster: str, obj: Unstructured, *, initial: bool) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        seen.add((cluster, obj.name, initial))
        await trio.sleep(1)
        running -= 1

    widgets = clusters.join()
    widgets.add_handler(on_add=on_add)
    async with widgets:
        await widgets.wait_synced()

    assert most == 1
    assert seen == {(c, n, True) for c, n in [("east", "a"), ("east", "east"), ("west", "a"), ("west", "west")]}


async def test_a_filter_and_an_index_apply_to_all_clusters_also_to_later_ones(clusters: Clusters) -> None:
    async with AsyncExitStack() as stack, clusters.join() as widgets:
        calls = Calls(widgets)
        await widgets.wait_synced()
        await calls.drain()

        widgets.set_filter(lambda obj: obj.name == "a")
        widgets.add_index("of", "{.spec.of}")
        assert await calls.drain() == ["east delete/east", "west delete/west"]

        north = await clusters.start("north", stack)
        await widgets.add("north", north.informer(WIDGETS))
        await widgets.wait_synced()
        assert await calls.drain() == ["north add/a"]
        assert keys(widgets.by_index("of", "north")) == ["north/a"]


async def test_a_filter_or_an_index_that_one_cluster_rejects_changes_none(clusters: Clusters) -> None:
    whole, reduced = (clusters.clients[name].informer(WIDGETS, metadata_only=name == "west") for name in CLUSTERS)
    async with join({"east": whole, "west": reduced}) as widgets:
        calls = Calls(widgets)
        widgets.set_filter(lambda obj: obj.name == "a")
        widgets.add_index("of", "{.metadata.name}")
        await widgets.wait_synced()
        await calls.drain()

        with pytest.raises(InvalidInput, match="has only metadata"):
            widgets.set_filter(JSONPathFilter("{.spec.of}", equals="none"))
        with pytest.raises(InvalidInput, match="has only metadata"):
            widgets.add_index("of", "{.spec.of}")

        assert (keys(widgets.list()), await calls.drain()) == (["east/a", "west/a"], [])
        assert keys(widgets.by_index("of", "a")) == ["east/a", "west/a"]


async def test_a_cluster_that_is_removed_has_its_objects_deleted(clusters: Clusters) -> None:
    async with clusters.join() as widgets:
        calls = Calls(widgets)
        await widgets.wait_synced()
        await calls.drain()

        await widgets.remove("west")

        assert sorted(calls.made) == ["west delete/a", "west delete/west"]  # already, when remove() returns
        assert (keys(widgets.list()), list(widgets.states)) == (["east/a", "east/east"], ["east"])
        assert list(calls.registration.registrations) == ["east"]
        assert not clusters.clients["west"].informers()


async def test_removing_a_cluster_waits_for_slow_handlers_and_can_be_cancelled(clusters: Clusters) -> None:
    made: list[str] = []

    async def on_delete(cluster: str, obj: Unstructured) -> None:
        await trio.sleep(10)
        made.append(obj.name)

    async with clusters.join() as widgets:
        widgets.add_handler(on_delete=on_delete)
        await widgets.wait_synced()
        began = trio.current_time()
        await widgets.remove("west")
        assert (sorted(made), trio.current_time() - began) == (["a", "west"], 20)

        with trio.move_on_after(15) as scope:
            await widgets.remove("east")
        assert scope.cancelled_caught
        assert (len(made), widgets.list(), widgets.state.message) == (3, [], "there are no clusters")


async def test_the_name_of_a_cluster_is_free_once_its_removal_has_ended(clusters: Clusters) -> None:
    async def on_delete(cluster: str, obj: Unstructured) -> None:
        await trio.sleep(5)

    async with clusters.join("east") as widgets:
        widgets.add_handler(on_delete=on_delete)
        await widgets.wait_synced()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(widgets.remove, "east")
            await trio.sleep(1)
            with pytest.raises(InvalidInput, match="'east' is being removed: add another one once"):
                await widgets.add("east", clusters.clients["west"].informer(WIDGETS))
        await widgets.add("east", clusters.clients["west"].informer(WIDGETS))
        await widgets.wait_synced()

        assert keys(widgets.list()) == ["east/a", "east/west"]


async def test_a_join_that_is_closed_while_a_cluster_is_removed_calls_no_handler_any_more(clusters: Clusters) -> None:
    calls: list[str] = []

    async def on_delete(cluster: str, obj: Unstructured) -> None:
        calls.append(obj.name)
        await trio.sleep(10)

    async with trio.open_nursery() as nursery:
        async with clusters.join() as widgets:
            widgets.add_handler(on_delete=on_delete)
            await widgets.wait_synced()
            nursery.start_soon(widgets.remove, "east")
            await trio.sleep(1)
        assert (len(calls), clusters.clients["east"].informers()) == (1, ())
        await trio.sleep(60)
    assert len(calls) == 1


async def test_closing_that_is_cancelled_has_closed_all_clusters(clusters: Clusters) -> None:
    async def stuck(cluster: str, obj: Unstructured) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(100)

    widgets = await clusters.join().__aenter__()
    widgets.add_handler(on_add=stuck)
    await trio.sleep(1)
    with trio.move_on_after(1):
        await widgets.aclose()

    assert [state.phase for state in widgets.states.values()] == [STOPPED, STOPPED]
    assert (widgets.state.phase, widgets.state.reason) == (STOPPED, "Closed")


async def test_a_removed_handler_is_not_called_when_its_turn_comes(clusters: Clusters) -> None:
    calls: list[str] = []

    async def on_add(cluster: str, obj: Unstructured) -> None:
        calls.append(cluster)
        await trio.sleep(10)

    async with clusters.join() as widgets:
        handler = widgets.add_handler(on_add=on_add)
        await trio.sleep(5)
        handler.remove()
        await trio.sleep(60)

    assert len(calls) == 1


@pytest.mark.parametrize("form", ["lambda", "object", "mixed"])
async def test_functions_that_return_awaitables_take_turns_too(clusters: Clusters, form: str) -> None:
    running = most = 0

    async def work(cluster: str, obj: Unstructured) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.sleep(1)
        running -= 1

    class Handler:
        async def __call__(self, cluster: str, obj: Unstructured) -> None:
            await work(cluster, obj)

    def plain(cluster: str, obj: Unstructured) -> None:
        assert not running

    forms: dict[str, Any] = {"lambda": lambda cluster, obj: work(cluster, obj), "object": Handler(), "mixed": work}
    async with clusters.join() as widgets:
        handler = widgets.add_handler(on_add=forms[form], on_delete=plain)
        await trio.sleep(1.5)
        clusters.servers["west"].delete("widgets", "west", "default")
        await widgets.wait_synced()
        await trio.sleep(10)
        failed = [registration.errors for registration in handler.registrations.values()]

    assert (most, failed) == (1, [0, 0])


async def test_an_informer_of_somebody_else_is_left_alone(clusters: Clusters) -> None:
    async with clusters.clients["west"].informer(WIDGETS) as mine, clusters.join("east") as widgets:
        widgets.set_filter(lambda obj: False)
        with pytest.raises(ClosedError, match="was entered before"):
            await widgets.add("west", mine)
        with pytest.raises(ClosedError, match="was entered before"):
            join({"west": mine})

        assert (mine.filter, mine.state.phase != STOPPED) == (None, True)


async def test_a_cluster_that_is_removed_while_it_is_added_is_closed(clusters: Clusters) -> None:
    clusters.servers["west"].inject(Delay(5), path_prefix="/apis")
    async with clusters.join("east") as widgets, trio.open_nursery() as nursery:
        calls = Calls(widgets)

        async def add() -> None:
            with pytest.raises(ClosedError):
                await widgets.add("west", clusters.clients["west"].informer("widget"))

        nursery.start_soon(add)
        await trio.sleep(1)
        await widgets.remove("west")
        await trio.sleep(60)

        assert await calls.drain() == ["east add/a", "east add/east"]
    assert not clusters.clients["west"].informers()


async def test_a_cluster_may_be_removed_while_the_join_is_entered(clusters: Clusters, nursery: trio.Nursery) -> None:
    clusters.servers["east"].inject(Delay(30))
    joined = join({name: clusters.clients[name].informer("widgets") for name in CLUSTERS})
    nursery.start_soon(after, 5, partial(joined.remove, "east"))

    async with joined:
        await joined.wait_synced()
        assert {row.cluster for row in joined} == {"west"}

    assert not clusters.clients["east"].informers()


async def test_a_join_that_is_closed_while_it_is_entered_enters_no_more_informers(
    clusters: Clusters, nursery: trio.Nursery
) -> None:
    clusters.servers["east"].inject(Delay(30))
    joined = join({name: clusters.clients[name].informer("widgets") for name in CLUSTERS})
    nursery.start_soon(after, 5, joined.aclose)

    with pytest.raises(ClosedError, match="this join is closed"):
        await joined.__aenter__()

    assert not [client for client in clusters.clients.values() if client.informers()]


async def test_an_empty_join_is_not_entered_then_live_then_closed(clusters: Clusters) -> None:
    widgets = join()
    with pytest.raises(ClosedError, match="this join was not entered"):
        await widgets.wait_synced()
    phases = [(widgets.state.phase, widgets.has_synced)]
    async with widgets:
        await widgets.wait_synced()
        phases.append((widgets.state.phase, widgets.has_synced))
        since = widgets.state.since
        assert widgets.state.since is since
    phases.append((widgets.state.phase, True))

    assert phases == [(STOPPED, False), (LIVE, True), (STOPPED, True)]


async def test_wrong_arguments_are_refused_before_there_are_clusters(clusters: Clusters) -> None:
    async with join() as widgets:
        wrong: list[Any] = [
            lambda: widgets.set_filter(5),  # type: ignore[arg-type]
            lambda: widgets.add_index(5, "{.a}"),  # type: ignore[arg-type]
            lambda: widgets.add_index("a", "nonsense{"),
            lambda: widgets.add_handler(on_add=print, on_error="bogus"),  # type: ignore[arg-type]
        ]
        for call in wrong:
            with pytest.raises(InvalidInput):
                call()
        await widgets.add("east", clusters.clients["east"].informer(WIDGETS))
        await widgets.wait_synced()

        assert len(widgets) == 2


async def test_a_cluster_is_replaced_by_another_one_of_the_same_name(clusters: Clusters) -> None:
    async with clusters.join("east") as widgets:
        calls = Calls(widgets)
        await widgets.wait_synced()
        await calls.drain()
        with pytest.raises(InvalidInput, match="there is a cluster 'east' in this join already: remove it first"):
            await widgets.add("east", clusters.clients["west"].informer(WIDGETS))

        await widgets.remove("east")
        await widgets.add("east", clusters.clients["west"].informer(WIDGETS))
        await widgets.wait_synced()

        assert calls.made[:2] == sorted(calls.made[:2]) == ["east delete/a", "east delete/east"]
        assert sorted(calls.made[2:]) == ["east add/a", "east add/west"]


async def test_an_unreachable_cluster_keeps_its_objects_and_is_reported(clusters: Clusters) -> None:
    async with clusters.join() as widgets:
        calls = Calls(widgets)
        await widgets.wait_synced()
        await calls.drain()

        clusters.servers["west"].end_watches(how="cut")
        outage = clusters.servers["west"].refuse_connections()
        await trio.sleep(60)
        assert (widgets.states["east"].phase, widgets.states["west"].phase) == (LIVE, DEGRADED)
        assert (widgets.state.phase, widgets.state.message.partition(":")[0]) == (DEGRADED, "west (1 of 2 clusters)")
        assert (len(widgets), await calls.drain()) == (4, [])

        outage.remove()
        await trio.sleep(120)
        assert (widgets.state.phase, await calls.drain()) == (LIVE, [])


async def test_a_cluster_that_was_never_reachable_leaves_the_join_unsynced(clusters: Clusters) -> None:
    clusters.servers["west"].inject(Refuse(503))
    async with clusters.join() as widgets:
        with pytest.raises(trio.TooSlowError), trio.fail_after(60):
            await widgets.wait_synced()
        assert (keys(widgets.list()), widgets.has_synced) == (["east/a", "east/east"], False)
        assert widgets.state.phase in (SYNCING, DEGRADED)

        await widgets.remove("west")
        await widgets.wait_synced()
        assert widgets.state.phase is LIVE


async def test_clusters_without_the_resource_are_left_out(clusters: Clusters) -> None:
    clusters.servers["west"].delete("customresourcedefinitions", "widgets.example.com")
    async with clusters.join() as widgets:
        await widgets.wait_synced()
        await quiet()
        assert (widgets.state.phase, widgets.state.message) == (LIVE, "without the resource: west (1 of 2 clusters)")

        clusters.servers["east"].delete("customresourcedefinitions", "widgets.example.com")
        await widgets.informers["east"].wait_state(ABSENT)
        assert (widgets.state.phase, widgets.state.reason) == (ABSENT, "CRDNotFound")


async def test_a_client_that_is_closed_first_is_reported(clusters: Clusters) -> None:
    async with clusters.join("east") as widgets:
        async with AsyncExitStack() as stack:
            north = await clusters.start("north", stack)
            await widgets.add("north", north.informer(WIDGETS))
            await widgets.wait_synced()

        assert (widgets.state.phase, widgets.state.reason) == (DEGRADED, "Closed")
        await widgets.remove("north")
        assert widgets.state.phase is LIVE


async def test_an_informer_that_cannot_be_entered_closes_the_others(clusters: Clusters) -> None:
    closed = dynkube.connect(transport=clusters.servers["west"].transport())
    east = clusters.clients["east"].informer(WIDGETS)
    with pytest.raises(ClosedError, match="client"):
        async with join({"east": east, "west": closed.informer(WIDGETS)}):
            raise AssertionError("was entered")

    await quiet()
    assert not clusters.clients["east"].informers()


async def test_a_join_that_is_closed_cannot_be_used(clusters: Clusters) -> None:
    widgets = clusters.join()
    async with widgets:
        pass
    with pytest.raises(ClosedError, match="this join was entered before"):
        await widgets.__aenter__()
    with pytest.raises(ClosedError, match="this join is closed"):
        await widgets.add("north", clusters.clients["east"].informer(WIDGETS))
    with pytest.raises(ClosedError, match="this join is closed"):
        widgets.add_handler(on_add=print)


async def test_wrong_arguments_are_named(clusters: Clusters) -> None:
    informer = clusters.clients["east"].informer(WIDGETS)
    wrong: list[tuple[Any, str]] = [
        ({"": informer}, "the name of a cluster is ''"),
        ({"east": "pods"}, "cluster 'east' is a str: pass client.informer"),
        ({"east": informer, "west": informer}, "the informer of cluster 'west' is that of another one"),
        ([informer], "informers is a list"),
    ]
    for given, message in wrong:
        with pytest.raises(InvalidInput, match=message):
            join(given)
    widgets = clusters.join()
    for call, message in (
        (lambda: widgets.get("north", "a"), "no cluster 'north' in this join, which has east, west"),
        (lambda: widgets.list(cluster="north"), "no cluster 'north'"),
        (widgets.add_handler, "at least one of on_add"),
        (lambda: widgets.add_handler(on_add="f"), "on_add is a str, not a function"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match=message):
            call()


async def test_a_join_is_waited_for_although_a_cluster_is_removed_while_it_is_entered(
    clusters: Clusters, nursery: trio.Nursery
) -> None:
    for server in clusters.servers.values():
        server.inject(Delay(30))
    joined = join({name: clusters.clients[name].informer("widgets") for name in CLUSTERS})
    synced: list[list[str]] = []

    async def wait() -> None:
        await joined.wait_synced()
        synced.append(sorted(row.cluster for row in joined))

    nursery.start_soon(after, 1, wait)
    nursery.start_soon(after, 5, partial(joined.remove, "east"))
    async with joined:
        await joined.wait_synced()
        await quiet()

    assert synced == [["west", "west"]]


async def test_waiting_for_a_join_ends_when_it_is_closed_while_it_is_entered(
    clusters: Clusters, nursery: trio.Nursery
) -> None:
    clusters.servers["east"].inject(Delay(30))
    joined = join({name: clusters.clients[name].informer("widgets") for name in CLUSTERS})
    nursery.start_soon(after, 5, joined.aclose)
    nursery.start_soon(after, 6, joined.aclose)

    async def enter() -> None:
        with pytest.raises(ClosedError):
            await joined.__aenter__()

    nursery.start_soon(enter)
    await trio.sleep(1)
    with pytest.raises(ClosedError):
        await joined.wait_synced()


async def test_an_async_handler_that_raises_passes_on_its_turn(clusters: Clusters) -> None:
    calls: list[str] = []

    async def on_add(cluster: str, obj: Unstructured) -> None:
        await trio.sleep(1)
        calls.append(f"{cluster}/{obj.name}")
        raise ValueError("a bug")

    async with clusters.join() as widgets:
        widgets.add_handler(on_add=on_add)
        with trio.fail_after(10):
            await widgets.wait_synced()

    assert sorted(calls) == ["east/a", "east/east", "west/a", "west/west"]
