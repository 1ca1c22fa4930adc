"""What the embedded server does itself with objects that a webhook converts, and calls that cannot reach a webhook."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
import trio

from dynkube.errors import NotFound, ServerError
from dynkube_testing import APIServer
from tests.contract.objects import JSONObject, config, version
from tests.testing.engine.cluster import crd, widget

HOST, URL = "https://converter.shop.svc:443", "https://converter.shop.svc/convert"
V1, V2 = "widgets.v1.example.com", "widgets.v2.example.com"
CRD = "widgets.example.com"


def convert(review: JSONObject) -> JSONObject:
    request = review["request"]
    for obj in request["objects"]:
        obj["apiVersion"] = request["desiredAPIVersion"]
        obj["spec"]["seenBy"] = obj["apiVersion"]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": request["objects"]}
    return {**review, "response": response}


def never(review: JSONObject) -> JSONObject:
    raise AssertionError("called")


@pytest.fixture
def play(server: APIServer) -> Callable[[Callable[[JSONObject], JSONObject]], None]:
    """Serve Widgets in v2 and v1, in which they are stored; returns a function that sets the webhook."""
    service = {"name": "converter", "namespace": "shop", "path": "/convert"}
    hook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    versions = [version("v2", storage=False, subresources={"status": {}}), version("v1")]
    server.create(crd(versions=versions, conversion={"strategy": "Webhook", "webhook": hook}))
    return lambda function: server.on_webhook(URL, function)


def owned(owner: JSONObject) -> JSONObject:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"]}
    obj = widget(spec={"a": 1})
    obj["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"]}]
    return obj


async def test_synchronous_methods_need_the_stored_version(server: APIServer, play: Callable[..., None]) -> None:
    play(never)
    server.create(widget(spec={"a": 1}))

    with pytest.raises(ServerError, match="webhooks are not called for this request; use the version v1"):
        server.get(V2, "w")

    assert server.get(V1, "w")["spec"] == {"a": 1}


async def test_a_slow_webhook_fails_after_thirty_seconds(
    server: APIServer, client: httpx2.AsyncClient, play: Callable[..., None]
) -> None:
    async def sleep(review: JSONObject) -> JSONObject:
        await trio.sleep(31)
        return convert(review)

    play(sleep)
    server.create(widget(spec={"a": 1}))
    before = trio.current_time()

    response = await client.get("/apis/example.com/v2/namespaces/default/widgets/w")

    why = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
    assert response.json()["message"].endswith(f'failed: Post "{HOST}/convert?timeout=30s": {why}')
    assert trio.current_time() - before == 30


async def test_the_controllers_call_no_webhook(server: APIServer, play: Callable[..., None]) -> None:
    play(never)
    owner = server.create(config())
    server.create(owned(owner))

    server.delete("configmaps", "a")

    with pytest.raises(NotFound):
        server.get(V1, "w")


async def test_a_reference_is_removed_from_the_stored_version(server: APIServer, play: Callable[..., None]) -> None:
    play(never)
    owner = server.create(config(finalizers=["orphan"]))
    created = server.create(owned(owner))

    server.delete("configmaps", "a")

    left = server.get(V1, "w")
    assert "ownerReferences" not in left["metadata"]
    assert left["spec"] == created["spec"]
    (entry,) = left["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:a": {}}}


async def test_a_namespace_is_emptied_although_the_webhook_fails(server: APIServer, play: Callable[..., None]) -> None:
    play(never)
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    obj = widget(spec={"a": 1})
    server.create({**obj, "metadata": {**obj["metadata"], "namespace": "shop", "finalizers": ["example.com/hold"]}})

    server.delete("namespaces", "shop")

    left = server.get(V1, "w", "shop")
    assert (left["spec"], "deletionTimestamp" in left["metadata"]) == ({"a": 1}, True)


async def test_a_crd_is_deleted_although_its_webhook_fails(server: APIServer, play: Callable[..., None]) -> None:
    play(never)
    server.create(widget(spec={"a": 1}))

    server.delete("customresourcedefinitions", CRD)

    with pytest.raises(NotFound):
        server.get("customresourcedefinitions", CRD)


async def test_objects_stay_in_their_version_until_they_are_written(
    server: APIServer, client: httpx2.AsyncClient, play: Callable[..., None]
) -> None:
    play(convert)
    server.create(widget(spec={"a": 1}))
    definition = server.get("customresourcedefinitions", CRD)
    for each in definition["spec"]["versions"]:
        each["storage"] = each["name"] == "v2"
    server.load(definition)

    path = "/apis/example.com/{}/namespaces/default/widgets/w"
    assert (await client.get(path.format("v1"))).json()["spec"] == {"a": 1}
    read = (await client.get(path.format("v2"))).json()
    assert read["spec"] == {"a": 1, "seenBy": "example.com/v2"}
    await client.put(path.format("v2"), json={**read, "spec": {"a": 2}})
    assert (await client.get(path.format("v1"))).json()["spec"] == {"a": 2, "seenBy": "example.com/v1"}


async def test_a_status_is_written_in_another_version(
    server: APIServer, client: httpx2.AsyncClient, play: Callable[..., None]
) -> None:
    play(convert)
    server.create(widget(spec={"a": 1}))
    path = "/apis/example.com/v2/namespaces/default/widgets/w"

    headers = {"Content-Type": "application/merge-patch+json"}
    patched = await client.patch(f"{path}/status", content='{"status": {"ready": true}}', headers=headers)

    assert patched.json()["status"] == {"ready": True}
    assert server.get(V1, "w")["status"] == {"ready": True}
