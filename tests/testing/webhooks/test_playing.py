"""Webhooks that a test plays by functions: time, concurrent changes, and which calls reach them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from tests.contract.objects import JSONObject, config

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
URL = "https://hooks.example.com/hook"


@pytest.fixture
async def http(server: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url, timeout=None) as client:
        yield client


def configuration(kind: str = "Validating", resource: str = "configmaps", **more: Any) -> JSONObject:
    rules = [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": [resource]}]
    hook = {"name": "hook.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": rules}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": kind.lower()},
        "webhooks": [{**hook, "clientConfig": {"url": URL}, **more}],
    }


def label(review: JSONObject) -> JSONObject:
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
    return {"allowed": True, "patchType": "JSONPatch", "patch": b64encode(json.dumps(operations).encode()).decode()}


async def test_a_webhook_may_take_its_time(server: APIServer, http: httpx2.AsyncClient) -> None:
    async def slow(review: JSONObject) -> JSONObject:
        await trio.sleep(9)
        return {"allowed": True}

    server.create(configuration())
    server.on_webhook(URL, slow)
    started = trio.current_time()

    response = await http.post(CONFIGMAPS, json=config())

    assert response.status_code == 201
    assert trio.current_time() - started == 9


async def test_a_webhook_that_takes_too_long_fails_the_request(server: APIServer, http: httpx2.AsyncClient) -> None:
    async def hang(review: JSONObject) -> JSONObject:
        await trio.sleep_forever()
        raise AssertionError

    server.create(configuration(timeoutSeconds=3))
    server.on_webhook(URL, hang)
    started = trio.current_time()

    response = await http.post(CONFIGMAPS, json=config())

    assert trio.current_time() - started == 3
    assert response.json()["message"] == (
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
        'Post "https://hooks.example.com/hook?timeout=3s": context deadline exceeded'
    )


async def test_a_request_does_not_wait_for_ever(server: APIServer, http: httpx2.AsyncClient) -> None:
    async def change_always(review: JSONObject) -> JSONObject:
        await trio.sleep(5)
        stored = server.get("configmaps", "a")
        server.update({**stored, "data": {"time": str(trio.current_time())}})
        return {"allowed": True}

    server.create(config())
    server.create(configuration())
    server.on_webhook(URL, change_always)

    response = await http.patch(
        f"{CONFIGMAPS}/a", json={"data": {"k": "new"}}, headers={"Content-Type": "application/merge-patch+json"}
    )

    assert response.status_code == 504


async def test_a_patch_is_applied_to_what_changed_meanwhile(server: APIServer, http: httpx2.AsyncClient) -> None:
    calls = []

    async def change_once(review: JSONObject) -> JSONObject:
        calls.append(review["request"]["object"]["data"])
        if len(calls) == 1:
            server.update({**server.get("configmaps", "a"), "data": {"k": "v", "other": "x"}})
        return {"allowed": True}

    server.create(config())
    server.create(configuration())
    server.on_webhook(URL, change_once)

    response = await http.patch(
        f"{CONFIGMAPS}/a", json={"data": {"k": "new"}}, headers={"Content-Type": "application/merge-patch+json"}
    )

    assert response.json()["data"] == {"k": "new", "other": "x"}
    assert calls == [{"k": "new"}, {"k": "new", "other": "x"}]


async def test_an_update_conflicts_with_what_changed_meanwhile(server: APIServer, http: httpx2.AsyncClient) -> None:
    def change(review: JSONObject) -> JSONObject:
        server.update({**server.get("configmaps", "a"), "data": {"other": "x"}})
        return {"allowed": True}

    created = server.create(config())
    server.create(configuration())
    server.on_webhook(URL, change)

    response = await http.put(f"{CONFIGMAPS}/a", json={**created, "data": {"k": "new"}})

    assert response.status_code == 409


async def test_a_service_gets_one_address_however_often_its_create_is_handled(
    server: APIServer, http: httpx2.AsyncClient
) -> None:
    reviews = []

    def play(review: JSONObject) -> JSONObject:
        reviews.append(review["request"]["object"])
        return {"allowed": True}

    server.create(configuration(resource="services"))
    server.on_webhook(URL, play)

    created = (
        await http.post(
            "/api/v1/namespaces/default/services",
            json={"metadata": {"generateName": "s-"}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}},
        )
    ).json()

    (seen,) = reviews
    assert seen["metadata"]["uid"] == created["metadata"]["uid"]
    assert seen["metadata"]["name"] == created["metadata"]["name"]
    assert seen["spec"] == created["spec"]


async def test_without_webhooks_a_seed_gives_the_same_names() -> None:
    def names() -> list[str]:
        server = APIServer(random=Random(7))
        return [server.create({**config(), "metadata": {"generateName": "a-"}})["metadata"]["name"] for _ in range(3)]

    assert names() == names()


async def test_the_direct_methods_call_no_webhooks(server: APIServer) -> None:
    server.create(configuration())
    server.on_webhook(URL, lambda review: {"allowed": False})

    assert server.create(config())["metadata"]["name"] == "a"


async def test_a_function_plays_the_webhooks_of_a_service(server: APIServer, http: httpx2.AsyncClient) -> None:
    service = {"name": "hooks", "namespace": "shop", "path": "/mutate"}
    server.create(configuration("Mutating", clientConfig={"service": service}))
    server.on_webhook("https://hooks.shop.svc", label)

    response = await http.post(CONFIGMAPS, json=config())

    assert response.json()["metadata"]["labels"] == {"seen": "yes"}


async def test_the_latest_function_counts_also_for_a_part_of_the_paths(
    server: APIServer, http: httpx2.AsyncClient
) -> None:
    server.create(configuration("Mutating"))
    server.on_webhook(URL, lambda review: {"allowed": False})
    server.on_webhook("https://hooks.example.com", label)

    response = await http.post(CONFIGMAPS, json=config())

    assert response.json()["metadata"]["labels"] == {"seen": "yes"}


async def test_a_function_that_fails_fails_the_request(server: APIServer, http: httpx2.AsyncClient) -> None:
    server.create(configuration())
    server.on_webhook(URL, lambda review: review["nothing"])

    response = await http.post(CONFIGMAPS, json=config())

    assert response.status_code == 500
    assert response.json()["message"].endswith("hook?timeout=10s\": KeyError: 'nothing'")


async def test_a_service_without_network_is_not_reached(server: APIServer, http: httpx2.AsyncClient) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}}
    server.create(service)
    server.create(configuration(clientConfig={"service": {"name": "hooks", "namespace": "default"}}))

    response = await http.post(CONFIGMAPS, json=config())

    assert response.json()["message"].endswith('no endpoints available for service "hooks"')


@pytest.mark.parametrize("url", ["hooks.example.com", "ftp://hooks.example.com", "https://", "https://a:b:c"])
def test_a_url_must_be_one(url: str) -> None:
    with pytest.raises(InvalidInput, match="the URL of a webhook is"):
        APIServer().on_webhook(url, label)


async def test_watches_and_reads_call_no_webhooks(server: APIServer, http: httpx2.AsyncClient) -> None:
    server.create(config())
    server.create(configuration())
    server.on_webhook(URL, lambda review: {"allowed": False})

    assert (await http.get(f"{CONFIGMAPS}/a")).status_code == 200
    assert (await http.get(CONFIGMAPS)).status_code == 200
