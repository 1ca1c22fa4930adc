"""Every kind of request has a timeout, on a server that does not respond, or stops within its response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import DeadlineExceeded
from dynkube_testing import APIServer, Cut, Drip, Effect, Hang

pytestmark = pytest.mark.scenario("F26", "P11")

Call = Callable[[dynkube.Client], Awaitable[Any]]

SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}}
SCALE = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"replicas": 1},
}


async def first_event(client: dynkube.Client, version: str | None = None) -> None:
    async with client.resource("configmaps").watch(resource_version=version) as events:
        await anext(events)


async def enter(client: dynkube.Client) -> None:
    async with client.informer("configmaps"):
        pass


async def first_object(client: dynkube.Client) -> None:
    await anext(aiter(client.resource("configmaps").iterate()))


KINDS: dict[str, tuple[Call, float]] = {
    "get": (lambda c: c.resource("configmaps").get("settings"), 32),
    "list": (lambda c: c.resource("configmaps").list(), 75),
    "list, with another timeout": (lambda c: c.resource("configmaps").list(timeout=5), 5),
    "a page": (first_object, 75),
    "create": (lambda c: c.resource("configmaps").create(SETTINGS), 32),
    "update": (lambda c: c.resource("configmaps").update(SETTINGS), 32),
    "patch": (lambda c: c.resource("configmaps").patch("settings", {"data": {}}), 32),
    "apply": (lambda c: c.resource("configmaps").apply(SETTINGS), 32),
    "delete": (lambda c: c.resource("configmaps").delete("settings"), 32),
    "delete many": (
        lambda c: c.resource("configmaps").delete_collection(namespace="default", label_selector="a=b"),
        32,
    ),
    "a subresource": (lambda c: c.resource("deployments").subresource("scale").get("web"), 32),
    "write to one": (lambda c: c.resource("deployments").subresource("scale").update(SCALE), 32),
    "open a watch": (first_event, 75),
    "wait for a condition": (lambda c: c.resource("configmaps").wait_for("settings", "delete", timeout=20), 20),
    "version": (lambda c: c.server_version(), 32),
    "a raw request": (lambda c: c.raw("GET", "/healthz"), 32),
}
EFFECTS = [
    pytest.param(Hang(), id="no response"),
    pytest.param(Cut("silent"), id="truncated and silent"),
    pytest.param(Drip(0.01), id="very slow"),
]


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("kind", KINDS)
async def test_each_kind_of_request_has_a_deadline(
    kind: str, effect: Effect, server: APIServer, client: dynkube.Client
) -> None:
    call, seconds = KINDS[kind]
    await client.mapper.load()
    start = trio.current_time()
    server.inject(effect)

    with pytest.raises(DeadlineExceeded), trio.fail_after(seconds + 0.1):
        await call(client)

    assert trio.current_time() - start == pytest.approx(seconds)


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize(
    "call", [lambda c: c.resource("configmaps").resolve(), enter], ids=["discovery", "the short name of an informer"]
)
async def test_discovery_has_a_deadline(call: Call, effect: Effect, server: APIServer, client: dynkube.Client) -> None:
    server.inject(effect)

    with pytest.raises(DeadlineExceeded), trio.fail_after(33):
        await call(client)


async def test_a_watch_from_a_version_has_timeouts_for_its_start_and_for_silence(
    server: APIServer, client: dynkube.Client
) -> None:
    await client.mapper.load()
    with pytest.raises(DeadlineExceeded, match="within 75 s"), server.inject(Hang()):
        await first_event(client, "1")

    server.forget_requests()
    server.inject(Cut("silent"), verb="watch")
    with trio.move_on_after(3600):
        await first_event(client, "1")

    assert len(server.requests) >= 10, "it is reopened after three minutes of silence"
