"""Writes rejected before their body was read: the response arrives, and an open connection can be reused."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import httpx
import pytest
import trio
import urllib3

from dynkube_testing import APIServer, ServerThread, User, serve_in_thread
from tests.testing.wire.test_http1 import connected, read_to_end, read_until, respond_413

pytestmark = pytest.mark.real_time

KIB = 1024
CONFIGS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
JSON = {"Content-Type": "application/json", "Authorization": "Bearer alices"}

Sender: TypeAlias = Callable[[str, str, bytes], int]
"""Sends a request with method, path and body; returns the status of the response."""


@contextmanager
def with_httpx(served: ServerThread, tls: ssl.SSLContext | None) -> Iterator[Sender]:
    with httpx.Client(base_url=served.endpoint.url, verify=tls or False, headers=JSON) as client:
        yield lambda method, path, body: client.request(method, path, content=body).status_code


@contextmanager
def with_urllib3(served: ServerThread, tls: ssl.SSLContext | None) -> Iterator[Sender]:
    with urllib3.PoolManager(ssl_context=tls, headers=JSON, retries=False) as pool:
        url = served.endpoint.url
        yield lambda method, path, body: pool.request(method, url + path, body=body).status


@contextmanager
def with_http_client(served: ServerThread, tls: ssl.SSLContext | None) -> Iterator[Sender]:
    host = served.endpoint.url.partition("://")[2]
    connection = http.client.HTTPSConnection(host, context=tls) if tls else http.client.HTTPConnection(host)

    def send(method: str, path: str, body: bytes) -> int:
        connection.request(method, path, body, headers=JSON)
        response = connection.getresponse()
        response.read()
        return response.status

    try:
        yield send
    finally:
        connection.close()


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "tls"])
def served(request: pytest.FixtureRequest) -> Iterator[ServerThread]:
    """A server on which alice may only list configmaps and create secrets."""
    server = APIServer(users={"alices": User("alice")}, rbac=True)
    server.grant("alice", verbs=["list"], resource="configmaps")
    server.grant("alice", verbs=["create"], resource="secrets")
    with serve_in_thread(server, tls=request.param) as thread:
        yield thread


@pytest.fixture(params=[with_httpx, with_urllib3, with_http_client])
def send(request: pytest.FixtureRequest, served: ServerThread) -> Iterator[Sender]:
    """A client that keeps its connections."""
    pem = served.endpoint.ca_pem
    with request.param(served, ssl.create_default_context(cadata=pem.decode()) if pem else None) as send:
        yield send


@pytest.mark.parametrize("size", [2, 100 * KIB, 256 * KIB, 1024 * KIB, 5 * 1024 * KIB])
def test_after_each_error_response_the_next_request_succeeds(send: Sender, size: int) -> None:
    for _ in range(10):
        assert send("POST", CONFIGS, b"x" * size) == 403
        assert send("GET", CONFIGS, b"") == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/v1/nothing"), ("PUT", f"{CONFIGS}/a"), ("PATCH", "/nowhere"), ("POST", "/version")],
)
def test_error_responses_of_any_method_and_path_can_be_read(send: Sender, method: str, path: str) -> None:
    for _ in range(3):
        assert send(method, path, b"x" * KIB) == 403
        assert send("GET", CONFIGS, b"") == 200


def test_a_body_that_is_too_large_is_a_413(send: Sender) -> None:
    for size in (3 * KIB + 1, 5 * KIB):
        assert send("POST", SECRETS, b"x" * size * KIB) == 413
        assert send("GET", CONFIGS, b"") == 200


@pytest.mark.parametrize("status", [401, 404, 405, 429, 503])
def test_injected_error_responses_can_be_read(send: Sender, served: ServerThread, status: int) -> None:
    served.run(served.server.fail, status=status, times=3, verb="create")

    for _ in range(3):
        assert send("POST", CONFIGS, b"x" * 100 * KIB) == status
        assert send("GET", CONFIGS, b"") == 200


POST = b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n"


async def test_a_connection_is_kept_if_the_unread_body_is_small() -> None:
    async with connected(respond_413) as client:
        for _ in range(2):
            await client.send_all(POST % (256 * KIB, b""))
            await client.send_all(b"x" * 256 * KIB)
            response = await read_until(client, b"\r\n\r\nno")
            assert b"connection: close" not in response.lower()


@pytest.mark.parametrize("fields", [b"", b"Expect: 100-continue\r\n"])
async def test_a_connection_is_closed_if_the_unread_body_is_large_or_needs_100_continue(fields: bytes) -> None:
    async with connected(respond_413) as client:
        await client.send_all(POST % (256 * KIB + 1 if not fields else 2, fields))
        response = await read_to_end(client)

    assert b"connection: close" in response.lower()
    assert response.endswith(b"\r\n\r\nno")


async def test_the_limit_for_unread_bodies_applies_to_chunked_ones() -> None:
    chunk = b"10000\r\n" + b"x" * 64 * KIB + b"\r\n"
    head = b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected(respond_413) as client:
        await client.send_all(head + 4 * chunk + b"0\r\n\r\n")
        assert b"connection: close" not in (await read_until(client, b"no")).lower()
        await client.send_all(head + 5 * chunk)
        assert b"connection: close" in (await read_to_end(client)).lower()


async def test_a_client_that_continues_sending_can_read_the_response() -> None:
    async with connected(respond_413) as client:
        await client.send_all(POST % (20 * KIB * KIB, b""))
        for _ in range(20):
            await client.send_all(b"x" * KIB * KIB)
        assert (await read_to_end(client)).endswith(b"no")


async def test_a_client_that_stops_within_its_body_gets_the_response() -> None:
    async with connected(respond_413) as client:
        await client.send_all(POST % (100, b"") + b"half")
        with trio.fail_after(30):
            response = await read_to_end(client)

    assert b"connection: close" in response.lower()
