"""Resources that can be listed but not watched: they are listed at intervals, and DEGRADED."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from dynkube import DEGRADED, LIVE, Client, Unstructured
from dynkube_testing import APIServer, Refuse, Rewrite
from tests.informers.kit import WIDGETS, Recorder, crd, names, replace, widget


@pytest.mark.scenario("F14")
@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (405, "MethodNotAllowed")])
async def test_14_while_only_watches_are_forbidden_lists_update_the_cache(
    server: APIServer, client: Client, status: int, reason: str
) -> None:
    server.create(crd())
    server.create(widget("a"))
    fault = server.fail(resource="widgets", verb="watch", status=status)
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert (await widgets.wait_state(DEGRADED)).reason == reason
        assert await recorder.drain() == ["add/a"]

        replace(server, widget("a", n=2))
        server.create(widget("b"))
        await trio.sleep(120)
        assert await recorder.drain() == ["update/a", "add/b"]

        fault.remove()
        assert (await widgets.wait_state(LIVE)).reason == "Watching"
        assert names(widgets.list()) == ["a", "b"]


def metrics(cpu: str) -> dict[str, object]:
    item = {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "NodeMetrics",
        "metadata": {"name": "n1"},
        "usage": {"cpu": cpu},
    }
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetricsList", "metadata": {}, "items": [item]}


def without_version(page: dict[str, Any]) -> dict[str, Any]:
    return {**page, "metadata": {}}


async def test_wait_for_returns_if_the_object_is_cached_although_lists_have_no_version(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    made = Unstructured(server.create(widget("a")))
    server.inject(Refuse(405), resource="widgets", verb="watch")
    server.inject(Rewrite(without_version), resource="widgets", verb="list")
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        with trio.fail_after(60):
            await widgets.wait_for(made)

        assert names(widgets) == ["a"]


async def test_objects_without_versions_are_compared_by_their_content(server: APIServer, client: Client) -> None:
    server.create(crd(scope="Cluster"))
    server.fail(resource="widgets", verb="watch", status=405)
    for cpu in ("1", "1", "2"):
        server.fail(resource="widgets", verb="list", status=200, body=metrics(cpu), times=1)
    values: list[str] = []
    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(
            on_add=lambda obj: values.append(obj["usage"]["cpu"]),
            on_update=lambda old, new: values.append(new["usage"]["cpu"]),
        )
        await trio.sleep(30)

        assert values == ["1", "2"]


@pytest.mark.scenario("F13")
async def test_a_failing_conversion_of_a_streaming_list_leads_to_lists(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.fail(resource="widgets", verb="watch", status=500, times=4)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert names(widgets.list()) == ["a"]
        assert widgets.statistics().lists == 1
