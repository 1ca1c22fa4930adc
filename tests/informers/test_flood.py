"""A hundred thousand events occur while a handler sleeps: nothing waits for it, and it queues one event per object."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2
import pytest
import trio

import dynkube
from dynkube import LIVE, Unstructured
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet, replace, widget
from tests.informers.wire import TamperedWire

OBJECTS, TIMES, ROUNDS = 10, 1000, 10


class Flood:
    """Repeats each watch event for ``many`` objects in total, each time with a newer version."""

    def __init__(self) -> None:
        self.objects: list[dict[str, object]] = []
        self.version = 1_000_000
        self.sent = 0

    def __call__(self, request: httpx2.Request, line: bytes) -> bytes:
        if b"MODIFIED" not in line or b"widgets" not in request.url.raw_path:
            return line
        return b"".join(self.lines())

    def lines(self) -> Iterator[bytes]:
        for number in range(OBJECTS * TIMES):
            self.version += 1
            self.sent += 1
            obj = self.objects[number % OBJECTS]
            metadata = {**obj["metadata"], "resourceVersion": str(self.version)}  # type: ignore[dict-item]  # a mapping
            event = {"type": "MODIFIED", "object": {**obj, "metadata": metadata, "spec": {"n": self.sent}}}
            yield json.dumps(event).encode() + b"\n"


@pytest.mark.scenario("F27", "P9")
async def test_a_sleeping_handler_has_one_event_for_each_object_after_a_hundred_thousand(server: APIServer) -> None:
    flood, asleep, steps, quick = Flood(), trio.Event(), list[tuple[str, int]](), dict[str, int]()
    server.create(crd())
    flood.objects = [server.create(widget(f"w{number}")) for number in range(OBJECTS)]

    async def sleep(old: Unstructured, new: Unstructured) -> None:
        steps.append((new.name, new["spec"]["n"]))
        await asleep.wait()

    def note(old: Unstructured, new: Unstructured) -> None:
        quick[new.name] = new["spec"]["n"]

    async with (
        dynkube.connect(transport=TamperedWire(server, flood)) as client,
        client.informer(WIDGETS) as widgets,
    ):
        slow = widgets.add_handler(on_update=sleep)
        widgets.add_handler(on_update=note)
        await widgets.wait_state(LIVE)
        for round_ in range(ROUNDS):
            replace(server, widget("w0", round=round_))
            await quiet()
            assert slow.backlog <= OBJECTS

        newest = {f"w{number}": flood.sent - OBJECTS + number + 1 for number in range(OBJECTS)}
        assert (flood.sent, quick) == (OBJECTS * TIMES * ROUNDS, newest)
        asleep.set()
        await quiet()
        assert dict(steps[1:]) == newest
        assert len(steps) == 1 + OBJECTS
