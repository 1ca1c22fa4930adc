"""Requests as they are sent, and their responses without errors."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.config import BearerToken, ClientConfig, Impersonation
from dynkube.errors import ClosedError, CredentialError, InvalidInput
from dynkube.rest import Answer
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire

GET = Request(method="GET", path="/api/v1/pods")


async def test_a_response_has_status_headers_and_body(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200, headers=[("X-A", "1"), ("x-a", "2")], content=b'{"kind":"PodList"}'))

    response = await make_client(wire).request(GET)

    assert (response.status, response.body, response.request) == (200, b'{"kind":"PodList"}', "GET /api/v1/pods")
    assert response.headers["x-a"] == "1, 2"


async def test_the_url_has_the_servers_prefix_the_path_unchanged_and_the_parameters_quoted(
    make_client: MakeClient,
) -> None:
    wire = Wire(httpx2.Response(200))
    config = ClientConfig(server="https://rancher.example/k8s/clusters/c-1")
    request = Request(method="GET", path="/api/v1/x/a%2Fb%3A1", params={"labelSelector": "a in (b,c),d=é&f"})

    await make_client(wire, config=config).request(request)

    assert wire.requests[0].url.raw_path == (
        b"/k8s/clusters/c-1/api/v1/x/a%2Fb%3A1?labelSelector=a%20in%20%28b%2Cc%29%2Cd%3D%C3%A9%26f"
    )


async def test_a_request_has_user_agent_accept_and_content_headers(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(201))
    request = Request(method="POST", path="/api/v1/pods", body=b"{}", headers={"X-Mine": "1"})

    await make_client(wire, user_agent="backup/2").request(request)

    headers = wire.requests[0].headers
    assert (headers["user-agent"], headers["accept"], headers["x-mine"]) == ("backup/2", "application/json", "1")
    assert (headers["content-type"], headers["content-length"], headers["accept-encoding"]) == (
        "application/json",
        "2",
        "identity",
    )


async def test_the_user_agent_names_program_version_python_and_system(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200))

    await make_client(wire, user_agent=None).request(GET)

    assert wire.requests[0].headers["user-agent"].startswith("dynkube/")
    assert "(python/3." in wire.requests[0].headers["user-agent"]


async def test_credential_and_impersonation_replace_headers_of_the_caller(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200))
    config = ClientConfig(
        server="https://api.example",
        credentials=BearerToken("t0k3n"),
        impersonate=Impersonation(user="jane", groups=["dev", "ops"], extra={"example.com/team": ["a"]}),
    )
    request = Request(method="GET", path="/api", headers={"AUTHORIZATION": "Bearer mine", "Impersonate-User": "root"})

    await make_client(wire, config=config).request(request)

    headers = wire.requests[0].headers
    assert headers.get_list("authorization") == ["Bearer t0k3n"]
    assert headers.get_list("impersonate-user") == ["jane"]
    assert headers.get_list("impersonate-group") == ["dev", "ops"]
    assert headers["impersonate-extra-example.com%2fteam"] == "a"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"method": "get"}, "method 'get'"),
        ({"path": "api"}, "path 'api'"),
        ({"path": "/api?watch=1"}, "params"),
        ({"path": "/a b"}, "path '/a b'"),
        ({"path": "/é"}, "path '/é'"),
        ({"headers": {"X Y": "1"}}, "'X Y'"),
        ({"headers": {"X": "1\r\nY: 2"}}, "value of X"),
        ({"accept": "a\nb"}, "Accept"),
        ({"params": {"limit": None}}, "limit is None"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
    ],
)
def test_the_error_for_an_invalid_request_names_the_field(fields: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput, match=named.replace("?", "\\?")):
        Request(**{"method": "GET", "path": "/api", **fields})  # type: ignore[arg-type]  # the mistake under test


async def test_a_closed_client_raises_and_has_closed_its_transport(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(200))

    async with make_client(wire) as client:
        assert isinstance(await client.request(GET), Answer)

    assert wire.closed
    with pytest.raises(ClosedError):
        await client.request(GET)


async def test_a_credential_that_is_not_a_valid_header_is_rejected_without_being_shown(make_client: MakeClient) -> None:
    from dynkube.config import Credential

    class Broken:
        async def current(self) -> Credential:
            return Credential({"Authorization": "Bearer s3cret\r\nX: y"})

        async def refresh(self, rejected: Credential) -> Credential:
            return rejected

    config = ClientConfig(server="https://api.example", credentials=Broken())

    with pytest.raises(CredentialError) as caught:
        await make_client(Wire(httpx2.Response(200)), config=config).request(GET)

    assert "s3cret" not in str(caught.value)
    assert "Authorization" in str(caught.value)


async def test_a_url_that_is_too_long_is_rejected(make_client: MakeClient) -> None:
    request = Request(method="GET", path="/api/v1/pods", params={"labelSelector": "a" * 70_000})

    with pytest.raises(InvalidInput, match=r"GET /api/v1/pods: .*too long; shorten the selectors"):
        await make_client(Wire(httpx2.Response(200))).request(request)


async def test_a_parameter_that_is_not_unicode_is_rejected(make_client: MakeClient) -> None:
    request = Request(method="GET", path="/api/v1/pods", params={"fieldSelector": "metadata.name=\ud800"})

    with pytest.raises(InvalidInput, match=r"GET /api/v1/pods: .*not valid Unicode: it contains a lone surrogate"):
        await make_client(Wire(httpx2.Response(200))).request(request)
