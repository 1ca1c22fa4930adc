"""A resuming watch under every lasting fault: it raises permanent errors, or retries slowly and loses nothing."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
import trio

import dynkube
from dynkube.meta import Added, Bookmark, Deleted, WatchEvent
from dynkube.meta._object import Key
from dynkube_testing import APIServer
from tests.informers.faults.table import LASTING_FAULTS, POISON, LastingFault
from tests.informers.faults.test_lasting import write_for_an_hour
from tests.informers.kit import WIDGETS, crd, widget

FAULTS = [
    pytest.param(fault, marks=pytest.mark.scenario(fault.number, "P13"), id=name)
    for name, fault in LASTING_FAULTS.items()
]


class WatchFollower:
    """Applies the events of a watch on widgets, and checks their order."""

    def __init__(self, client: dynkube.Client) -> None:
        self._client = client
        self.present: dict[Key, str] = {}
        self.raised: Exception | None = None
        self.progress = trio.Event()

    async def follow(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        try:
            async with self._client.resource(WIDGETS).watch() as events:
                task_status.started()
                async for event in events:
                    self._take(event)
        except dynkube.DynkubeError as exc:
            self.raised = exc
        self.progress.set()

    def _take(self, event: WatchEvent) -> None:
        if not isinstance(event, Bookmark):
            key = event.object.key
            assert (key in self.present) != isinstance(event, Added), f"{event} is out of order"
            if isinstance(event, Deleted):
                del self.present[key]
            else:
                self.present[key] = event.object.resource_version
            self.progress.set()

    async def until(self, name: str, *, present: bool = True) -> None:
        while (("default", name) in self.present) != present and self.raised is None:
            self.progress = trio.Event()
            await self.progress.wait()


@pytest.mark.parametrize("fault", FAULTS)
async def test_it_raises_or_retries_slowly_and_then_delivers_the_changes(
    fault: LastingFault, server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    for name in ("stays", "goes", POISON):
        server.create(widget(name))
    follower = WatchFollower(client)
    async with trio.open_nursery() as nursery:
        await nursery.start(follower.follow)
        await follower.until(POISON)
        await trio.sleep(30)
        server.forget_requests()
        with caplog.at_level(logging.WARNING, "dynkube"):
            end = fault.begin(server, "widgets")
            await write_for_an_hour(server, fault.writes)
        server.create(widget("comes"))
        server.delete("widgets", "goes")
        requests = sum(r.resource is not None and r.resource.resource == "widgets" for r in server.requests)

        end()
        with suppress(trio.TooSlowError), trio.fail_after(max(240, fault.recovery)):
            await follower.until("comes")
            await follower.until("goes", present=False)
        nursery.cancel_scope.cancel()

    assert isinstance(follower.raised, fault.raised or type(None)), repr(follower.raised)
    assert requests <= fault.requests
    assert caplog.records == []
    if fault.raised is None:
        stored = {(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in server.list("widgets")}
        assert follower.present.keys() == stored
