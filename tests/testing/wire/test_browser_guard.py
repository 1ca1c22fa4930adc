"""Requests that a server without authentication rejects because web pages may have sent them."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import APIError, InvalidInput
from dynkube_testing import APIServer
from dynkube_testing._wire.browser_guard import BrowserGuard
from dynkube_testing._wire.http import HTTPRequest

LOOPBACK = BrowserGuard("127.0.0.1")
CONFIGS = "/api/v1/namespaces/default/configmaps"
CONFIG = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'


def error_of(guard: BrowserGuard = LOOPBACK, method: str = "GET", **headers: str) -> APIError | None:
    """Return the error that the guard raises, or ``None``; names of headers are passed with underscores."""
    given = {"host": "127.0.0.1:8001", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        guard.check(HTTPRequest(method=method, path="/api", segments=("api",), headers=given))
    except APIError as error:
        return error
    return None


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8001", "127.3.2.1:1", "localhost", "LocalHost.:8001", "[::1]:8001", "[::1]"]
)
def test_loopback_hosts_are_accepted(host: str) -> None:
    assert error_of(host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8001",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.0.7:8001",
        "[fe80::1]:8001",
        "",
        "[",
        "localhost:x",
    ],
)
def test_any_other_host_is_a_403_that_names_the_option_to_accept_it(host: str) -> None:
    error = error_of(host=host)

    assert error is not None
    assert error.status.code == 403
    assert repr(host) in error.status.message
    assert "--accept-hosts" in error.status.message


@pytest.mark.parametrize(
    ("listens", "host", "accepted"),
    [
        ("192.168.0.7", "192.168.0.7:8001", True),
        ("192.168.0.7", "192.168.0.8:8001", False),
        ("cluster.local", "Cluster.Local:8001", True),
        ("0.0.0.0", "192.168.0.8:8001", True),
        ("::", "[fd00::8]:8001", True),
        ("0.0.0.0", "evil.example:8001", False),
    ],
)
def test_the_address_that_the_server_listens_on_is_accepted_as_host(listens: str, host: str, accepted: bool) -> None:
    assert (error_of(BrowserGuard(listens), host=host) is None) is accepted


@pytest.mark.parametrize(
    ("host", "accepted"),
    [("dev.box:80", True), ("DEV.box", True), ("a.lan", True), ("a.lan.evil.example", False), ("xdev.box", False)],
)
def test_accepted_hosts_are_regular_expressions_for_the_whole_name(host: str, accepted: bool) -> None:
    guard = BrowserGuard("127.0.0.1", [r"dev\.box", r"^[a-z]+\.lan$"])

    assert (error_of(guard, host=host) is None) is accepted


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        ("http://127.0.0.1:8001", True),
        ("https://127.0.0.1:8001", True),
        ("http://127.0.0.1:3000", False),
        ("http://localhost:8001", False),
        ("http://127.0.0.1", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_other_origins_are_rejected(origin: str, accepted: bool) -> None:
    error = error_of(origin=origin)

    assert (error is None) is accepted
    assert error is None or error.status.code == 403


def test_default_ports_may_be_omitted() -> None:
    assert error_of(host="localhost", origin="http://localhost:80") is None
    assert error_of(host="localhost:443", origin="https://localhost") is None
    assert error_of(host="localhost:443", origin="http://localhost") is not None


@pytest.mark.parametrize(
    ("site", "accepted"), [("none", True), ("same-origin", True), ("same-site", True), ("cross-site", False)]
)
def test_cross_site_requests_are_rejected(site: str, accepted: bool) -> None:
    assert (error_of(sec_fetch_site=site) is None) is accepted


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_write_of_a_browser_without_a_content_type_is_a_415(method: str) -> None:
    error = error_of(method=method, user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Firefox/60.0")

    assert error is not None
    assert error.status.code == 415
    assert error_of(method=method, user_agent="Mozilla/5.0", content_type="application/json") is None
    assert error_of(method=method, user_agent="OpenAPI-Generator/37.0.2/python") is None
    assert error_of(method="DELETE", user_agent="Mozilla/5.0") is None


@pytest.mark.parametrize("hosts", ["localhost", ["("], ["a|b)(c"]])
def test_invalid_expressions_for_hosts_are_rejected(hosts: list[str]) -> None:
    with pytest.raises(InvalidInput, match="accept_hosts"):
        BrowserGuard("127.0.0.1", hosts)


@pytest.mark.real_time
async def test_a_server_without_authentication_is_guarded() -> None:
    foreign = {"Host": "evil.example"}
    async with APIServer() as server, server.serve(accept_hosts=["dev.box"]) as endpoint:
        async with httpx2.AsyncClient(base_url=endpoint.url) as client:
            read = await client.get("/api/v1/secrets", headers=foreign)
            written = await client.post(CONFIGS, content=CONFIG, headers={"Origin": "http://evil.example"})
            untyped = await client.post(CONFIGS, content=CONFIG, headers={"User-Agent": "Mozilla/5.0"})
            named = await client.get("/api/v1/secrets", headers={"Host": "dev.box:80"})

        assert [response.status_code for response in (read, written, untyped, named)] == [403, 403, 415, 200]
        assert read.json()["kind"] == "Status"
        assert read.json()["reason"] == "Forbidden"
        assert server.list("configmaps") == []


@pytest.mark.real_time
async def test_a_server_with_a_token_accepts_any_host() -> None:
    headers = {"Host": "cluster.example", "Authorization": "Bearer secret"}
    async with (
        APIServer(token="secret") as server,
        server.serve() as endpoint,
        httpx2.AsyncClient(base_url=endpoint.url, headers=headers) as client,
    ):
        read = await client.get("/api/v1/secrets")
        written = await client.post(CONFIGS, content=CONFIG)

    assert [read.status_code, written.status_code] == [200, 201]
