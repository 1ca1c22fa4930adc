"""Test a controller of yours against the embedded API server: no cluster, and no waiting.

    python -m pytest examples/test_my_controller.py

The controller keeps a ConfigMap ``summary`` in each namespace that has widgets, with their number. The CRD of widgets
need not be there when it starts.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

import dynkube
from dynkube.testing import APIServer

WIDGETS = dynkube.GVR("example.com", "v1", "widgets")


async def summarize(client: dynkube.Client) -> None:
    """The controller: runs until cancelled."""
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        async for event in events:
            changed = event.new if isinstance(event, dynkube.Updated) else event.object
            summary: dict[str, object] = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "summary", "namespace": changed.namespace},
                "data": {"widgets": str(len(widgets.list(namespace=changed.namespace)))},
            }
            await client.resource("configmaps").apply(summary, field_manager="summarizer", force=True)


def widget_definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def widget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "default"}}


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Trio, with a clock that jumps to the next deadline as soon as every task waits."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.mark.anyio
async def test_the_summary_follows_the_widgets() -> None:
    async with (
        APIServer() as server,
        dynkube.connect(transport=server.transport()) as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(summarize, client)

        server.create(widget_definition())  # after the controller started: it waits for the CRD
        server.create(widget("a"))
        server.create(widget("b"))
        await trio.testing.wait_all_tasks_blocked()
        assert server.get("configmaps", "summary", "default")["data"] == {"widgets": "2"}

        server.delete("widgets.example.com", "a", "default")
        await trio.testing.wait_all_tasks_blocked()
        assert server.get("configmaps", "summary", "default")["data"] == {"widgets": "1"}

        nursery.cancel_scope.cancel()
