"""Rejected and replaced credentials."""

from __future__ import annotations

import pickle
import traceback

import httpx2
import pytest

from dynkube.config import BearerToken, ClientConfig, Credential
from dynkube.errors import CredentialError, ProtocolError, Unauthorized
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, status

GET = Request(method="GET", path="/api/v1/pods")


class Rotating:
    """A source that returns each token until it is rejected, then the next; the last one stays."""

    def __init__(self, *tokens: str) -> None:
        self._credentials = [Credential({"Authorization": f"Bearer {token}"}) for token in tokens]
        self.rejected: list[Credential] = []

    async def current(self) -> Credential:
        return self._credentials[0]

    async def refresh(self, rejected: Credential) -> Credential:
        self.rejected.append(rejected)
        if len(self._credentials) > 1:
            del self._credentials[0]
        return self._credentials[0]


def accepting(token: str) -> Wire:
    def respond(request: httpx2.Request) -> httpx2.Response:
        if request.headers.get("authorization") == f"Bearer {token}":
            return httpx2.Response(200)
        return httpx2.Response(401, content=status(401, "Unauthorized", "Unauthorized"))

    return Wire(respond)


def client_with(make_client: MakeClient, wire: Wire, *tokens: str) -> RESTClient:
    return make_client(wire, config=ClientConfig(server="https://api.example", credentials=Rotating(*tokens)))


@pytest.mark.scenario("F24", "P13")
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_rejected_token_is_refreshed_and_the_request_repeated(make_client: MakeClient, method: str) -> None:
    wire = accepting("new")
    client = client_with(make_client, wire, "old", "new")

    response = await client.request(Request(method=method, path="/api", body=b"body"))

    assert response.status == 200
    assert [request.content for request in wire.requests] == [b"body", b"body"]
    assert client.statistics().refreshes == 1


async def test_the_error_about_a_rejected_token_says_where_it_is_from(make_client: MakeClient) -> None:
    source = "kubeconfig /home/me/.kube/config, context 'shop'"
    config = ClientConfig(server="https://api.example", credentials=BearerToken("old"), source=source)

    with pytest.raises(Unauthorized) as caught:
        await make_client(accepting("new"), config=config).request(GET)

    assert str(caught.value) == (
        f"401 Unauthorized: Unauthorized [GET /api/v1/pods]; these credentials (from {source}) are not valid for this "
        "server, or have expired: renew them"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


async def test_the_error_about_missing_credentials_says_how_to_pass_some(make_client: MakeClient) -> None:
    config = ClientConfig(server="https://api.example", source="url=")

    with pytest.raises(Unauthorized, match=r"no credentials were sent: pass token=, or a kubeconfig .* \(from url=\)"):
        await make_client(accepting("new"), config=config).request(GET)


@pytest.mark.scenario("F24")
async def test_a_token_rejected_after_its_refresh_is_unauthorized(make_client: MakeClient) -> None:
    wire = accepting("none of them")

    with pytest.raises(Unauthorized, match="Unauthorized"):
        await client_with(make_client, wire, "a", "b", "c").request(GET)

    assert len(wire.requests) == 2


async def test_without_a_newer_credential_nothing_is_repeated(make_client: MakeClient) -> None:
    wire = accepting("another")
    config = ClientConfig(server="https://api.example", credentials=BearerToken("fixed"))

    with pytest.raises(Unauthorized):
        await make_client(wire, config=config).request(GET)

    assert len(wire.requests) == 1


@pytest.mark.scenario("F24")
async def test_a_stream_is_opened_with_a_refreshed_token(make_client: MakeClient) -> None:
    wire = accepting("new")

    async with client_with(make_client, wire, "old", "new").stream(GET, watch=True) as stream:
        assert stream.status == 200

    assert len(wire.requests) == 2


async def test_the_error_of_a_failing_source_is_raised_and_recorded_as_the_last(make_client: MakeClient) -> None:
    class Failing(Rotating):
        async def current(self) -> Credential:
            raise CredentialError("the plugin exited with 1")

    wire = Wire(httpx2.Response(200))
    client = make_client(wire, config=ClientConfig(server="https://api.example", credentials=Failing("x")))

    with pytest.raises(CredentialError, match="exited with 1"):
        await client.request(GET)

    assert wire.requests == []
    assert client.statistics().last_error == "the plugin exited with 1"


async def test_reprs_errors_and_logs_hide_the_token(make_client: MakeClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    client = client_with(make_client, accepting("other"), "t0k3n-s3cret")

    with pytest.raises(Unauthorized) as caught:
        await client.request(GET)

    shown = f"{client!r} {caught.value!r} {client.statistics()} {caplog.text}"
    assert "s3cret" not in shown
    assert "GET /api/v1/pods: 401" in caplog.text


async def test_an_error_of_the_transport_about_the_request_does_not_quote_it(make_client: MakeClient) -> None:
    wire = Wire(httpx2.LocalProtocolError("Illegal header value b'Bearer t0k3n-s3cret'"))

    with pytest.raises(ProtocolError, match="is not valid HTTP") as caught:
        await make_client(wire).request(GET)

    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
