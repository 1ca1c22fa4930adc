"""Reads of a reconcile against a model: informers that overlap and lag, of a resource that comes and goes.

The model knows each state of each object, and when it was current. A read may lag, but not show an object twice, show
what was replaced long ago, or lack what has long existed, or was restored together with its CRD.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, StaleCache, Watch, to_all
from dynkube.meta import LabelSelector
from dynkube_testing import APIServer, Delay, Lag, RequestFacts
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, namespace, widget

GADGETS = "gadgets.example.com"
PLACES = [(where, f"g{number}") for where in ("default", "b") for number in range(3)]
LAG, LISTING = 8.0, 6.0
LONG = LAG + LISTING + 4.0  # seconds after which each informer shows a change
MOMENT = 1.0  # seconds until a CRD that is created is seen

WATCHES = {
    "all": Watch(GADGETS),
    "again": Watch(f"gadgets.v1.{GADGETS.partition('.')[2]}", to=to_all()),
    "metadata": Watch(GADGETS, to=to_all(), metadata_only=True),
    "namespace": Watch(GADGETS, to=to_all(), namespace="b"),
    "labelled": Watch(GADGETS, to=to_all(), label_selector="x", indexes={"x": "{.metadata.labels.x}"}),
    "one": Watch(GADGETS, to=to_all(), label_selector="x=1", indexes={"x": "{.metadata.labels.x}"}),
}


def gadget(place: tuple[str, str], x: str) -> dict[str, Any]:
    labels = {"x": x} if x else {}
    metadata = {"namespace": place[0], "name": place[1], "labels": labels}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata}


def selects(watch: Watch, obj: Unstructured) -> bool:
    return watch.namespace in (None, obj.namespace) and LabelSelector.parse(watch.label_selector).matches(obj.labels)


class Model:
    """The server, with each state that an object has had: when it began, and the object, ``None`` if deleted."""

    def __init__(self, server: APIServer, random: Random) -> None:
        self.server, self.random = server, random
        self.states: dict[tuple[str, str], list[tuple[float, Unstructured | None]]] = {}
        self.installed_at = trio.current_time()
        self.installed = True
        server.create(crd("gadgets"))

    def record(self, place: tuple[str, str], obj: dict[str, Any] | None) -> None:
        state, before = None if obj is None else Unstructured(obj), self.current(place)
        if state is not None and before is not None and state.resource_version == before.resource_version:
            return  # it was applied without a change
        self.states.setdefault(place, [(-1.0, None)]).append((trio.current_time(), state))

    def current(self, place: tuple[str, str]) -> Unstructured | None:
        return self.states[place][-1][1] if place in self.states else None

    def step(self) -> None:
        """Change something."""
        place, x = self.random.choice(PLACES), self.random.choice(["", "1", "2"])
        if self.random.random() < 0.1:
            self.remove() if self.installed else self.install()
        elif not self.installed:
            return
        elif self.current(place) is None:
            self.record(place, self.server.create(gadget(place, x)))
        elif self.random.random() < 0.3:
            self.server.delete(GADGETS, place[1], place[0])
            self.record(place, None)
        else:
            self.record(place, self.server.apply(gadget(place, x), force=True))

    def remove(self) -> None:
        self.server.delete("crds", GADGETS)
        self.installed = False
        for place in PLACES:
            if self.current(place) is not None:
                self.record(place, None)

    def install(self) -> None:
        """Restore the CRD with some objects."""
        self.server.create(crd("gadgets"))
        self.installed, self.installed_at = True, trio.current_time()
        for place in PLACES[:: self.random.randint(1, 3)]:
            self.record(place, self.server.create(gadget(place, "1")))

    # ── what a read has to be ────────────────────────────────────────────────────────────────

    def check(self, listed: list[Unstructured], watches: list[Watch]) -> None:
        now = trio.current_time()
        assert [key for key, count in Counter(obj.key for obj in listed).items() if count > 1] == []
        for obj in listed:
            assert self.ended(obj) > now - LONG, f"{obj!r} was replaced at {self.ended(obj)}, now {now}"
        shown = {obj.key for obj in listed}
        for place, states in self.states.items():
            since, current = states[-1]
            long = since < now - LONG or (since == self.installed_at < now - MOMENT)
            if current is not None and long and any(selects(watch, current) for watch in watches):
                assert place in shown, f"{current!r} is missing, it exists since {since}, now {now}"

    def ended(self, obj: Unstructured) -> float:
        """Return when a state of an object was replaced; infinity if it was not."""
        states = self.states[obj.namespace, obj.name]
        for number, (_, known) in enumerate(states):
            if known is not None and (known.uid, known.resource_version) == (obj.uid, obj.resource_version):
                return states[number + 1][0] if number + 1 < len(states) else float("inf")
        raise AssertionError(f"{obj!r} has never existed")


def slow(random: Random, server: APIServer) -> None:
    """Have some watches lag, and lists take long."""
    lagging = {each: random.random() * LAG for each in ("", "x", "x=1")}

    def watching(selector: str) -> Any:
        def when(request: RequestFacts) -> bool:
            return "gadgets" in request.path and request.params.get("labelSelector", "") == selector

        return when

    for selector, seconds in lagging.items():
        if random.random() < 0.7:
            server.inject(Lag(seconds), verb="watch", when=watching(selector))
    seconds = random.random() * LISTING
    server.inject(Delay(seconds), when=lambda each: each.verb in ("list", "watch") and "gadgets" in each.path)


async def play(seed: int) -> None:
    """Play random changes."""
    random, counts, wrong = Random(seed), Counter[str](), list[AssertionError]()
    watches = [WATCHES[name] for name in random.sample(sorted(WATCHES), random.randint(1, 4))]
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        model = Model(server, random)

        async def reconcile(ctx: Context, key: ObjectKey) -> None:
            for _ in range(random.randint(1, 3)):
                try:
                    read(ctx, model, watches)
                    counts["read"] += 1
                except StaleCache:
                    counts["stale"] += 1
                    raise
                except AssertionError as exc:
                    wrong.append(exc)
                    raise
                await trio.sleep(random.random() * 3)

        for each in (crd(), namespace("b"), widget("a")):
            server.create(each)
        slow(random, server)
        async with running(client, Controller(WIDGETS, reconcile, watches=watches, resync=1)):
            await quiet(LONG)
            for _ in range(60):
                model.step()
                await trio.sleep(random.random() * random.choice([0.1, 1, 8]))
            await quiet(2 * LONG)
            counts.clear()
            await quiet(LONG)
            if wrong:
                raise wrong[0]
            assert counts["read"] > 0
            assert counts["stale"] == 0


def read(ctx: Context, model: Model, watches: list[Watch]) -> None:
    """Read in all ways, and compare."""
    listed = ctx.list("gadgets")
    model.check(listed, watches)
    by_key = {obj.key: obj.resource_version for obj in listed}
    for place in PLACES:
        found = ctx.get(ObjectKey(*place), resource="gadgets")
        assert (None if found is None else found.resource_version) == by_key.get(place)
    if any(watch.indexes for watch in watches):
        indexed = ctx.by_index("x", "1", resource="gadgets")
        assert len({obj.key for obj in indexed}) == len(indexed)
        assert {obj.labels.get("x") for obj in indexed} <= {"1"}


async def test_reads_show_each_object_once_and_none_that_is_outdated_or_missing() -> None:
    for seed in range(12):
        try:
            await play(seed)
        except BaseException as exc:
            exc.add_note(f"seed {seed}")
            raise
