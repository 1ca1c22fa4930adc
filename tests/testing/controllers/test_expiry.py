"""Expiry: events an hour after their last update, and revisions by compaction."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def event(message: str) -> dict[str, object]:
    regarding = {"kind": "Pod", "name": "p", "namespace": "default"}
    metadata = {"name": "e", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": regarding, "message": message}


async def test_an_event_expires_an_hour_after_its_last_update(server: APIServer) -> None:
    server.create(event("once"))

    await trio.sleep(3000)
    server.update(event("twice"))
    await trio.sleep(3599)
    before = server.list("events")
    await trio.sleep(2)

    assert [found["message"] for found in before] == ["twice"]
    assert server.list("events") == []


async def test_each_compaction_drops_the_revisions_before_the_previous_compaction_time() -> None:
    async with (
        APIServer(compaction_interval=300) as server,
        httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client,
    ):
        for name in ("a", "b", "c"):
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        token = (await client.get(f"{CONFIGMAPS}?limit=1")).json()["metadata"]["continue"]
        server.delete("configmaps", "b")

        await trio.sleep(301)
        early = await client.get(f"{CONFIGMAPS}?limit=1&continue={token}")
        await trio.sleep(300)
        late = await client.get(f"{CONFIGMAPS}?limit=1&continue={token}")

    assert [item["metadata"]["name"] for item in early.json()["items"]] == ["b"]
    assert (late.status_code, late.json()["reason"]) == (410, "Expired")


def test_times_that_are_not_positive_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="compaction_interval is 0"):
        APIServer(compaction_interval=0)
    with pytest.raises(InvalidInput, match="event_ttl is -1"):
        APIServer(event_ttl=-1)
