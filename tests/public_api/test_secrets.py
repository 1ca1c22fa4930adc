"""Secrets are not in reprs, errors (with their causes), states, statistics or log records."""

from __future__ import annotations

import base64
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import dynkube
from dynkube.config import ClientConfig, ExecCommand, ExecPlugin, explicit_config, load_config
from dynkube.errors import CredentialError, DynkubeError, Forbidden
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.sockets import respond_with, serving

MARKER = "m4rk3r-s3cret"
ENCODED = base64.b64encode(MARKER.encode()).decode()
FORMS = (MARKER, ENCODED, base64.b64encode(f"me:{MARKER}".encode()).decode())

API = "client.authentication.k8s.io/v1"

# Fields of a kubeconfig that contain secrets, and values that users write there by mistake.
FIELDS = ["token", "password", "client-key-data", "client-certificate-data", "tokenFile", "exec", "auth-provider", "as"]
SHAPES: list[Any] = [
    MARKER,
    ENCODED,
    f"{MARKER} {MARKER}",
    f"{MARKER}\nX: y",
    f"ü{MARKER}",
    [MARKER],
    {"name": "oidc", "config": {"id-token": MARKER}},
    {"name": MARKER, "config": [MARKER]},
    {"command": "x", "apiVersion": MARKER},
    {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": MARKER},
    {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1", "args": [MARKER, 5]},
    {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1", "env": [{"name": "A=", "value": MARKER}]},
    {"command": "x", "apiVersion": "client.authentication.k8s.io/v1beta1", "env": [{"name": "A", "value": MARKER}]},
    5,
    None,
]
PUBLIC = {"auth-provider", "as", "tokenFile"}  # names and paths, which are shown in errors


def texts_of(exc: BaseException | None) -> Iterator[str]:
    """Yield the texts of an exception and of all its causes and contexts, also those suppressed by ``from None``."""
    visited: set[int] = set()
    queue = [exc]
    while queue:
        link = queue.pop()
        if link is None or id(link) in visited:
            continue
        visited.add(id(link))
        yield from (str(link), repr(link), repr(link.args))
        queue += [link.__cause__, link.__context__, *getattr(link, "exceptions", ())]


def assert_silent(texts: Iterator[str] | list[str]) -> None:
    for text in texts:
        assert not [form for form in FORMS if form in text], text


users = st.dictionaries(st.sampled_from([field for field in FIELDS if field not in PUBLIC]), st.sampled_from(SHAPES))


@settings(max_examples=300)
@given(
    user=users,
    proxy=st.sampled_from([None, f"http://me:{MARKER}@proxy:3128", f"ftp://me:{MARKER}@proxy", f"//{MARKER}@"]),
)
def test_errors_for_invalid_kubeconfigs_contain_no_secrets(user: dict[str, Any], proxy: str | None) -> None:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example", "proxy-url": proxy}}],
        "users": [{"name": "u", "user": {"username": "me", **user} if "password" in user else user}],
    }
    try:
        config = load_config(kubeconfig=document)
    except DynkubeError as error:
        assert_silent(texts_of(error))
    else:
        assert_silent([repr(config), str(config), repr(config.credentials), str(config.credentials), repr(config.tls)])


def configs() -> list[ClientConfig]:
    return [
        explicit_config("https://api.example", token=MARKER, proxy_url=f"http://me:{MARKER}@proxy:3128"),
        explicit_config("https://api.example", basic_auth=("me", MARKER)),
    ]


def echo(request: httpx2.Request) -> bytes:
    return repr(request.headers.raw).encode()


def raise_what_it_was_given(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.LocalProtocolError(f"Illegal header value {request.headers.raw!r}")


RESPONSES = {
    "a response as text": lambda r: httpx2.Response(500, content=echo(r)),
    "a page": lambda r: httpx2.Response(404, headers={"Content-Type": "text/html"}, content=b"<html>" + echo(r)),
    "a Status": lambda r: httpx2.Response(
        403, content=json.dumps({"kind": "Status", "message": str(echo(r))}).encode()
    ),
    "an unauthorized": lambda r: httpx2.Response(401, content=echo(r)),
    "no JSON": lambda r: httpx2.Response(200, content=b"<html>"),
    "no HTTP": raise_what_it_was_given,
}


class Mirror(httpx2.AsyncBaseTransport):
    """A transport whose responses contain the request."""

    def __init__(self, respond: Any) -> None:
        self._respond = respond

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response: httpx2.Response = self._respond(request)
        return response


@pytest.mark.parametrize("config", configs(), ids=["token", "basic"])
@pytest.mark.parametrize("respond", RESPONSES.values(), ids=RESPONSES.keys())
async def test_a_response_that_echoes_the_request_is_not_quoted(
    config: ClientConfig, respond: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with RESTClient(config, transport=Mirror(respond)) as client:
        error: DynkubeError | None = None
        try:
            await client.request(Request(method="GET", path="/api/v1/pods", accept="application/json"))
        except DynkubeError as exc:
            error = exc

        assert error is not None or b"<html>" in respond(httpx2.Request("GET", "https://a")).content
        assert_silent([*texts_of(error), repr(client), str(client.statistics())])
    assert_silent([record.getMessage() + repr(record.args) + str(record.exc_info) for record in caplog.records])


@pytest.mark.real_time
async def test_libraries_do_not_log_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    forbidden = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}"
    async with serving(respond_with(forbidden)) as proxy:
        way = f"http://me:{MARKER}@127.0.0.1:{proxy.port}"
        config = explicit_config("http://api.invalid", token=MARKER, proxy_url=way)
        with pytest.warns(dynkube.InsecureTLSWarning) as warned:
            client = RESTClient(config)
        async with client:
            with pytest.raises(Forbidden) as caught:
                await client.request(Request(method="GET", path="/api"))

    assert MARKER.encode() in proxy.heads[0]  # it was sent
    assert_silent([*texts_of(caught.value), *(str(warning.message) for warning in warned)])
    assert_silent([record.getMessage() for record in caplog.records])
    assert {record.name.partition(".")[0] for record in caplog.records} >= {"dynkube", "httpcore2"}


STREAMS = ("stdout", "stderr")
PRINTED = {
    "no JSON": f"{MARKER}",
    "bytes": f"\udcff{MARKER}",
    "another kind": json.dumps({"kind": MARKER, "token": MARKER}),
    "a token that cannot be sent": json.dumps(
        {"kind": "ExecCredential", "apiVersion": API, "status": {"token": f"{MARKER} x"}}
    ),
    "half a certificate": json.dumps(
        {"kind": "ExecCredential", "apiVersion": API, "status": {"clientKeyData": MARKER}}
    ),
    "no certificate": json.dumps(
        {
            "kind": "ExecCredential",
            "apiVersion": API,
            "status": {"clientKeyData": MARKER, "clientCertificateData": MARKER},
        }
    ),
}


@pytest.mark.real_time
@pytest.mark.parametrize("printed", PRINTED.values(), ids=PRINTED.keys())
async def test_the_output_of_a_plugin_is_not_quoted(printed: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    out, err = (f"sys.{stream}.buffer.write({printed!r}.encode(errors='surrogateescape'))" for stream in STREAMS)
    script = f"import sys; {out}; {err}"
    command = ExecCommand(command=sys.executable, args=("-ISc", script), api_version=API, interactive_mode="Never")
    plugin = ExecPlugin(command)

    with pytest.raises(CredentialError) as caught:
        await plugin.current()

    assert_silent([*texts_of(caught.value), repr(plugin), str(plugin), repr(command)])


@pytest.mark.parametrize(
    "respond", [RESPONSES["an unauthorized"], RESPONSES["a Status"], RESPONSES["a response as text"]]
)
async def test_failures_of_informers_contain_no_secrets(respond: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = "https://api.example"
    async with (
        dynkube.connect(url=url, token=MARKER, transport=Mirror(respond)) as client,
        client.informer("pods.v1") as pods,
    ):
        await trio.sleep(60)

        assert pods.state.phase in {dynkube.UNKNOWN, dynkube.DEGRADED}
        assert_silent([repr(pods), str(pods.state), str(pods.statistics()), repr(client), repr(client.config)])
    # All attributes of a record, including the structured fields.
    assert_silent([record.getMessage() + repr(vars(record)) for record in caplog.records])
    assert [record for record in caplog.records if record.name.startswith("dynkube")]


@pytest.mark.real_time
async def test_the_token_of_a_plugin_is_not_logged_from_its_stderr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    output = json.dumps({"kind": "ExecCredential", "apiVersion": API, "status": {"token": MARKER}})
    script = f"import sys; print('got {MARKER}', file=sys.stderr, flush=True); print({output!r})"
    command = ExecCommand(command=sys.executable, args=("-ISc", script), api_version=API, interactive_mode="Never")

    await ExecPlugin(command).current()

    assert [record.getMessage() for record in caplog.records] == ["got <hidden>"]
