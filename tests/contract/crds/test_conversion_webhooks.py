"""Conversion of custom resources by a webhook: when it is called, what it sees, and what its failures do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dynkube.errors import APIError
from tests.contract.cluster import MERGE, Cluster, Response
from tests.contract.objects import CRDS, JSONObject, owners, structural, version
from tests.contract.webhook_server import Webhooks

Spoil = Callable[[JSONObject], Any]
REVIEW = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
V1 = structural(size={"type": "integer"})
V2 = structural(text={"type": "string"}, note={"type": "string"})


class Converter:
    """The webhook: ``spec.size``, a number, is ``spec.text`` in v2; ``spec.note`` of v2 is an annotation in v1."""

    def __init__(self) -> None:
        self.requests: list[JSONObject] = []
        self.spoil: Spoil = lambda response: None

    def answer(self, review: JSONObject) -> Any:
        request = review["request"]
        self.requests.append(request)
        converted = [_converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        spoiled = self.spoil(response)
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": spoiled or response}

    def calls(self) -> list[tuple[str, str]]:
        """Return the names of the objects and the versions to which they were converted, and forget them."""
        requests, self.requests = self.requests, []
        return [(each["objects"][0]["metadata"]["name"], each["desiredAPIVersion"][-2:]) for each in requests]


def _converted(obj: JSONObject, wanted: str) -> JSONObject:
    spec, metadata = obj.get("spec") or {}, dict(obj["metadata"])
    notes = dict(metadata.pop("annotations", None) or {})
    if wanted.endswith("v2"):
        note = notes.pop("note", None)
        spec = {"text": str(spec.get("size")), **({"note": note} if note else {})}
    else:
        notes |= {"note": spec["note"]} if "note" in spec else {}
        spec = {"size": int(spec["text"])} if "text" in spec else {}
    metadata |= {"annotations": notes} if notes else {}
    return {**obj, "apiVersion": wanted, "metadata": metadata, "spec": spec}


def conversion(webhooks: Webhooks, path: str = "/convert") -> JSONObject:
    config = {"clientConfig": webhooks.client_config(path), "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": config}


@pytest.fixture
async def converter(cluster: Cluster, webhooks: Webhooks) -> Converter:
    """Serve Widgets in v1, in which they are stored, and in v2."""
    converter = Converter()
    webhooks.answer("/convert", converter.answer)
    versions = [version("v1", schema=V1), version("v2", schema=V2, storage=False)]
    await cluster.create_crd(cluster.crd(versions=versions, conversion=conversion(webhooks)))
    await cluster.until_served("widgets.v2")
    return converter


async def create(cluster: Cluster, name: str = "w", size: int = 1, **metadata: Any) -> JSONObject:
    body = cluster.widget(name, spec={"size": size})
    return await cluster.create("widgets.v1", {**body, "metadata": {**body["metadata"], **metadata}})


async def get_v2(cluster: Cluster) -> Response:
    return await cluster.call("GET", cluster.path("widgets.v2", "w"))


# ── reads and writes ──────────────────────────────────────────────────────────────────────────


async def test_an_object_is_read_in_another_version(cluster: Cluster, converter: Converter) -> None:
    created = await create(cluster, annotations={"note": "careful"})

    read = await cluster.get("widgets.v2", "w")

    assert read["spec"] == {"text": "1", "note": "careful"}
    assert read["apiVersion"] == f"{cluster.group}/v2"
    assert "annotations" not in read["metadata"]
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        assert read["metadata"][field] == created["metadata"][field]


async def test_the_webhook_sees_the_stored_object(cluster: Cluster, converter: Converter) -> None:
    created = await create(cluster)

    await cluster.get("widgets.v2", "w")

    request = converter.requests[-1]
    assert request["desiredAPIVersion"] == f"{cluster.group}/v2"
    (seen,) = request["objects"]
    del created["metadata"]["resourceVersion"]
    assert seen == created


async def test_requests_in_the_stored_version_do_not_call_it(cluster: Cluster, converter: Converter) -> None:
    converter.spoil = of_response(result={"status": "Failure"})
    await create(cluster)
    await cluster.patch("widgets.v1", "w", {"spec": {"size": 2}})

    assert (await cluster.get("widgets.v1", "w"))["spec"] == {"size": 2}
    assert await cluster.names("widgets.v1") == ["w"]


async def test_every_get_calls_it_and_one_from_the_watch_cache_does_not(cluster: Cluster, converter: Converter) -> None:
    await create(cluster)
    await cluster.list_of("widgets.v2")
    converter.calls()

    await cluster.get("widgets.v2", "w")
    await cluster.get("widgets.v2", "w")
    assert converter.calls() == [("w", "v2")] * 2

    await cluster.get("widgets.v2", "w", params={"resourceVersion": "0"})
    assert converter.calls() == []


async def test_an_object_is_created_in_another_version(cluster: Cluster, converter: Converter) -> None:
    body = cluster.widget(api_version="v2", spec={"text": "7", "note": "careful", "unknown": 1})

    created = await cluster.create("widgets.v2", body)

    assert created["spec"] == {"text": "7", "note": "careful"}
    stored = await cluster.get("widgets.v1", "w")
    assert (stored["spec"], stored["metadata"]["annotations"]) == ({"size": 7}, {"note": "careful"})


async def test_an_object_is_updated_and_patched_in_another_version(cluster: Cluster, converter: Converter) -> None:
    await create(cluster)
    read = await cluster.get("widgets.v2", "w")

    updated = await cluster.update("widgets.v2", {**read, "spec": {"text": "8"}})
    assert (updated["spec"], updated["metadata"]["generation"]) == ({"text": "8"}, 2)

    patched = await cluster.patch("widgets.v2", "w", {"spec": {"note": "careful"}})
    assert patched["spec"] == {"text": "8", "note": "careful"}
    assert (await cluster.get("widgets.v1", "w"))["metadata"]["annotations"] == {"note": "careful"}


async def test_an_update_that_changes_nothing_is_not_stored(cluster: Cluster, converter: Converter) -> None:
    await create(cluster)
    read = await cluster.get("widgets.v2", "w")

    assert await cluster.update("widgets.v2", read) == read
    assert await cluster.patch("widgets.v2", "w", {"spec": {"text": "1"}}) == read


async def test_a_dry_run_is_converted_there_and_back(cluster: Cluster, converter: Converter) -> None:
    body = cluster.widget(api_version="v2", spec={"text": "007"})

    created = await cluster.create("widgets.v2", body, params={"dryRun": "All"})

    assert created["spec"] == {"text": "7"}
    assert created["apiVersion"] == f"{cluster.group}/v2"


async def test_an_object_is_deleted_in_another_version(cluster: Cluster, converter: Converter) -> None:
    await create(cluster, finalizers=["example.com/hold"])

    held = await cluster.delete("widgets.v2", "w")
    assert held["spec"] == {"text": "1"}
    assert "deletionTimestamp" in held["metadata"]

    await cluster.patch("widgets.v2", "w", {"metadata": {"finalizers": None}})
    assert (await get_v2(cluster)).code == 404


async def test_all_objects_are_deleted_in_another_version(cluster: Cluster, converter: Converter) -> None:
    await create(cluster, "a")
    await create(cluster, "b", finalizers=["example.com/hold"])

    deleted = await cluster.delete_all("widgets.v2")

    assert [item["spec"] for item in deleted["items"]] == [{"text": "1"}] * 2
    (left,) = (await cluster.list_of("widgets.v1"))["items"]
    assert (left["metadata"]["name"], left["metadata"]["deletionGracePeriodSeconds"]) == ("b", 0)


# ── lists and watches ─────────────────────────────────────────────────────────────────────────


async def test_lists_are_converted_object_by_object(cluster: Cluster, converter: Converter) -> None:
    for name, size in (("a", 1), ("b", 2)):
        await create(cluster, name, size)

    listed = await cluster.list_of("widgets.v2")

    assert [item["spec"]["text"] for item in listed["items"]] == ["1", "2"]
    assert {item["apiVersion"] for item in listed["items"]} == {f"{cluster.group}/v2"}
    assert all(len(request["objects"]) == 1 for request in converter.requests)


async def test_selectors_see_the_converted_labels(cluster: Cluster, converter: Converter) -> None:
    def labelled(response: JSONObject) -> None:
        (obj,) = response["convertedObjects"]
        obj["metadata"]["labels"] = {"in": obj["apiVersion"].rpartition("/")[2]}

    converter.spoil = labelled
    await create(cluster)

    assert await cluster.names("widgets.v2", labelSelector="in=v2") == ["w"]
    assert await cluster.names("widgets.v2", labelSelector="in=v1") == []
    assert await cluster.names("widgets.v1", labelSelector="in=v2") == []


async def test_watches_are_converted(cluster: Cluster, converter: Converter) -> None:
    await create(cluster, "a")

    async with cluster.watch("widgets.v2") as events:
        await create(cluster, "b", 2)
        await cluster.patch("widgets.v1", "b", {"spec": {"size": 3}})
        await cluster.delete("widgets.v1", "b")
        seen = await events.take(4)

    assert [(each["type"], each["object"]["spec"]["text"]) for each in seen] == [
        ("ADDED", "1"),
        ("ADDED", "2"),
        ("MODIFIED", "3"),
        ("DELETED", "3"),
    ]


@pytest.mark.since("1.36", "older servers end the watch")
async def test_a_watch_waits_for_an_object_that_cannot_be_converted(cluster: Cluster, converter: Converter) -> None:
    async with cluster.watch("widgets.v2") as events:
        converter.spoil = lambda response: response.update(result={"status": "Failure"})
        await create(cluster, "late")
        await cluster.until(lambda: _called(converter))
        converter.spoil = lambda response: None

        (event,) = await events.take(1)

    assert event["object"]["metadata"]["name"] == "late"


async def _called(converter: Converter) -> bool:
    return bool(converter.requests)


# ── field ownership ───────────────────────────────────────────────────────────────────────────


async def test_fields_are_owned_in_the_version_of_their_manager(cluster: Cluster, converter: Converter) -> None:
    v2 = cluster.widget(api_version="v2", spec={"text": "1"})
    await cluster.apply("widgets.v2", v2, "first")

    with pytest.raises(APIError, match=re.escape('.spec.text: owned by "first"')):
        await cluster.apply("widgets.v2", {**v2, "spec": {"text": "2"}}, "second")
    applied = await cluster.apply("widgets.v1", cluster.widget(spec={"size": 2}), "second", force=True)

    assert applied["spec"] == {"size": 2}
    assert owners(applied) == {"second": {"f:spec": {"f:size": {}}}}


async def test_a_field_that_is_no_longer_applied_is_removed(cluster: Cluster, converter: Converter) -> None:
    body = cluster.widget(api_version="v2", spec={"text": "1", "note": "careful"})
    await cluster.apply("widgets.v2", body, "me")

    await cluster.apply("widgets.v2", {**body, "spec": {"text": "1"}}, "me")

    assert (await cluster.get("widgets.v2", "w"))["spec"] == {"text": "1"}
    assert "annotations" not in (await cluster.get("widgets.v1", "w"))["metadata"]


# ── failures ──────────────────────────────────────────────────────────────────────────────────


def of_object(**fields: Any) -> Spoil:
    """Change the converted object."""
    return lambda response: response["convertedObjects"][0].update(fields)


def of_metadata(**fields: Any) -> Spoil:
    return lambda response: response["convertedObjects"][0]["metadata"].update(fields)


def of_response(**fields: Any) -> Spoil:
    return lambda response: response.update(fields)


@pytest.mark.since("1.25", "older servers read the object to be changed from etcd")
async def test_an_error_names_the_version_from_which_the_object_could_not_be_converted(
    cluster: Cluster, converter: Converter
) -> None:
    created = await create(cluster)
    (path, objects), fresh = (cluster.path("widgets.v2", "w"), cluster.path("widgets.v2")), created["metadata"]
    await cluster.call("GET", objects, params={"resourceVersion": fresh["resourceVersion"]})  # the watch cache has it
    read = await cluster.get("widgets.v2", "w")
    converter.spoil = of_response(result={"status": "Failure", "message": "cannot"})

    # Changes read the object from the watch cache, and convert the new one; gets and deletes read it from etcd.
    for converted, method, where, options in (
        ("v2", "PATCH", path, {"body": {"spec": {"text": "2"}}, "content_type": MERGE}),
        ("v2", "PUT", path, {"body": {**read, "spec": {"text": "2"}}}),
        ("v1", "GET", path, {}),
        ("v1", "DELETE", path, {}),
        ("v1", "DELETE", objects, {}),
    ):
        response = await cluster.call(method, where, **options)
        message = f"conversion webhook for {cluster.group}/{converted}, Kind=Widget failed: cannot"
        assert (method, response.code, response.body["message"]) == (method, 500, message)
    for params in ({}, {"resourceVersion": "0"}):
        assert (await cluster.call("GET", objects, params=params)).code == 200


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (of_response(result={"status": "Failure", "message": "cannot"}), "failed: cannot"),
        (of_response(result={}), "failed: response.result.status was '', not 'Success'"),
        (of_response(uid="x"), 'failed: expected response.uid="UID", got "x"'),
        (of_response(convertedObjects=[]), "returned 0 objects, expected 1"),
        (of_object(apiVersion="x/v9"), "OBJECT at index 0: invalid groupVersion (expected GROUP/v2, received x/v9)"),
        (of_object(kind="Gadget"), "OBJECT at index 0: invalid kind (expected Widget, received Gadget)"),
        (of_object(metadata={}), "OBJECT: must have the same name: w != "),
        (of_metadata(name="other"), "OBJECT: must have the same name: w != other"),
        (of_metadata(namespace="x"), "OBJECT: must have the same namespace: NAMESPACE != x"),
        (of_metadata(uid="x"), "OBJECT: must have the same UID: UID != x"),
        (of_metadata(labels=3), "META: invalid metadata.labels of type int64 in converted object"),
        (
            of_metadata(labels={"a": 1}),
            "META: metadata.labels[a] must be a string, but is int64 in converted object",
        ),
    ],
)
async def test_an_invalid_response_is_a_500(cluster: Cluster, converter: Converter, spoil: Spoil, problem: str) -> None:
    created = await create(cluster)
    converter.spoil = spoil

    response = await get_v2(cluster)

    wanted = problem.replace("GROUP", cluster.group).replace("NAMESPACE", cluster.namespace)
    wanted = wanted.replace("OBJECT", "returned invalid object").replace("META:", "returned invalid metadata:")
    wanted = wanted.replace("UID != ", f"{created['metadata']['uid']} != ")
    wanted = wanted.replace('"UID"', f'"{converter.requests[-1]["uid"]}"')
    assert response.body["message"] == f"conversion webhook for {cluster.group}/v1, Kind=Widget {wanted}"
    assert (response.code, response.body.get("reason", "")) == (500, "")


@pytest.mark.parametrize(("field", "path"), [("labels", "labels"), ("annotations", "annotation")])
async def test_an_invalid_label_is_a_500(cluster: Cluster, converter: Converter, field: str, path: str) -> None:
    await create(cluster)
    converter.spoil = of_metadata(**{field: {"a b": "c"}})

    message = (await get_v2(cluster)).body["message"]

    assert f'returned invalid metadata: metadata.{path}: Invalid value: "a b": name part must consist of' in message


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"response": {}}, "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="),
        (
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": None},
            "no response provided",
        ),
    ],
)
async def test_a_response_that_is_no_review_is_a_500(
    cluster: Cluster, webhooks: Webhooks, converter: Converter, body: JSONObject, problem: str
) -> None:
    await create(cluster)
    webhooks.answer("/convert", lambda review: body)

    message = (await get_v2(cluster)).body["message"]

    assert message == f"conversion webhook for {cluster.group}/v1, Kind=Widget failed: {problem}"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_a_write_that_cannot_be_converted_is_a_500(cluster: Cluster, converter: Converter, method: str) -> None:
    await create(cluster)
    read = await cluster.get("widgets.v2", "w")
    converter.spoil = of_response(result={"status": "Failure", "message": "cannot"})
    body = {**read, "spec": {"text": "2"}} if method != "POST" else cluster.widget("new", "v2", spec={"text": "2"})
    path = cluster.path("widgets.v2", "" if method == "POST" else "w")

    response = await cluster.call(
        method, path, body=body, content_type=MERGE if method == "PATCH" else "application/json"
    )

    assert response.code == 500
    assert re.search(r"/v[12], Kind=Widget failed: cannot$", response.body["message"])
    converter.spoil = lambda response: None
    assert [item["spec"] for item in (await cluster.list_of("widgets.v1"))["items"]] == [{"size": 1}]


async def test_an_object_that_cannot_be_converted_back_is_stored(cluster: Cluster, converter: Converter) -> None:
    def fail_back(response: JSONObject) -> None:
        if response["convertedObjects"][0]["apiVersion"].endswith("v2"):
            response["result"] = {"status": "Failure", "message": "cannot"}

    converter.spoil = fail_back

    body = cluster.widget("w", "v2", spec={"text": "2"})
    response = await cluster.call("POST", cluster.path("widgets.v2"), body=body)

    assert response.body["message"] == f"conversion webhook for {cluster.group}/v1, Kind=Widget failed: cannot"
    assert (await cluster.get("widgets.v1", "w"))["spec"] == {"size": 2}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_one_object_that_cannot_be_converted_fails_the_others(
    cluster: Cluster, converter: Converter, method: str
) -> None:
    await create(cluster, "a")
    await cluster.list_of("widgets.v2")
    converter.spoil = of_response(result={"status": "Failure", "message": "cannot"})
    await create(cluster, "b")

    response = await cluster.call(method, cluster.path("widgets.v2"))

    assert response.body["message"] == f"conversion webhook for {cluster.group}/v1, Kind=Widget failed: cannot"
    assert response.code == 500
    assert await cluster.names("widgets.v1") == ["a", "b"]


@pytest.mark.since("1.36", "older servers list without their watch cache")
@pytest.mark.parametrize("params", [{}, {"watch": "1", "timeoutSeconds": "1"}])
async def test_a_watch_cache_that_cannot_be_filled_is_a_429(
    cluster: Cluster, webhooks: Webhooks, params: dict[str, str]
) -> None:
    crd = cluster.crd(versions=[version("v1", schema=V1)])
    await cluster.create_crd(crd)
    await create(cluster)
    webhooks.answer("/convert", lambda review: {})
    versions = [version("v1", schema=V1), version("v2", schema=V2, storage=False)]
    patch = {"spec": {"versions": versions, "conversion": conversion(webhooks)}}
    cluster.register_crd(await cluster.patch(CRDS, f"widgets.{cluster.group}", patch))

    async def known() -> bool:
        response = await cluster.call("GET", cluster.path("widgets.v2"), params=params)
        return response.code == 429 and "failed to list" in response.body["message"]

    await cluster.until(known)


async def test_a_webhook_that_cannot_be_reached_is_a_500(
    cluster: Cluster, webhooks: Webhooks, converter: Converter
) -> None:
    await create(cluster)
    url = "https://127.0.0.1:1/convert"
    change = {"spec": {"conversion": {"webhook": {"clientConfig": {"url": url}}}}}
    await cluster.patch(CRDS, f"widgets.{cluster.group}", change)
    refused = "dial tcp 127.0.0.1:1: connect: connection refused"

    async def known() -> bool:
        message: str = (await get_v2(cluster)).body.get("message", "")
        return message == (
            f'conversion webhook for {cluster.group}/v1, Kind=Widget failed: Post "{url}?timeout=30s": {refused}'
        )

    await cluster.until(known)
