"""Redirects are not followed, so no credential is sent to another server."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.config import BearerToken, ClientConfig
from dynkube.errors import ProtocolError
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire

HERE = "https://api.example:6443"


@pytest.mark.parametrize("code", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "location",
    [
        f"{HERE}/api/v1/pods/",  # the same server
        "/login",
        "//evil.example/api/v1/pods",  # another host, the same scheme
        "https://evil.example/api/v1/pods",
        "http://api.example:6443/api/v1/pods",  # the same host, without TLS
        "",
    ],
)
async def test_a_redirect_is_an_error_and_nothing_is_sent_to_its_target(
    make_client: MakeClient, code: int, method: str, location: str
) -> None:
    wire = Wire(httpx2.Response(code, headers={"Location": location} if location else {}))
    client = make_client(wire, config=ClientConfig(server=HERE, credentials=BearerToken("s3cret")))

    with pytest.raises(ProtocolError, match=rf"redirected \(HTTP {code}\).*not followed"):
        await client.request(Request(method=method, path="/api/v1/pods"))

    assert [(str(request.url), request.headers["authorization"]) for request in wire.requests] == [
        (f"{HERE}/api/v1/pods", "Bearer s3cret")
    ]


@pytest.mark.parametrize("watch", [True, False])
async def test_a_stream_follows_no_redirect_either(make_client: MakeClient, watch: bool) -> None:
    wire = Wire(httpx2.Response(307, headers={"Location": "https://evil.example/"}))

    with pytest.raises(ProtocolError, match="not followed"):
        async with make_client(wire).stream(Request(method="GET", path="/api/v1/pods"), watch=watch):
            pass

    assert len(wire.requests) == 1
