"""The ``timeout`` of a verb covers both resolving the resource and the request itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import trio

from dynkube.client._client import APIClient
from dynkube.client._shortcuts import Shortcuts
from dynkube.errors import DeadlineExceeded, InvalidInput
from tests.client.wire import ScriptedServer, connect, ok, pod

POD = pod("a")


class SlowServer(ScriptedServer):
    """Takes ``seconds`` for each response about API groups, and never responds to any other request."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path in {"/api", "/apis"}:
            await trio.sleep(self.seconds)
            return await super().handle_async_request(request)
        if request.url.path in {"/api/v1", "/apis/apps", "/apis/apps/v1"}:
            return await super().handle_async_request(request)
        await trio.sleep_forever()
        raise AssertionError("not reached")


class APIClientShortcuts(Shortcuts):
    """The shortcuts of an API client."""

    def __init__(self, api: APIClient) -> None:
        self._client = api

    @property
    def _api(self) -> APIClient:
        return self._client


Call = Callable[[APIClient, float], Any]
VERBS: dict[str, Call] = {
    "get": lambda c, t: c.resource("pods").get("a", timeout=t),
    "list": lambda c, t: c.resource("pods").list(timeout=t),
    "table": lambda c, t: c.resource("pods").table(timeout=t),
    "iterate": lambda c, t: anext(c.resource("pods").iterate(timeout=t)),
    "create": lambda c, t: c.resource("pods").create(POD, timeout=t),
    "update": lambda c, t: c.resource("pods").update(POD, timeout=t),
    "patch": lambda c, t: c.resource("pods").patch("a", {}, timeout=t),
    "apply": lambda c, t: c.resource("pods").apply(POD, timeout=t),
    "delete": lambda c, t: c.resource("pods").delete("a", timeout=t),
    "delete_collection": lambda c, t: c.resource("pods").delete_collection(namespace="shop", timeout=t),
    "wait_for": lambda c, t: c.resource("pods").wait_for("a", "create", timeout=t),
    "resolve": lambda c, t: c.resource("pods").resolve(timeout=t),
    "availability": lambda c, t: c.resource("pods").availability(timeout=t),
    "subresource": lambda c, t: c.resource("pods").subresource("status").get("a", timeout=t),
    "can": lambda c, t: APIClientShortcuts(c).auth_can_i("get", "pods", timeout=t),
    "whoami": lambda c, t: APIClientShortcuts(c).whoami(timeout=t),
    "api_resources": lambda c, t: APIClientShortcuts(c).api_resources(timeout=t),
    "server_version": lambda c, t: c.server_version(timeout=t),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_the_timeout_covers_slow_discovery(verb: str) -> None:
    client = connect(SlowServer(3600))
    begun = trio.current_time()

    with pytest.raises(DeadlineExceeded):
        await VERBS[verb](client, 2)

    assert trio.current_time() - begun == pytest.approx(2)


# The verbs left out send no further request, and iterate has a timeout for each page.
@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"resolve", "availability", "api_resources", "iterate"}))
async def test_the_time_of_discovery_is_deducted_from_that_of_the_request(verb: str) -> None:
    client = connect(SlowServer(1.5))
    begun = trio.current_time()

    with pytest.raises(DeadlineExceeded, match=r"^(?!.*discovery)"):
        await VERBS[verb](client, 2)

    assert trio.current_time() - begun == pytest.approx(2)


@pytest.mark.parametrize("verb", VERBS)
async def test_an_invalid_timeout_is_rejected_before_any_request(verb: str) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidInput, match="timeout must be a positive number of seconds"):
        await VERBS[verb](connect(server), -1)

    assert server.discoveries == 0


async def test_a_response_in_time_is_returned() -> None:
    server = ScriptedServer(ok(POD))

    found = await connect(server).resource("pods").get("a", timeout=2)

    assert found.name == "a"
