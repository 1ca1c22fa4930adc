"""Streaming lists: initial objects that are received over the watch (KEP-3157)."""

from __future__ import annotations

import json

import httpx2
import trio

import dynkube
from dynkube_testing import APIServer, Lag
from tests.informers.kit import WIDGETS, crd, names, quiet, widget
from tests.informers.wire import TamperedWire


async def test_events_in_the_same_chunk_after_the_end_of_the_initial_events_are_kept(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))
    streamed = []

    def with_another(request: httpx2.Request, line: bytes) -> bytes:
        if b"k8s.io/initial-events-end" not in line or b"Widget" not in line:
            return line
        bookmark = json.loads(line)["object"]
        streamed.append(request)
        added = widget("b")
        version = int(bookmark["metadata"]["resourceVersion"]) + 1
        added["metadata"] |= {"uid": "of-b", "resourceVersion": str(version)}
        return line + json.dumps({"type": "ADDED", "object": added}).encode() + b"\n"

    async with (
        dynkube.connect(transport=TamperedWire(server, with_another)) as client,
        client.informer(WIDGETS, streaming_lists=True) as widgets,
    ):
        await widgets.wait_synced()
        await quiet()

        assert (len(streamed), names(widgets.list())) == (1, ["a", "b"])


async def test_a_second_stream_that_is_cut_before_its_end_is_a_lasting_failure(
    server: APIServer, client: dynkube.Client
) -> None:
    server.create(crd())
    server.inject(Lag(60), verb="watch", resource="widgets")
    async with client.informer(WIDGETS) as widgets:
        for _ in range(2):
            await trio.sleep(14)  # an open stream is healthy after a second, but not a list that does not end
            server.end_watches("widgets", how="cut")
        await quiet()

        assert (widgets.state.phase, widgets.state.reason) == (dynkube.DEGRADED, "ConnectionLost")
