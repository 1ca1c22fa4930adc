"""Every request has a deadline, and its error says what took too long."""

from __future__ import annotations

import math
from dataclasses import replace

import httpx2
import pytest
import trio

from dynkube.config import ClientConfig, Credential
from dynkube.errors import DeadlineExceeded, InvalidInput
from dynkube.rest import Limits
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import serving
from tests.rest.wire import MakeClient, Wire, chunks, status

GET = Request(method="GET", path="/api/v1/pods")


async def silent(request: httpx2.Request) -> httpx2.Response:
    await trio.sleep_forever()
    raise AssertionError


@pytest.mark.scenario("F26")
async def test_a_server_that_does_not_respond_is_given_32_seconds(make_client: MakeClient) -> None:
    with pytest.raises(
        DeadlineExceeded,
        match=r"GET /api/v1/pods: no complete response within 32 s, while waiting for api.example:6443 to respond",
    ):
        await make_client(Wire(silent)).request(GET)

    assert trio.current_time() == 32


async def test_the_deadline_of_a_request_replaces_the_clients(make_client: MakeClient) -> None:
    with pytest.raises(DeadlineExceeded, match=r"within 2\.5 s"):
        await make_client(Wire(silent), timeout=7).request(Request(method="GET", path="/api", timeout=2.5))

    assert trio.current_time() == 2.5


@pytest.mark.scenario("F26")
async def test_a_stalled_body_ends_at_the_deadline(make_client: MakeClient) -> None:
    async def stuck(request: httpx2.Request) -> httpx2.Response:
        async def body() -> object:
            yield b"{"
            await trio.sleep_forever()

        return httpx2.Response(200, content=body())  # type: ignore[arg-type]  # an async generator is one

    with pytest.raises(DeadlineExceeded, match="while reading the response"):
        await make_client(Wire(stuck)).request(GET)

    assert trio.current_time() == 32


@pytest.mark.scenario("F26")
async def test_an_error_with_a_stalled_body_ends_at_the_deadline(make_client: MakeClient) -> None:
    async def body() -> object:
        await trio.sleep_forever()
        yield b""

    wire = Wire(httpx2.Response(500, content=body()))  # type: ignore[arg-type]  # an async generator is one

    with pytest.raises(DeadlineExceeded, match=r"while reading the 500 response of api\.example:6443"):
        await make_client(wire).request(GET)


async def test_the_message_includes_the_previous_failure(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(429, headers={"Retry-After": "1"}, content=status(429, "", "slow down")), silent)

    with pytest.raises(DeadlineExceeded, match=r"the previous attempt failed: 429 TooManyRequests: slow down"):
        await make_client(wire).request(GET)

    assert trio.current_time() == 32


@pytest.mark.real_time
async def test_the_message_says_that_all_connections_are_in_use(nursery: trio.Nursery) -> None:
    asked = trio.Event()

    async def hang(stream: trio.abc.Stream, head: bytes) -> None:
        asked.set()
        await trio.sleep_forever()

    async with (
        serving(hang) as server,
        RESTClient(ClientConfig(server=server.url()), limits=Limits(max_connections=1)) as client,
    ):
        nursery.start_soon(client.request, GET)
        await asked.wait()
        with pytest.raises(DeadlineExceeded, match=r"all 1 connections are in use \(Limits\.max_connections\)$"):
            await client.request(replace(GET, timeout=0.1))
        nursery.cancel_scope.cancel()


@pytest.mark.scenario("F26")
async def test_waiting_for_a_credential_counts_against_the_deadline(make_client: MakeClient) -> None:
    class Hanging:
        async def current(self) -> Credential:
            await trio.sleep_forever()
            raise AssertionError

        async def refresh(self, rejected: Credential) -> Credential:
            return rejected

    config = ClientConfig(server="https://api.example", credentials=Hanging())

    with pytest.raises(DeadlineExceeded, match="while waiting for a credential from "):
        await make_client(Wire(silent), config=config).request(GET)


@pytest.mark.scenario("F26")
async def test_a_stream_without_response_headers_ends_after_75_seconds(make_client: MakeClient) -> None:
    with pytest.raises(DeadlineExceeded, match=r"GET /api/v1/pods \(watch\): no complete response within 75 s"):
        async with make_client(Wire(silent)).stream(GET, watch=True):
            pass

    assert trio.current_time() == 75


async def test_a_stream_has_no_deadline_after_its_response_headers(make_client: MakeClient) -> None:
    async def hourly() -> object:
        for _ in range(3):
            await trio.sleep(3600)
            yield b"tick"

    wire = Wire(httpx2.Response(200, content=hourly()))  # type: ignore[arg-type]  # an async generator is one

    async with make_client(wire).stream(GET, watch=True) as stream:
        ticks = [chunk async for chunk in stream]

    assert ticks == [b"tick"] * 3
    assert trio.current_time() == 3 * 3600


@pytest.mark.scenario("F37")
async def test_cancelling_a_request_ends_it_at_once(make_client: MakeClient) -> None:
    client = make_client(Wire(silent))

    with trio.move_on_after(1) as scope:
        await client.request(GET)

    assert scope.cancelled_caught
    assert client.statistics().open_requests == 0


async def test_infinity_means_no_deadline(make_client: MakeClient) -> None:
    async def slow(request: httpx2.Request) -> httpx2.Response:
        await trio.sleep(10**6)
        return httpx2.Response(200, content=chunks(b"{}"))

    await make_client(Wire(slow), timeout=math.inf).request(GET)

    assert trio.current_time() == 10**6


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
def test_an_invalid_deadline_is_rejected(make_client: MakeClient, timeout: float) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        make_client(Wire(silent), timeout=timeout)


@pytest.mark.parametrize(
    "numbers",
    [
        {"connect_timeout": 0},
        {"stream_opening_timeout": -1},
        {"max_connections": 0},
        {"max_response_bytes": 0},
        {"max_line_bytes": 0},
        {"max_header_bytes": 0},
        {"max_header_bytes": 1 << 20},
        {"max_retries": -1},
        {"max_reconnects": -1},
        {"keepalive": -1},
        {"qps": 0},
        {"qps": math.inf},
        {"burst": 0},
    ],
)
def test_the_error_for_an_invalid_limit_names_the_field(numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=f"Limits.{next(iter(numbers))}"):
        Limits(**numbers)
