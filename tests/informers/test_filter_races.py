"""G10-G12, G20: filters that change while objects change or handlers are added, or that are not ready yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import trio

import dynkube
from dynkube import Client, Filter, LabelFilter, NamespaceFilter, Unstructured
from dynkube.informers._filters.filters import BoundFilter, FilterContext
from dynkube.informers._settings import InjectedSettings
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget

HIDDEN = LabelFilter("hidden")


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


async def steps(count: int) -> None:
    for _ in range(count):
        await trio.lowlevel.checkpoint()


@pytest.mark.scenario("G20")
@pytest.mark.parametrize("chosen", [None, LabelFilter("team=x")])
async def test_a_handler_added_during_a_filter_change_gets_each_visible_object_once(
    server: APIServer, chosen: LabelFilter | None
) -> None:
    for number in range(300):
        server.create(widget(f"w{number}", labels={"team": "xy"[number % 2]}))
    # On this clock every time slice is over at once, so the informer pauses after each batch of objects.
    settings = InjectedSettings(cpu_clock=iter(range(10**9)).__next__, slice=0.5)
    shown: Counter[str] = Counter()
    client = dynkube.connect(transport=server.transport(), settings=settings)
    widgets = client.informer(WIDGETS, filter=LabelFilter("team=y"))
    async with client, widgets:
        Recorder().attach(widgets)
        await widgets.wait_synced()

        widgets.set_filter(chosen)
        await steps(2)
        widgets.add_handler(on_add=lambda obj: shown.update([obj.name]), on_delete=lambda obj: shown.clear())
        await quiet()

        assert shown == dict.fromkeys(names(widgets.list()), 1)
        assert len(shown) == (300 if chosen is None else 150)


@pytest.mark.scenario("P6")
@pytest.mark.parametrize("pauses", range(5, 11))
async def test_a_handler_has_not_synced_after_a_round_in_which_the_filter_was_replaced(
    server: APIServer, pauses: int
) -> None:
    for number in range(300):
        server.create(widget(f"w{number}", labels={"team": "xy"[number % 2]}))
    settings = InjectedSettings(cpu_clock=iter(range(10**9)).__next__, slice=0.5)
    shown: set[str] = set()
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer(WIDGETS, filter=LabelFilter("team=y")) as widgets:
        await widgets.wait_synced()
        handle = widgets.add_handler(
            on_add=lambda obj: shown.add(obj.name), on_delete=lambda obj: shown.discard(obj.name)
        )
        widgets.set_filter(None)  # requests a round
        await steps(pauses)
        widgets.set_filter(LabelFilter("team=x"))
        await handle.wait_synced()

        assert shown == {f"w{number}" for number in range(0, 300, 2)}


@pytest.mark.scenario("F34")
async def test_a_delete_while_a_filter_is_not_ready_is_delivered_when_it_is(server: APIServer, client: Client) -> None:
    fault = server.fail(resource="namespaces", status=403)
    for name in ("a", "b"):
        server.create(widget(name))
    early, late = Recorder(), Recorder()
    async with client.informer(WIDGETS) as widgets:
        early.attach(widgets)
        await widgets.wait_synced()
        await early.drain()

        widgets.set_filter(~NamespaceFilter("nothing=matches"))
        await quiet()
        server.delete("widgets", "a")
        assert (await early.drain(), widgets.list()) == ([], [])
        assert (widgets.state.phase, widgets.state.reason) == (dynkube.SYNCING, "FilterPending")
        assert widgets.state.message.startswith("the filter waits for the informer of namespaces, which is DEGRADED (")

        fault.remove()
        handle = late.attach(widgets)
        await handle.wait_synced()
        assert (await early.drain(), await late.drain(), names(widgets.list())) == (["delete/a"], ["add/b"], ["b"])


@pytest.mark.scenario("P6")
async def test_a_handler_has_not_synced_while_its_filter_is_not_ready(server: APIServer, client: Client) -> None:
    fault = server.fail(resource="namespaces", status=403)
    server.create(widget("a"))
    shown: list[str] = []

    def record_synced(obj: Unstructured) -> None:
        shown.append(f"{obj.name} {widgets.has_synced}")

    async with client.informer(WIDGETS, filter=NamespaceFilter()) as widgets, client.informer(WIDGETS) as other:
        widgets.add_handler(on_add=record_synced)
        await other.wait_synced()
        Recorder().attach(other)
        await quiet()
        assert not widgets.has_synced

        fault.remove()
        await widgets.wait_synced()
        assert shown == ["a False"]


class ReadAtOnce(Filter):
    """A filter that prepares each read of many objects."""

    def __init__(self) -> None:
        self.reads = 0

    def _bind(self, context: FilterContext) -> BoundFilter:
        return BoundFilter(lambda obj: True, at_once=self.prepare)

    def prepare(self) -> Callable[[Unstructured], bool]:
        self.reads += 1
        return lambda obj: True


@pytest.mark.parametrize("first", [True, False])
async def test_a_part_of_a_combined_filter_prepares_each_read_once(
    server: APIServer, client: Client, first: bool
) -> None:
    part, other = ReadAtOnce(), LabelFilter("a!=b")
    for number in range(10):
        server.create(widget(f"w{number}"))
    async with client.informer(WIDGETS, filter=part & other if first else other & part) as widgets:
        await widgets.wait_synced()
        before = part.reads

        assert len(widgets.list()) == 10
        assert part.reads == before + 1


async def test_equal_label_filters_have_the_same_hash() -> None:
    assert len({LabelFilter("a=b"), LabelFilter("a=b"), LabelFilter("a=c")}) == 2


class Unbindable(Filter):
    """A user's filter that cannot be bound."""

    def _bind(self, context: FilterContext) -> BoundFilter:
        raise RuntimeError("no")


async def test_a_combined_filter_that_cannot_be_bound_leaves_no_informer_running(client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        with pytest.raises(RuntimeError, match="no"):
            widgets.set_filter(NamespaceFilter("team=x") & Unbindable())
        await quiet()

        assert [str(status.gvr) for status in client.informers()] == [WIDGETS]
