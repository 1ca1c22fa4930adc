"""Unreachable and broken servers: calls raise an error, informers have a state with a reason."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
import trio

import dynkube
from dynkube.errors import ConnectFailed, ConnectionLost, DiscoveryFailed, ProtocolError, TransportError, Unauthorized
from dynkube_testing import APIServer, Refuse
from tests.public_api.kit import Intercept, InterceptingTransport, added, for_pods, html, stream


def connect_error() -> Exception:
    return httpx2.ConnectError("Connection refused")


@asynccontextmanager
async def connected(intercept: Intercept) -> AsyncIterator[dynkube.Client]:
    async with (
        APIServer() as server,
        dynkube.connect(transport=InterceptingTransport(server.transport(), intercept)) as client,
    ):
        yield client


EVERYTHING: list[tuple[Intercept, type[Exception], str]] = [
    (
        lambda _: connect_error(),
        ConnectFailed,
        r"cannot connect to embedded\.invalid:80: Connection refused \(server from url=",
    ),
    (lambda _: html(), ProtocolError, "expected JSON, received an HTML page .*proxy or a login page; check server and"),
    (lambda _: html(404), ProtocolError, "HTTP 404 with an HTML page instead of a Status, probably from a proxy"),
    (
        lambda _: httpx2.Response(302, headers={"location": "https://login.example/?state=s3cret"}),
        ProtocolError,
        r"redirected \(HTTP 302\) to 'https://login\.example/', which is not followed",
    ),
]


@pytest.mark.parametrize(("intercept", "cause", "message"), EVERYTHING)
async def test_if_the_url_is_not_an_api_server_each_call_raises_the_reason(
    intercept: Intercept, cause: type[Exception], message: str
) -> None:
    async with connected(intercept) as client:
        with pytest.raises(cause, match=message) as caught:
            await client.resource("pods").list()
        with pytest.raises(cause, match=message):
            async with client.informer("pods"):
                pytest.fail("the short name was resolved")
        with pytest.raises(cause, match=message):
            await client.server_version()

    assert isinstance(caught.value.__cause__, DiscoveryFailed)


@pytest.mark.scenario("F15", "F32")
@pytest.mark.parametrize(("intercept", "cause", "message"), EVERYTHING)
async def test_if_the_url_is_not_an_api_server_informers_are_unknown_not_absent(
    intercept: Intercept, cause: type[Exception], message: str
) -> None:
    async with (
        connected(intercept) as client,
        client.informer("pods.v1") as pods,
        client.informer("as.v1.b.c") as custom,
    ):
        await trio.sleep(300)

        for informer in (pods, custom):
            assert informer.state.phase is dynkube.UNKNOWN
            assert informer.state.reason in {"DiscoveryFailed", cause.__name__}
            assert re.search(message, informer.state.message)
            assert not informer.has_synced


COLLECTION: list[tuple[Intercept, type[TransportError], str]] = [
    (for_pods(connect_error), ConnectFailed, "cannot connect to"),
    (for_pods(html), ProtocolError, "expected JSON, received an HTML page"),
    (
        for_pods(lambda: stream(b'{"kind": "Po', httpx2.ReadError("reset"))),
        ConnectionLost,
        "was truncated after 12 bytes",
    ),
    (for_pods(lambda: stream(b'{"kind": "PodList", "items": [')), ProtocolError, r"truncated: .*\[GET /api/v1/pods\]"),
    (for_pods(lambda: stream(b"hello\n")), ProtocolError, r"response is not a Kubernetes list.*\[GET /api/v1/pods\]"),
    (for_pods(lambda: stream(b'{"kind": "Cat"}')), ProtocolError, r"expected a list.* Cat \[GET /api/v1/pods\]"),
]


@pytest.mark.parametrize(("intercept", "error", "message"), COLLECTION)
async def test_the_error_for_an_unreadable_list_has_the_request(
    intercept: Intercept, error: type[TransportError], message: str
) -> None:
    async with connected(intercept) as client:
        with pytest.raises(error, match=message) as caught:
            await client.resource("pods").list()

    assert "GET /api/v1/pods" in str(caught.value)


@pytest.mark.scenario("F30")
@pytest.mark.parametrize(("intercept", "error", "message"), COLLECTION)
async def test_an_informer_of_an_unreadable_list_is_degraded_and_others_are_live(
    intercept: Intercept, error: type[TransportError], message: str
) -> None:
    async with (
        connected(intercept) as client,
        client.informer("pods.v1") as pods,
        client.informer("configmaps.v1") as config_maps,
    ):
        state = await pods.wait_state(dynkube.DEGRADED)
        await config_maps.wait_state(dynkube.LIVE)
        created = await client.resource("configmaps").create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        )
        await config_maps.wait_for(created)

        # The initial list may be a watch.
        assert state.reason in {error.__name__, "UnreadableEvent", "ConnectionLost"}
        assert config_maps.state.phase is dynkube.LIVE
        assert "/api/v1/pods" in state.message
        assert [obj.name for obj in config_maps.list()] == ["c"]


class BrokenOnce:
    """Replaces the first watch on pods that follows a list by a broken one; later watches reach the server."""

    def __init__(self, broken: Callable[[], httpx2.Response]) -> None:
        self._broken = broken
        self.used = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response | None:
        params = request.url.params
        if request.url.path != "/api/v1/pods" or "watch" not in params or self.used:
            return None
        if params.get("sendInitialEvents") == "true":  # make the client use a list
            return httpx2.Response(422, json={"kind": "Status", "code": 422, "reason": "Invalid", "message": "no"})
        self.used += 1
        return self._broken()


BREAKS = [
    lambda: stream(added("ghost", 3)[:40]),
    lambda: stream(added("ghost", 3)[:40], httpx2.ReadError("reset")),
    lambda: stream(b"{garbage}\n"),
    lambda: stream(b"\xff\xfe\n"),
    lambda: stream(b'{"type": "EXPLODED", "object": {}}\n'),
    lambda: html(),
    lambda: stream(),
]


@pytest.mark.parametrize("broken", BREAKS)
async def test_an_informer_recovers_from_a_broken_watch_without_losing_events(
    broken: Callable[[], httpx2.Response],
) -> None:
    intercept = BrokenOnce(broken)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }

    async with connected(intercept) as client, client.informer("pods.v1") as pods:
        await pods.wait_synced()
        created = await client.resource("pods").create(pod)
        with trio.fail_after(60):
            await pods.wait_for(created)
            await pods.wait_state(dynkube.LIVE)

        assert (intercept.used, [obj.name for obj in pods.list()]) == (1, ["web"])


@pytest.mark.parametrize("broken", BREAKS)
async def test_a_direct_watch_recovers_from_a_broken_stream_without_losing_events(
    broken: Callable[[], httpx2.Response],
) -> None:
    intercept = BrokenOnce(broken)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }

    async with connected(intercept) as client, client.resource("pods").watch(bookmarks=False) as events:
        await client.resource("pods").create(pod)
        with trio.fail_after(60):
            event = await anext(events)

    assert isinstance(event, dynkube.Added)
    assert (intercept.used, event.object.name) == (1, "web")


async def test_an_access_review_that_is_not_an_object_is_an_error(server: APIServer, client: dynkube.Client) -> None:
    server.inject(Refuse(201, body="[]", content_type="application/json"), resource="selfsubjectaccessreviews")

    with pytest.raises(ProtocolError, match=r"POST /apis/\S+/selfsubjectaccessreviews: the response is not a Self"):
        await client.auth_can_i("get", "pods")


async def test_a_watch_that_stays_unreadable_raises_an_error_with_the_line() -> None:
    intercept = for_pods(lambda: stream(b"{garbage}\n"), watch=True)

    async with connected(intercept) as client:
        with pytest.raises(ProtocolError, match=r"not a watch event: .*'\{garbage\}'.* \[GET /api/v1/pods\?watch\]"):
            async with client.resource("pods").watch() as events:
                await anext(events)


@pytest.mark.scenario("F19", "P8")
async def test_an_unreadable_stream_does_not_affect_handlers_of_other_informers() -> None:
    intercept = for_pods(lambda: stream(b"{garbage}\n"), watch=True)
    received: list[str] = []

    async with (
        connected(intercept) as client,
        client.informer("pods.v1") as pods,
        client.informer("configmaps.v1") as config_maps,
    ):
        config_maps.add_handler(on_add=lambda obj: received.append(obj.name))
        state = await pods.wait_state(dynkube.DEGRADED)
        for name in "abc":
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            await client.resource("configmaps").create(obj)
            await trio.sleep(30)

    assert (state.reason, received) == ("UnreadableEvent", ["a", "b", "c"])
    assert "{garbage}" in state.message


@pytest.mark.parametrize("name", ["pods", "pods.v1"])
async def test_the_first_call_without_credentials_says_so(name: str) -> None:
    async with APIServer(token="secret") as server, dynkube.connect(transport=server.transport()) as client:
        with pytest.raises(Unauthorized, match=r"401 Unauthorized: .* no credentials were sent: pass token="):
            await client.resource(name).list()
