"""Webhooks that the embedded server calls over TLS."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from dynkube_testing import APIServer
from tests.contract.objects import JSONObject, config, version
from tests.contract.webhook_server import Webhooks, deny, labelled, open_webhooks
from tests.testing.engine.cluster import crd, widget

pytestmark = pytest.mark.real_time
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
def webhooks() -> Iterator[Webhooks]:
    with open_webhooks(None) as webhooks:
        yield webhooks


@pytest.fixture
async def endpoint(server: APIServer) -> AsyncIterator[str]:
    async with server.serve() as endpoint:
        yield endpoint.url


def configure(server: APIServer, kind: str, client: JSONObject) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}]
    hook = {"name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": rules}
    kind = f"{kind}WebhookConfiguration"
    metadata, api = {"name": "hooks"}, "admissionregistration.k8s.io/v1"
    server.create(
        {"apiVersion": api, "kind": kind, "metadata": metadata, "webhooks": [{**hook, "clientConfig": client}]}
    )


async def create(endpoint: str, body: JSONObject | None = None) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=endpoint) as client:
        return await client.post(CONFIGMAPS, json=body or config())


async def test_a_webhook_is_called_with_its_ca(server: APIServer, endpoint: str, webhooks: Webhooks) -> None:
    webhooks.play("/hook", labelled("a"))
    configure(server, "Mutating", webhooks.client_config("/hook"))

    response = await create(endpoint)

    assert response.json()["metadata"]["labels"] == {"a": "yes"}


async def test_a_large_object_is_handled_in_a_thread(server: APIServer, endpoint: str, webhooks: Webhooks) -> None:
    webhooks.play("/hook", labelled("a"))
    configure(server, "Mutating", webhooks.client_config("/hook"))

    response = await create(endpoint, {**config(), "data": {"k": "x" * 100_000}})

    assert response.json()["metadata"]["labels"] == {"a": "yes"}
    assert len(webhooks.requests["/hook"]) == 1


async def test_a_certificate_of_another_ca_fails_the_request(
    server: APIServer, endpoint: str, webhooks: Webhooks
) -> None:
    configure(server, "Validating", {"url": f"{webhooks.url}/hook"})

    response = await create(endpoint)

    why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert response.json()["message"].endswith(f'/hook?timeout=10s": {why}')


async def test_a_path_without_a_webhook_fails_the_request(server: APIServer, endpoint: str, webhooks: Webhooks) -> None:
    configure(server, "Validating", webhooks.client_config("/none"))

    response = await create(endpoint)

    assert response.json()["message"] == (
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
        "the server could not find the requested resource"
    )


async def test_a_closed_port_fails_the_request(server: APIServer, endpoint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    configure(server, "Validating", {"url": f"https://127.0.0.1:{port}/hook"})

    response = await create(endpoint)

    assert response.json()["message"].endswith(
        f'Post "https://127.0.0.1:{port}/hook?timeout=10s": dial tcp 127.0.0.1:{port}: connect: connection refused'
    )


async def test_a_service_is_called_at_another_url(server: APIServer, endpoint: str, webhooks: Webhooks) -> None:
    webhooks.play("/hook", deny("no"))
    service = {"name": "hooks", "namespace": "shop", "path": "/hook"}
    configure(server, "Validating", {"service": service, "caBundle": webhooks.ca_bundle})
    server.on_webhook("https://hooks.shop.svc", webhooks.url)

    response = await create(endpoint)

    assert response.json()["message"] == 'admission webhook "hook.example.com" denied the request: no'


async def test_a_response_above_the_limit_fails_the_request(
    server: APIServer, endpoint: str, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynkube_testing._wire.webhooks.MAX_RESPONSE", 50_000)
    webhooks.play("/hook", lambda _: {"allowed": True, "warnings": ["x" * 50_000]})
    configure(server, "Validating", webhooks.client_config("/hook"))

    response = await create(endpoint)

    assert response.json()["message"].endswith(": the response has more than 50000 bytes")


async def test_a_large_response_is_decoded_in_a_thread(server: APIServer, endpoint: str, webhooks: Webhooks) -> None:
    webhooks.play("/hook", lambda _: {"allowed": False, "status": {"message": "no" * 5_000}})
    configure(server, "Validating", webhooks.client_config("/hook"))

    response = await create(endpoint)

    assert response.json()["message"].endswith("denied the request: " + "no" * 5_000)


async def test_a_response_that_is_not_json_fails_the_request(
    server: APIServer, endpoint: str, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "respond", lambda path, body: b'{"response": nope}')
    configure(server, "Validating", webhooks.client_config("/hook"))

    response = await create(endpoint)

    why = "invalid character 'o' in literal null (expecting 'u')"
    assert response.json()["message"].endswith(f"couldn't get version/kind; json parse error: {why}")


async def test_a_conversion_webhook_is_called_for_large_objects(
    server: APIServer, endpoint: str, webhooks: Webhooks
) -> None:
    def convert(review: JSONObject) -> JSONObject:
        request = review["request"]
        converted = [{**obj, "apiVersion": request["desiredAPIVersion"]} for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        return {**review, "response": response}

    webhooks.answer("/convert", convert)
    hook = {"clientConfig": webhooks.client_config("/convert"), "conversionReviewVersions": ["v1"]}
    versions = [version("v1"), version("v2", storage=False)]
    server.create(crd(versions=versions, conversion={"strategy": "Webhook", "webhook": hook}))
    path = "/apis/example.com/v2/namespaces/default/widgets"

    async with httpx2.AsyncClient(base_url=endpoint) as client:
        body = {**widget(api_version="example.com/v2"), "spec": {"text": "x" * 100_000}}
        created = await client.post(path, json=body)
        read = await client.get(f"{path}/{body['metadata']['name']}")

    assert created.status_code == 201
    assert created.json() == read.json()
