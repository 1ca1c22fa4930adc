"""Which requests are retried, and after which delay."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.errors import (
    APIError,
    ConnectFailed,
    ConnectionLost,
    InternalError,
    ProtocolError,
    ServiceUnavailable,
    TooManyRequests,
)
from dynkube.rest import Limits
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, status

GET = Request(method="GET", path="/api/v1/pods")
POST = Request(method="POST", path="/api/v1/pods", body=b'{"a":1}')
OK = httpx2.Response(200)


def later(code: int, retry_after: str | None = "3") -> httpx2.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx2.Response(code, headers=headers, content=status(code, ""))


def connect_error(cause: OSError | None = None) -> httpx2.ConnectError:
    error = httpx2.ConnectError("")
    error.__cause__ = cause or ConnectionRefusedError(111, "Connection refused")
    return error


@pytest.mark.scenario("F23")
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("code", [429, 503])
async def test_with_retry_after_any_request_is_retried_then(make_client: MakeClient, method: str, code: int) -> None:
    wire = Wire(later(code), later(code, "Sat, 21 Nov 2026 12:00:07 GMT"), OK)

    response = await make_client(wire).request(Request(method=method, path="/api/v1/pods", body=b"body"))

    assert response.status == 200
    assert trio.current_time() == 3 + 7
    assert [request.content for request in wire.requests] == [b"body"] * 3


@pytest.mark.parametrize(
    ("request_", "code", "retry_after"),
    [(GET, 429, None), (GET, 503, None), (GET, 500, "soon"), (POST, 500, "3"), (POST, 504, "3"), (GET, 409, "3")],
)
async def test_without_retry_after_or_if_the_request_may_have_had_an_effect_the_error_is_raised(
    make_client: MakeClient, request_: Request, code: int, retry_after: str | None
) -> None:
    wire = Wire(later(code, retry_after))

    with pytest.raises(APIError):
        await make_client(wire).request(request_)

    assert len(wire.requests) == 1
    assert trio.current_time() == 0


async def test_a_get_is_retried_on_any_5xx_with_retry_after(make_client: MakeClient) -> None:
    wire = Wire(later(500, "2"), later(504, "2"), OK)

    await make_client(wire).request(GET)

    assert trio.current_time() == 4


@pytest.mark.scenario("F23")
async def test_after_ten_retries_the_error_is_raised_with_its_retry_after(make_client: MakeClient) -> None:
    wire = Wire(later(503, "1"))

    with pytest.raises(ServiceUnavailable) as caught:
        await make_client(wire).request(GET)

    assert len(wire.requests) == 11
    assert trio.current_time() == 10
    assert caught.value.retry_after == 1


@pytest.mark.scenario("F23")
async def test_a_retry_after_beyond_the_deadline_is_not_waited_for(make_client: MakeClient) -> None:
    wire = Wire(later(429, "20"), later(429, "20"))

    with pytest.raises(TooManyRequests) as caught:
        await make_client(wire).request(GET)

    assert trio.current_time() == 20
    assert caught.value.retry_after == 20


async def test_a_get_whose_connection_is_refused_is_retried_with_growing_delays(make_client: MakeClient) -> None:
    wire = Wire(connect_error(), connect_error(), connect_error(), OK)

    await make_client(wire).request(GET)

    assert trio.current_time() == pytest.approx(0.1 + 0.2 + 0.4)


@pytest.mark.parametrize(
    "failure",
    [
        connect_error(ConnectionResetError(104, "reset in the handshake")),
        httpx2.ReadError(""),
        httpx2.WriteError(""),
        httpx2.RemoteProtocolError("Server disconnected without sending a response."),
        trio.BrokenResourceError(),
        ConnectionResetError(104, "reset"),
    ],
)
async def test_a_get_whose_connection_is_lost_before_a_response_is_retried(
    make_client: MakeClient, failure: Exception
) -> None:
    client = make_client(Wire(failure, OK))

    await client.request(GET)

    assert client.statistics().retries == 1


async def test_if_the_connection_is_always_refused_the_error_names_server_and_reason(make_client: MakeClient) -> None:
    wire = Wire(connect_error())

    with pytest.raises(
        ConnectFailed, match=r"GET /api/v1/pods: cannot connect to api.example:6443: Connection refused"
    ):
        await make_client(wire).request(GET)

    assert len(wire.requests) == 1 + Limits().max_reconnects


@pytest.mark.parametrize("failure", [httpx2.ReadError(""), connect_error()])
async def test_a_request_that_may_have_had_an_effect_is_not_retried(
    make_client: MakeClient, failure: Exception
) -> None:
    wire = Wire(failure)

    with pytest.raises((ConnectionLost, ConnectFailed)):
        await make_client(wire).request(POST)

    assert len(wire.requests) == 1


async def test_a_permanent_failure_is_not_retried(make_client: MakeClient) -> None:
    wire = Wire(httpx2.RemoteProtocolError("illegal status line"))

    with pytest.raises(ProtocolError, match="illegal status line"):
        await make_client(wire).request(GET)

    assert len(wire.requests) == 1


async def test_retries_may_be_turned_off(make_client: MakeClient) -> None:
    client = make_client(Wire(later(500, "1")), limits=Limits(max_retries=0))

    with pytest.raises(InternalError):
        await client.request(GET)
