"""G13, G14: filters that several tasks change, and composed filters of which every part changes."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import pytest
import trio

from dynkube import (
    Client,
    Filter,
    Informer,
    LabelFilter,
    NamespaceFilter,
    PredicateFilter,
    Unstructured,
    connect,
)
from dynkube.informers._settings import InjectedSettings
from dynkube_testing import APIServer
from tests.informers.folding import Subscription
from tests.informers.kit import WIDGETS, Recorder, crd, names, namespace, quiet, widget

FILTERS: list[Filter | None] = [None, LabelFilter("team=x"), LabelFilter("team=y"), ~LabelFilter("team")]
EXPECTED = [["x", "y", "z"], ["x"], ["y"], ["z"]]


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())


@pytest.mark.scenario("G13", "P1", "P2")
async def test_the_filter_set_last_applies_whichever_task_set_it(server: APIServer, client: Client) -> None:
    random, last = Random(13), [0]

    async def flip(widgets: Informer) -> None:
        for _ in range(100):
            for _ in range(random.randrange(4)):
                await trio.lowlevel.checkpoint()
            last[0] = random.randrange(len(FILTERS))
            widgets.set_filter(FILTERS[last[0]])
            assert names(widgets.list()) == EXPECTED[last[0]], "reads use the new filter at once"

    for name, labels in (("x", {"team": "x"}), ("y", {"team": "y"}), ("z", {})):
        server.create(widget(name, labels=labels))
    async with client.informer(WIDGETS) as widgets:
        subscription, slow = Subscription(widgets), Subscription(widgets, pause=0.1)
        await widgets.wait_synced()
        for _ in range(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(flip, widgets)
                nursery.start_soon(flip, widgets)
            await trio.sleep(10)

            assert names(subscription.folded.values()) == names(slow.folded.values()) == EXPECTED[last[0]]
            assert (subscription.wrong, slow.wrong) == ([], [])


@pytest.mark.scenario("G14")
async def test_no_object_is_shown_that_a_part_hides_while_all_parts_change(server: APIServer, client: Client) -> None:
    """Of three parts, at most two match an object at any time, so it must never be shown."""
    server.create(namespace("shop"))
    server.create(widget("hidden", "shop", labels={"team": "x"}))
    letters = ""
    chosen = PredicateFilter(lambda obj: obj.name[0] in letters)
    both = {team: NamespaceFilter("open=yes") & chosen & LabelFilter(f"team={team}") for team in "xy"}
    recorder = Recorder()
    async with client.informer(WIDGETS, filter=both["y"]) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()

        for is_open, letters, team in product((True, False), "hab", "xy"):  # the predicate uses ``letters``
            if is_open and letters == "h" and team == "x":
                continue
            server.update(namespace("shop", {"open": "yes"} if is_open else {}))
            await quiet()
            chosen.refresh_filter()
            widgets.set_filter(both[team])
            assert widgets.list() == []

        assert await recorder.drain() == []
        letters = "h"
        server.update(namespace("shop", {"open": "yes"}))
        widgets.set_filter(both["x"])
        assert (await recorder.drain(), names(widgets.list())) == (["add/hidden"], ["hidden"])


@pytest.mark.scenario("P6")
async def test_a_filter_replaced_during_the_first_list_applies_before_any_handler_has_synced(
    server: APIServer,
) -> None:
    for number in range(500):
        server.create(widget(f"w{number}", labels={"team": "xy"[number % 2]}))
    shown: set[str] = set()
    # On this clock every time slice is over at once, so the informer pauses after each batch of objects.
    settings = InjectedSettings(cpu_clock=iter(range(10**9)).__next__, slice=0.5)
    async with connect(transport=server.transport(), settings=settings) as client:
        widgets = client.informer(WIDGETS, filter=LabelFilter("team=x"))

        def on_add(obj: Unstructured) -> None:
            if not shown:
                widgets.set_filter(LabelFilter("team=y"))
            shown.add(obj.name)

        handler = widgets.add_handler(on_add=on_add, on_delete=lambda obj: shown.discard(obj.name))
        async with widgets:
            await handler.wait_synced()

            assert shown == {obj.name for obj in widgets}
            await widgets.wait_synced()
            assert len(shown) == 250


@pytest.mark.scenario("P6")
@pytest.mark.parametrize("pauses", [True, False], ids=["pauses after each batch", "no pauses"])
async def test_a_predicate_that_changes_all_the_time_does_not_prevent_the_initial_sync(
    server: APIServer, pauses: bool
) -> None:
    for number in range(500):
        server.create(widget(f"w{number}"))
    changing = PredicateFilter(lambda obj: True)
    settings = InjectedSettings(cpu_clock=iter(range(10**9)).__next__, slice=0.5 if pauses else math.inf)
    async with (
        connect(transport=server.transport(), settings=settings) as client,
        client.informer(WIDGETS, filter=changing) as widgets,
    ):

        async def change() -> None:
            while True:
                changing.refresh_filter()
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            handler = widgets.add_handler(on_add=lambda obj: None)
            for _ in range(1000):
                await trio.lowlevel.checkpoint()

            assert (handler.has_synced, widgets.has_synced) == (True, True)
            nursery.cancel_scope.cancel()
