"""Header fields of observers: they are added to requests, and cannot break any."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube import Client
from dynkube.telemetry import Observer, RequestInfo
from dynkube_testing import APIServer
from tests.informers.kit import pod
from tests.telemetry.kit import ObserverRecorder


async def test_the_header_fields_of_an_observer_are_sent(
    server: APIServer, client: Client, recorder: ObserverRecorder
) -> None:
    await client.resource("pods.v1").list(namespace="default")

    request = server.requests[-1]
    assert request.headers["x-noted"] == f"list {len(recorder.started)}"
    assert [info.verb for info in recorder.started][-1] == "list"


async def test_an_observer_cannot_replace_the_credential(recorder: ObserverRecorder) -> None:
    async with APIServer(token="the-token") as server:
        connected = dynkube.connect(
            url="http://api.invalid", token="the-token", transport=server.transport(), observers=[recorder]
        )
        async with connected as client:
            assert len(await client.resource("pods.v1").list(namespace="default")) == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["traceparent"], "returned a list: return a mapping"),
        ("traceparent", "returned a str: return a mapping"),
        ({"x-number": 1}, "returned an invalid value for 'x-number'"),
        ({"x-lines": "a\r\nX-Evil: b"}, "returned an invalid value for 'x-lines'"),
        ({"x noted": "a"}, "'x noted', which is not a valid header name"),
        ({"Content-Length": "7"}, "'Content-Length', which is reserved for the client"),
        ({"Host": "elsewhere.example"}, "'Host', which is reserved for the client"),
    ],
)
async def test_invalid_header_fields_are_reported_once_and_break_no_request(
    server: APIServer, caplog: pytest.LogCaptureFixture, fields: Any, message: str
) -> None:
    class Careless(Observer):
        def request_started(self, request: RequestInfo) -> Any:
            return fields

    async with dynkube.connect(transport=server.transport(), observers=[Careless()]) as client:
        for _ in range(3):
            await client.resource("pods.v1").list()

    assert not server.audit[-1].headers.keys() & {"traceparent", "x-number", "x-lines", "x-evil", "x noted"}
    (record,) = (record for record in caplog.records if record.name == "dynkube.telemetry")
    assert record.exc_info is not None
    assert message in str(record.exc_info[1])


async def test_an_observer_cannot_replace_the_clients_own_header_fields(server: APIServer) -> None:
    class Greedy(Observer):
        def request_started(self, request: RequestInfo) -> dict[str, str]:
            return {"Accept": "text/html", "Accept-Encoding": "br", "User-Agent": "me", "Content-Type": "text/plain"}

    async with dynkube.connect(transport=server.transport(), observers=[Greedy()]) as client:
        await client.resource("pods.v1").create(pod("a"), namespace="default")

    sent = server.audit[-1].headers
    assert (sent["content-type"], sent["accept-encoding"]) == ("application/json", "identity")
    assert sent["accept"].startswith("application/json")
    assert sent["user-agent"].startswith("dynkube/")
