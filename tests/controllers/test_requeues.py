"""No key is reconciled again and again without a pause, whatever its reconciles return, raise and write."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest
import trio

import dynkube
from dynkube import Unstructured
from dynkube.controllers import Context, Controller, ObjectKey, Outcome, Requeue, WorkQueue
from dynkube.controllers._requeues import NEXT, Echoes, Next, Requeues
from dynkube.controllers._work_queue import Cause, merged
from dynkube_testing import APIServer, RequestFacts
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from tests.controllers.kit import Calls, quiet, running
from tests.informers.kit import WIDGETS, crd, widget

KEY = ObjectKey("default", "a")
FINALIZER = "example.com/clean"


# ── the state machine ────────────────────────────────────────────────────────────────────────


def test_what_follows_is_defined_for_each_outcome() -> None:
    assert set(NEXT) == set(Outcome)


@pytest.mark.parametrize(
    ("present", "added", "expected"),
    [
        ((5, Cause.RETRY), (0, Cause.CHANGE), (0, Cause.CHANGE)),
        ((5, Cause.RETRY), (0, Cause.ECHO), (5, Cause.RETRY)),
        ((0, Cause.ECHO), (5, Cause.RETRY), (5, Cause.RETRY)),
        ((0, Cause.CHANGE), (5, Cause.RETRY), (0, Cause.CHANGE)),
        ((5, Cause.ECHO), (0, Cause.CHANGE), (0, Cause.CHANGE)),
        ((0, Cause.CHANGE), (0, Cause.ECHO), (0, Cause.CHANGE)),
        ((30, Cause.TIMER), (0, Cause.ECHO), (0, Cause.ECHO)),
    ],
    ids=str,
)
def test_own_writes_do_not_end_a_back_off_and_changes_do(
    present: tuple[float, Cause], added: tuple[float, Cause], expected: tuple[float, Cause]
) -> None:
    assert merged(present, added) == expected


class Machine:
    """A key that only its own calls keep going: each writes or not, ends in some way, and its write is seen or not."""

    def __init__(self, random: Random, outcomes: list[Outcome], writes: float) -> None:
        self.random, self.outcomes, self.writes = random, outcomes, writes
        self.queue: WorkQueue[ObjectKey] = WorkQueue()
        self.echoes = Echoes()
        self.requeues = Requeues(self.queue, self.echoes)
        self.calls = 0

    async def play(self, seconds: float) -> int:
        """Return the number of calls in so many seconds."""
        self.queue.add(KEY)
        with trio.move_on_after(seconds):
            while True:
                await self.call(await self.queue.get())
        return self.calls

    async def call(self, key: ObjectKey) -> None:
        self.calls += 1
        assert self.calls < 2000, "it never ends"
        self.echoes.began(key)
        outcome = self.random.choice(self.outcomes)
        wrote = NEXT[outcome] is Next.AFTER_ITS_WRITE or self.random.random() < self.writes
        stored = Unstructured({"metadata": {"name": "a", "uid": "u", "resourceVersion": str(self.calls)}})
        shown = self.random.choice(["before its response", "during the call", "later"]) if wrote else ""
        if shown == "before its response":
            self.requeues.changed(key, None, stored, 0)
        if wrote:
            self.echoes.wrote(key, stored)
        if shown == "during the call":
            self.requeues.changed(key, None, stored, 0)
        self.requeues.ended(key, outcome, Requeue(10))
        self.requeues.done(key)
        if shown == "later":
            await trio.sleep(self.random.random() * 0.001)
            self.requeues.changed(key, None, stored, 0)


@pytest.mark.parametrize("outcome", Outcome)
async def test_a_key_that_ends_in_the_same_way_and_writes_each_time_pauses_longer_and_longer(outcome: Outcome) -> None:
    assert await Machine(Random(1), [outcome], 1.0).play(60) < 100


@pytest.mark.parametrize("seed", range(100))
async def test_a_key_that_nothing_else_changes_pauses_on_every_path(seed: int) -> None:
    random = Random(seed)
    outcomes = random.sample([*Outcome], random.randint(1, 4))
    assert await Machine(random, outcomes, random.choice([0.3, 0.9, 1.0])).play(60) < 200


def test_only_one_module_decides_when_a_key_is_reconciled_again() -> None:
    adds = {"add", "_add", "_add_change", "add_rate_limited"}
    found = set()
    for path in Path(dynkube.__file__).parent.joinpath("controllers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in adds and ast.unparse(node.value).endswith("queue"):
                found.add(path.name)
    assert found == {"_requeues.py", "_own_writes.py"}  # the latter for keys that were taken, and had to wait


# ── with a server ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def widgets(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


class Strip:
    """A server that does not store what patches contain, as with a mutating webhook. Gives up after 100 of them."""

    def __init__(self) -> None:
        self.patches = 0

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        async def other() -> dict[str, object]:
            return {"type": "http.request", "body": b'{"metadata":{"labels":{"x":"y"}}}', "more_body": False}

        self.patches += 1
        await app(scope, other if self.patches < 100 else receive, send)


async def test_a_finalizer_that_the_server_does_not_store_is_an_error_with_back_off(
    server: APIServer, client: dynkube.Client, widgets: None
) -> None:
    server.inject(strip := Strip(), resource=WIDGETS, verb="patch")
    controller = Controller(WIDGETS, calls := Calls(), finalizer=(FINALIZER, calls))
    async with running(client, controller):
        await quiet(3)
        failure = controller.status().failures[0]

    assert calls.keys == []
    assert strip.patches < 15
    assert "the server has not stored the finalizer 'example.com/clean'" in failure.error


async def test_a_clean_up_that_writes_its_object_each_time_is_called_once(
    server: APIServer, client: dynkube.Client, widgets: None
) -> None:
    cleaned: list[float] = []

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        cleaned.append(trio.current_time())
        obj = ctx.get()
        assert obj is not None
        if len(cleaned) < 100:
            await ctx.set_status(obj, {"attempts": len(cleaned)})

    async with running(client, Controller(WIDGETS, Calls(), finalizer=(FINALIZER, clean_up))):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(3)

    assert (len(cleaned), server.list(WIDGETS)) == (1, [])


async def test_a_clean_up_whose_writes_are_not_recorded_is_called_once(
    server: APIServer, client: dynkube.Client, widgets: None
) -> None:
    calls = Calls()

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        await calls(ctx, key)
        await ctx.client.resource(WIDGETS).patch(key.name, {"spec": {"size": len(calls.keys)}}, namespace=key.namespace)

    async with running(client, Controller(WIDGETS, Calls(), finalizer=(FINALIZER, clean_up))):
        await quiet(1)
        server.delete(WIDGETS, "a")
        await quiet(3)

    assert (len(calls.keys), server.list(WIDGETS)) == (1, [])


@pytest.mark.parametrize("fails", [False, True], ids=["succeeds", "fails"])
async def test_a_reconcile_that_writes_its_object_each_time_pauses_longer_and_longer(
    server: APIServer, client: dynkube.Client, widgets: None, fails: bool
) -> None:
    times: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        times.append(trio.current_time())
        if len(times) < 100 and (obj := ctx.get()) is not None:
            await ctx.set_status(obj, {"calls": len(times)})
        if fails:
            raise ValueError("no")

    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(10)

    assert 5 < len(times) < 20
    assert times[-1] - times[-2] > 1


async def test_what_others_change_ends_the_pause_of_a_key_that_writes_each_time(
    server: APIServer, client: dynkube.Client, widgets: None
) -> None:
    times: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        times.append(trio.current_time())
        if len(times) < 100 and (obj := ctx.get()) is not None:
            await ctx.set_status(obj, {"calls": len(times)})

    async with running(client, Controller(WIDGETS, reconcile)):
        await quiet(60)
        pause = times[-1] - times[-2]
        changed = trio.current_time()
        server.update(server.get(WIDGETS, "a") | {"spec": {"size": 7}})
        await quiet(1)

    assert pause > 5
    assert sum(changed <= time < changed + 0.1 for time in times) > 2
