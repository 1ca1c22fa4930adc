"""Writing: the requests, and the arguments that are rejected before."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from dynkube.client import ResourceClient
from dynkube.errors import AlreadyExists, Conflict, Invalid, InvalidInput, InvalidObject, WrongScope
from dynkube.meta import PatchType, Unstructured
from tests.client.wire import ScriptedResponse, ScriptedServer, connect, error_response, ok, pod, pods

Call = Callable[[ResourceClient], Any]

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}}
SUCCESS = {"apiVersion": "v1", "kind": "Status", "status": "Success", "details": {"uid": "u"}}


async def send(
    call: Call, response: ScriptedResponse | None = None, *, resource: str = "deployments"
) -> ScriptedServer:
    server = ScriptedServer(ok(DEPLOYMENT) if response is None else response)
    await call(connect(server).resource(resource))
    return server


@pytest.mark.parametrize(
    ("call", "request_line"),
    [
        (lambda r: r.create(DEPLOYMENT), "POST /apis/apps/v1/namespaces/shop/deployments"),
        (lambda r: r.create(DEPLOYMENT, namespace="b"), "POST /apis/apps/v1/namespaces/b/deployments"),
        (lambda r: r.update(DEPLOYMENT), "PUT /apis/apps/v1/namespaces/shop/deployments/web"),
        (lambda r: r.update_status(DEPLOYMENT), "PUT /apis/apps/v1/namespaces/shop/deployments/web/status"),
        (lambda r: r.patch("web", {}), "PATCH /apis/apps/v1/namespaces/shop/deployments/web"),
        (lambda r: r.delete("web"), "DELETE /apis/apps/v1/namespaces/shop/deployments/web"),
        (lambda r: r.delete_collection(namespace="b"), "DELETE /apis/apps/v1/namespaces/b/deployments"),
    ],
)
async def test_each_verb_is_one_request(call: Call, request_line: str) -> None:
    server = await send(call, ok(SUCCESS) if "DELETE" in request_line else None)

    assert server.request_lines == [request_line]


async def test_an_object_is_sent_unchanged_and_returned_as_stored() -> None:
    server = ScriptedServer(ok({**DEPLOYMENT, "metadata": {"name": "web", "uid": "u"}}, status=201))
    body = b'{"apiVersion":"apps/v1",  "kind":"Deployment","metadata":{"name":"web"}}'

    stored = await connect(server).resource("deploy").create(body)

    assert server.requests[0].content == body
    assert (type(stored), stored.uid) == (Unstructured, "u")


async def test_the_namespace_of_the_object_is_used() -> None:
    obj = {**DEPLOYMENT, "metadata": {"name": "web", "namespace": "own"}}

    server = await send(lambda r: r.update(obj))

    assert server.request_lines == ["PUT /apis/apps/v1/namespaces/own/deployments/web"]


async def test_the_field_manager_is_that_of_the_client() -> None:
    server = await send(lambda r: r.create(DEPLOYMENT))

    assert dict(server.requests[0].url.params) == {"fieldManager": "tester"}


@pytest.mark.parametrize(
    "call",
    [
        lambda r, **options: r.create(DEPLOYMENT, **options),
        lambda r, **options: r.update(DEPLOYMENT, **options),
        lambda r, **options: r.update_status(DEPLOYMENT, **options),
        lambda r, **options: r.patch("web", {}, **options),
    ],
)
async def test_options_are_sent_as_query_parameters(call: Callable[..., Any]) -> None:
    server = await send(lambda r: call(r, dry_run=True, field_manager="me", field_validation="Strict"))

    params = dict(server.requests[0].url.params)
    assert params == {"dryRun": "All", "fieldManager": "me", "fieldValidation": "Strict"}


@pytest.mark.parametrize(
    ("patch", "patch_type", "sent", "media_type"),
    [
        ({"a": None}, PatchType.MERGE, b'{"a":null}', "application/merge-patch+json"),
        ([{"op": "remove", "path": "/a"}], "json", b'[{"op":"remove","path":"/a"}]', "application/json-patch+json"),
        ({"a": 1}, "strategic", b'{"a":1}', "application/strategic-merge-patch+json"),
        ('{"a": 1}', "apply", b'{"a": 1}', "application/apply-patch+yaml"),
        (b"[]", "json", b"[]", "application/json-patch+json"),
    ],
)
async def test_each_type_of_patch_has_its_content_type(
    patch: Any, patch_type: Any, sent: bytes, media_type: str
) -> None:
    server = await send(lambda r: r.patch("web", patch, patch_type=patch_type))

    assert server.requests[0].content == sent
    assert server.requests[0].headers["content-type"] == media_type


async def test_a_delete_sends_its_options_as_body() -> None:
    server = await send(
        lambda r: r.delete(
            "web",
            propagation_policy="Foreground",
            grace_period_seconds=0,
            uid="u",
            resource_version="7",
            dry_run=True,
        ),
        ok(SUCCESS),
    )

    assert server.bodies == [
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u", "resourceVersion": "7"},
            "dryRun": ["All"],
        }
    ]


async def test_delete_returns_the_object_while_finalizers_hold_it_and_none_when_it_is_gone() -> None:
    held = pod("a", deletionTimestamp="2026-11-21T00:00:00Z")
    resource = connect(ScriptedServer(ok(held, status=202), ok(SUCCESS))).resource("pods")

    first, second = await resource.delete("a"), await resource.delete("a")

    assert first is not None
    assert (first.uid, second) == ("uid-a", None)


async def test_deleting_a_collection_sends_selectors_and_returns_the_deleted_objects() -> None:
    server = ScriptedServer(pods(9, pod("a"), pod("b")))

    deleted = await connect(server).resource("pods").delete_collection(namespace="shop", label_selector="app=web")

    assert [obj.name for obj in deleted] == ["a", "b"]
    assert dict(server.requests[0].url.params) == {"labelSelector": "app=web"}


async def test_deleting_across_namespaces_is_rejected() -> None:
    with pytest.raises(WrongScope, match="one namespace at a time"):
        await connect(ScriptedServer()).resource("pods").delete_collection()


def without(field: str) -> dict[str, object]:
    return {name: value for name, value in DEPLOYMENT.items() if name != field}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.create(without("apiVersion")), "'web' has no apiVersion: add apiVersion: 'apps/v1'"),
        (lambda r: r.update(without("kind")), "'web' has no kind: add kind: 'Deployment'"),
        (lambda r: r.update(without("metadata")), r"no metadata\.name: add it"),
        (
            lambda r: r.apply({**DEPLOYMENT, "metadata": {"generateName": "web-"}}),
            r"generateName and no metadata\.name.* create\(\)",
        ),
        (lambda r: r.apply({**DEPLOYMENT, "metadata": {}}), r"no metadata\.name: add it"),
        (lambda r: r.apply({"kind": "List", "apiVersion": "v1", "items": []}), r"List is a list of objects"),
        (lambda r: r.apply({"kind": "PodList", "apiVersion": "v1", "items": []}), r"PodList is a list of objects"),
        (
            lambda r: r.apply({"kind": "ShoppingList", "metadata": {"name": "a"}, "items": [], "apiVersion": "x/v1"}),
            "is x/v1 ShoppingList, but",  # not a list of objects
        ),
        (
            lambda r: r.apply("kind: Deployment\napiVersion: apps/v1\n"),
            r"client\.apply_all\(text\) applies all objects",
        ),
        (lambda r: r.diff(b"---\nkind: Deployment\n"), r"client\.diff_all\(text\) compares them"),
        (lambda r: r.apply('{"kind": '), r"not a Kubernetes object: [^.]*$"),
        (lambda r: r.create({**DEPLOYMENT, "metadata": {}}), r"neither metadata\.name nor metadata\.generateName"),
        (lambda r: r.create(pod("a")), r"is v1 Pod, but deployments\.v1\.apps expects apps/v1 Deployment"),
        (lambda r: r.create({**DEPLOYMENT, "apiVersion": "apps/v1beta1"}), "is apps/v1beta1 Deployment, but"),
        (
            lambda r: r.create({**DEPLOYMENT, "metadata": {"name": "web", "namespace": "a"}}, namespace="b"),
            r"metadata\.namespace 'a', but the call has namespace='b'",
        ),
        (lambda r: r.create(b"{"), "not a Kubernetes object"),
        (lambda r: r.create({**DEPLOYMENT, "spec": object()}), "cannot be written as JSON"),
    ],
)
async def test_an_invalid_object_is_rejected_before_any_request(call: Call, message: str) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidObject, match=message):
        await call(connect(server).resource("deployments"))

    assert server.requests == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.patch("web", {}, patch_type="json"), "'json' must be a list of operations"),
        (lambda r: r.patch("web", [], patch_type="merge"), "'merge' must be a dict"),
        (lambda r: r.patch("web", {}, patch_type="replace"), "'replace' is not one of 'json', 'merge'"),
        (lambda r: r.patch("web", {}, force=True), "force is allowed only with patch type 'apply'"),
        (lambda r: r.patch("web", {"a": object()}), "cannot be written as JSON"),
        (lambda r: r.patch("web", '{"a": "\ud800"}'), "the patch is not valid Unicode"),
        (lambda r: r.create(DEPLOYMENT, dry_run="none"), "dry_run must be True or False, not 'none'"),
        (lambda r: r.create(DEPLOYMENT, field_manager=""), "field_manager must be the name of your program"),
        (lambda r: r.create(DEPLOYMENT, field_manager="x" * 129), "at most 128 characters"),
        (lambda r: r.create(DEPLOYMENT, field_validation="strict"), "one of 'Ignore', 'Warn', 'Strict'"),
        (lambda r: r.apply(DEPLOYMENT, force=".spec"), r"a list of paths to take over: force=\['.spec'\]"),
        (lambda r: r.apply(DEPLOYMENT, force=1), "force must be True or False, or a list of paths to take over, not 1"),
        (lambda r: r.apply(DEPLOYMENT, force=[".spec["]), r"invalid path '\.spec\['"),
        (lambda r: r.apply(DEPLOYMENT, force=[3]), "a path must be a string like"),
        (lambda r: r.delete("web", propagation_policy="background"), "one of 'Orphan', 'Background', 'Foreground'"),
        (lambda r: r.delete("web", grace_period_seconds=-1), "must be an integer >= 0, not -1"),
        (lambda r: r.delete("web", grace_period_seconds="1"), "must be an integer >= 0, not '1'"),
        (lambda r: r.delete("web", uid=""), "uid is empty"),
        (lambda r: r.delete(""), "name is empty"),
        (lambda r: r.delete(None), "name is None: pass metadata.name"),
        (lambda r: r.get(None), "name is None: pass metadata.name"),
    ],
)
async def test_the_error_for_an_invalid_option_has_its_name_and_the_fix(call: Call, message: str) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidInput, match=message):
        await call(connect(server).resource("deployments"))

    assert server.requests == []


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.create({**DEPLOYMENT, "spec": {"ratio": math.nan}}),
        lambda r: r.update({**DEPLOYMENT, "spec": {"ratio": math.nan}}),
        lambda r: r.apply({**DEPLOYMENT, "spec": {"ratio": math.nan}}),
        lambda r: r.patch("web", {"spec": {"ratio": math.nan}}),
        lambda r: r.patch(
            "web", [{"op": "add", "path": "/x", "value": {"spec": {"ratio": math.nan}}}], patch_type="json"
        ),
    ],
)
async def test_numbers_that_json_cannot_express_are_rejected_and_not_sent_as_null(call: Call) -> None:
    server = ScriptedServer()

    with pytest.raises(InvalidObject, match=r"spec\.ratio is nan, which JSON cannot represent"):
        await call(connect(server).resource("deployments"))

    assert server.requests == []


async def test_a_create_may_leave_the_name_to_the_server() -> None:
    obj = {**DEPLOYMENT, "metadata": {"generateName": "web-"}}

    server = await send(lambda r: r.create(obj))

    assert server.bodies[0]["metadata"] == {"generateName": "web-"}


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [(409, "AlreadyExists", AlreadyExists), (409, "Conflict", Conflict), (422, "Invalid", Invalid)],
)
async def test_an_error_response_is_raised_as_its_class(code: int, reason: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await send(lambda r: r.create(DEPLOYMENT), error_response(code, reason))
