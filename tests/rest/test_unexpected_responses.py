"""Responses that are no errors, but not of the requested kind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from dynkube.errors import ConnectionLost, ProtocolError
from dynkube.rest import Limits
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, chunks

GET = Request(method="GET", path="/api/v1/pods")
LOGIN = b"<!DOCTYPE html><html><body>Sign in</body></html>"


@pytest.mark.scenario("F19")
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "TEXT/HTML", ""])
async def test_html_in_place_of_json_is_an_error_that_suggests_a_proxy_or_login_page(
    make_client: MakeClient, content_type: str
) -> None:
    wire = Wire(httpx2.Response(200, headers={"Content-Type": content_type}, content=LOGIN))

    with pytest.raises(
        ProtocolError, match=r"GET /api/v1/pods: expected JSON, received an HTML page \(HTTP 200\).*login page"
    ):
        await make_client(wire).request(GET)


class Body(httpx2.AsyncByteStream):
    """The body of a response, which records whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield LOGIN

    async def aclose(self) -> None:
        self.closed = True


async def test_a_response_that_is_rejected_by_its_head_is_closed(make_client: MakeClient) -> None:
    body = Body()
    wire = Wire(httpx2.Response(200, headers={"Content-Type": "text/html"}, stream=body))
    client = make_client(wire)

    with pytest.raises(ProtocolError):
        await client.request(GET)

    assert body.closed
    assert client.statistics().open_requests == 0


@pytest.mark.parametrize("code", [404, 410])
async def test_a_404_with_an_html_page_is_not_a_not_found(make_client: MakeClient, code: int) -> None:
    wire = Wire(httpx2.Response(code, headers={"Content-Type": "text/html"}, content=b"<html>no backend</html>"))

    with pytest.raises(ProtocolError, match=f"HTTP {code} with an HTML page instead of a Status.*no backend"):
        await make_client(wire).request(Request(method="GET", path="/api/v1/pods"))


async def test_html_is_accepted_if_the_request_accepts_anything(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, headers={"Content-Type": "text/html"}, content=LOGIN))

    response = await make_client(wire).request(Request(method="GET", path="/proxy/", accept="*/*"))

    assert response.body == LOGIN


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_a_redirect_is_an_error_with_its_target_without_the_query(make_client: MakeClient, code: int) -> None:
    location = "https://user:pw@login.example/oauth?state=s3cret#x"
    wire = Wire(httpx2.Response(code, headers={"Location": location}))

    with pytest.raises(ProtocolError, match=rf"HTTP {code}\) to 'https://login.example/oauth'") as caught:
        await make_client(wire).request(GET)

    assert len(wire.requests) == 1
    assert "s3cret" not in str(caught.value)
    assert "pw" not in str(caught.value)


async def test_a_304_is_returned_for_conditional_requests_and_an_error_for_others(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(304))
    client = make_client(wire)

    response = await client.request(Request(method="GET", path="/apis", headers={"If-None-Match": '"e"'}))

    assert response.status == 304
    with pytest.raises(ProtocolError, match="HTTP 304"):
        await client.request(GET)


async def test_a_compressed_response_is_rejected_as_none_was_requested(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, headers={"Content-Encoding": "GZIP"}, content=chunks(b"\x1f\x8b")))

    with pytest.raises(ProtocolError, match=r"compressed \(gzip\)"):
        await make_client(wire).request(GET)


@pytest.mark.scenario("F19")
@pytest.mark.parametrize("headers", [{}, {"Content-Length": "11"}])
async def test_the_error_for_a_response_over_the_limit_names_the_limit(
    make_client: MakeClient, headers: dict[str, str]
) -> None:
    wire = Wire(lambda request: httpx2.Response(200, headers=headers, content=chunks(b"12345", b"67890", b"1")))

    with pytest.raises(ProtocolError, match=r"larger than 10 bytes \(Limits.max_response_bytes\)"):
        await make_client(wire, limits=Limits(max_response_bytes=10)).request(GET)

    response = await make_client(wire, limits=Limits(max_response_bytes=11)).request(GET)
    assert len(response.body) == 11


async def test_a_body_with_a_content_length_over_the_limit_is_not_read(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, headers={"Content-Length": "11"}, content=chunks(KeyError("read"))))

    with pytest.raises(ProtocolError, match="larger than 10 bytes"):
        await make_client(wire, limits=Limits(max_response_bytes=10)).request(GET)


async def test_the_error_for_a_truncated_response_has_the_number_of_bytes(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, content=chunks(b"12345", httpx2.ReadError(""))))

    with pytest.raises(
        ConnectionLost, match=r"the response of api\.example:6443 was truncated after 5 bytes: ReadError"
    ):
        await make_client(wire).request(GET)

    assert len(wire.requests) == 1


async def test_a_stream_is_checked_like_a_request(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, headers={"Content-Type": "text/html"}, content=LOGIN))

    with pytest.raises(ProtocolError, match="HTML page"):
        async with make_client(wire).stream(GET, watch=True):
            pass
