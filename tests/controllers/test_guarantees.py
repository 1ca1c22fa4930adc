"""What controllers guarantee, in random workloads: each test has the name of its guarantee."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from random import Random

import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, Requeue
from dynkube_testing import APIServer, Delay, Lag
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

NAMES = "abc"


class Observed:
    """A reconcile of random duration that fails at random, and records when each call began and the state it read."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.calls: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
        self.running: set[str] = set()

    async def __call__(self, ctx: Context, key: ObjectKey) -> Requeue | None:
        assert key.name not in self.running
        self.running.add(key.name)
        began, obj = trio.current_time(), ctx.get()
        try:
            await trio.sleep(self.random.random() * 3)
            if self.random.random() < 0.3:
                raise ValueError
            return Requeue(self.random.random() * 10) if self.random.random() < 0.2 else None
        finally:
            self.running.discard(key.name)
            size = -1 if obj is None else obj["spec"]["size"]
            self.calls[key.name].append((began, trio.current_time(), size))


async def random_workload(seed: int) -> tuple[Observed, dict[str, list[tuple[float, int]]]]:
    """Run random changes; return the calls, and when each state of an object reached the informer."""
    random = Random(seed)
    observed, reached = Observed(random), defaultdict[str, list[tuple[float, int]]](list)
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        server.inject(Lag(random.random()), verb="watch", chance=0.5)

        def record(obj: Unstructured, new: Unstructured | None = None) -> None:
            state = new or obj
            reached[state.name].append((trio.current_time(), state["spec"]["size"]))

        controller = Controller(WIDGETS, observed, concurrency=random.randint(1, 4))
        async with running(client, controller), client.informer(WIDGETS) as informer:
            informer.add_handler(on_add=record, on_update=record, on_delete=lambda obj: None)
            for size in range(30):
                await trio.sleep(random.random() * 2)
                server.apply(widget(random.choice(NAMES), size=size))
            await quiet(1000)
    return observed, reached


async def test_a_key_is_never_reconciled_twice_at_once_and_waits_at_most_once() -> None:
    for seed in range(10):
        observed, reached = await random_workload(seed)  # Observed asserts that calls do not overlap
        for name, calls in observed.calls.items():
            assert all(before[1] <= after[0] for before, after in pairwise(calls))
            failures_and_requeues = 20
            assert len(calls) <= len(reached[name]) + failures_and_requeues


async def test_every_change_that_reached_the_informer_is_followed_by_a_reconcile_that_began_after_it() -> None:
    for seed in range(10, 20):
        observed, reached = await random_workload(seed)
        assert set(reached) == set(observed.calls)
        for name, states in reached.items():
            for at, size in states:
                assert any(began >= at and read >= size for began, _, read in observed.calls[name]), f"seed {seed}"


async def test_no_reconcile_before_all_handlers_have_seen_the_initial_objects(
    server: APIServer, client: dynkube.Client
) -> None:
    counts: list[int] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        counts.append(len(ctx.list("configmaps")))

    server.create(crd())
    server.create(widget("a"))
    for name in NAMES:
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    server.inject(Delay(30), resource="configmaps")
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(29)
        assert counts == []
        await quiet(60)

    assert counts == [3]


async def test_after_its_own_writes_a_reconcile_sees_a_cache_at_or_past_them(
    server: APIServer, client: dynkube.Client
) -> None:
    written: dict[str, int] = {}

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue | None:
        obj = ctx.get()
        assert obj is not None
        count = obj["spec"]["count"]
        assert count >= written.get(key.name, 0)
        if count < 20:
            written[key.name] = (await ctx.patch(obj, {"spec": {"count": count + 1}}))["spec"]["count"]
        return Requeue(after=1)

    server.create(crd())
    for name in NAMES:
        server.create(widget(name, count=0))
    controller = Controller(WIDGETS, reconcile, concurrency=3)
    async with running(client, controller):
        for lag in (0, 5, 1, 9):
            fault = server.inject(Lag(lag), verb="watch")
            server.end_watches("widgets")
            await quiet(60)
            fault.remove()
        await quiet(300)
        assert controller.status().failures == ()

    assert written == dict.fromkeys(NAMES, 20)


async def test_back_off_resets_by_success_only(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(*[ValueError()] * 3, None, ValueError(), None)
    server.create(crd())
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(0.02)
        server.update(widget("a", size=1))  # a change does not reset the back-off
        await quiet(10)
        server.update(widget("a", size=2))
        await quiet(10)

    assert calls.attempts == [1, 2, 3, 4, 1, 2]


async def test_no_ready_key_is_overtaken_for_more_than_a_minute(server: APIServer, client: dynkube.Client) -> None:
    calls = Calls(seconds=1)
    server.create(crd())
    for number in range(100):
        server.create(widget(f"initial-{number}"))
    async with running(client, Controller(WIDGETS, calls)):
        await quiet(0.1)  # the first key is being reconciled, before there are others that overtake it
        for size in range(300):
            server.apply(widget(f"busy-{size % 8}", size=size))
            await quiet(0.5)

    initial = [at for key, at in zip(calls.keys, calls.times, strict=True) if "initial" in key]
    assert initial[:1] == [0]
    assert 60 <= initial[1] <= 62
    assert initial[-1] - initial[1] < 100


async def test_after_shutdown_there_are_no_tasks(server: APIServer, client: dynkube.Client) -> None:
    def tasks() -> int:
        return trio.lowlevel.current_statistics().tasks_living

    server.create(crd())
    server.create(widget("a"))
    before = tasks()
    async with running(client, Controller(WIDGETS, Calls(seconds=5), concurrency=8, resync=10, timeout=60)):
        await quiet(1)
        assert tasks() > before
    await quiet()

    assert tasks() <= before
    assert server.open_watches == ()
