"""Secrets that a response contains are hidden in errors, their causes, warnings and log records."""

from __future__ import annotations

import json
import logging
from urllib.parse import quote

import httpx2
import pytest

from dynkube.config import Credential, explicit_config
from dynkube.errors import APIError, DynkubeError, ProtocolError
from dynkube.rest._answers import error_from
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._redaction import Redactor
from tests.public_api.test_secrets import texts_of
from tests.rest.sockets import respond_with, serving
from tests.rest.wire import MakeClient, Wire

TOKEN = "s3cret/t0ken+of=mine"
PASSWORD = 'p"ä s3cret'
GET = Request(method="GET", path="/api/v1/pods")
ESCAPED = json.dumps({"kind": "Status", "status": "Failure", "message": TOKEN}).replace("s3", "\\u00733")

ECHOES = {
    "a Warning": httpx2.Response(200, headers={"Warning": f'299 - "you sent {TOKEN}"'}, content=b"{}"),
    "a Warning with escapes": httpx2.Response(
        200, headers={"Warning": '299 - "you sent ' + "".join(f"\\{c}" for c in TOKEN) + '"'}, content=b"{}"
    ),
    "a Location": httpx2.Response(302, headers={"Location": f"https://login/{TOKEN}"}),
    "a quoted Location": httpx2.Response(302, headers={"Location": f"https://login/{quote(TOKEN, safe='')}"}),
    "another quoted Location": httpx2.Response(302, headers={"Location": f"https://login/%733{TOKEN[2:]}"}),
    "an escaped Status": httpx2.Response(403, content=ESCAPED.encode()),
    "an escaped Status with 200": httpx2.Response(200, content=ESCAPED.encode()),
    "a content type": httpx2.Response(403, headers={"Content-Encoding": TOKEN}, content=b"x"),
    "a parser's error": httpx2.RemoteProtocolError(f"illegal header line: bytearray(b'Bearer {TOKEN}')"),
    "a proxy's error response": httpx2.ProxyError(f"407 {PASSWORD}"),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
async def test_a_returned_secret_is_hidden_everywhere(
    make_client: MakeClient, echo: httpx2.Response | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy = f"http://me:{quote(PASSWORD, safe='')}@proxy:3128"
    config = explicit_config("https://api.example", token=TOKEN, proxy_url=proxy)
    client, error = make_client(Wire(echo), config=config), None
    try:
        response = await client.request(GET)
        assert TOKEN not in str(response.warnings)
    except DynkubeError as exc:
        error = exc

    shown = [*texts_of(error), client.statistics().last_error, *(record.getMessage() for record in caplog.records)]
    assert not [text for text in shown if TOKEN in text or PASSWORD in text or quote(TOKEN, safe="") in text]
    assert "hidden" in str(shown) or "another quoted" in str(echo)


@pytest.mark.real_time
@pytest.mark.parametrize("sent", [b"%s\r\n\r\n", b"HTTP/1.1 200 OK\r\n%s : x\r\n\r\n", b"HTTP/1.1 999 %s\r\n\r\n"])
async def test_an_invalid_http_line_is_quoted_without_the_token(sent: bytes) -> None:
    async with serving(respond_with(sent % TOKEN.encode())) as server:
        config = explicit_config(server.url(), token=TOKEN)
        async with RESTClient(config) as client:
            with pytest.raises(DynkubeError) as caught:
                await client.request(GET)

    assert not [text for text in texts_of(caught.value) if TOKEN in text]


@pytest.mark.real_time
async def test_the_error_for_an_invalid_header_hides_its_value() -> None:
    request = Request(method="GET", path="/api/v1/pods", headers={"X-Mine": " s3cret"})
    async with serving(respond_with(b"")) as server, RESTClient(explicit_config(server.url())) as client:
        with pytest.raises(ProtocolError, match="the request is not valid HTTP") as caught:
            await client.request(request)

    assert not [text for text in texts_of(caught.value) if "s3cret" in text]


@pytest.mark.parametrize("text", [PASSWORD, json.dumps(PASSWORD), quote(PASSWORD), repr(PASSWORD.encode())])
def test_a_password_is_hidden_in_every_encoding(text: str) -> None:
    redact = Redactor([Credential({"Authorization": "Basic bWU6cCLDpCBzM2NyZXQ="})])

    shown = redact(f"you are {text}")

    assert "t" not in shown.removeprefix("you are "), "neither the password nor its last character"


def test_the_proxys_authorization_is_hidden() -> None:
    redact = Redactor(proxy_url=f"http://me:{quote(PASSWORD, safe='')}@proxy:3128")

    assert redact("407 for 'Basic bWU6cCLDpCBzM2NyZXQ='") == "407 for 'Basic <hidden>'"


def test_the_previous_credential_is_hidden_too() -> None:
    redact = Redactor([Credential({"Authorization": "Bearer older-token"}), Credential()])

    assert redact("older-token") == "<hidden>"


@pytest.mark.parametrize(
    ("request_line", "shown"),
    [
        (f"GET /apis/coordination.k8s.io/v1/namespaces/default/leases/{quote(TOKEN, safe='')}", TOKEN),
        ("GET /apis/coordination.k8s.io/v1/namespaces/default/leases", "<hidden>"),
        ("GET", "<hidden>"),
    ],
)
def test_the_name_in_a_status_is_hidden_unless_the_request_has_it(request_line: str, shown: str) -> None:
    body = {"kind": "Status", "code": 404, "message": f'leases "{TOKEN}" not found', "details": {"name": TOKEN}}
    redact = Redactor([Credential(headers={"Authorization": f"Bearer {TOKEN}"})])

    error = error_from(404, {}, json.dumps(body).encode(), request=request_line, redact=redact)

    assert isinstance(error, APIError)
    assert error.status.name == shown
    assert TOKEN not in error.status.message
