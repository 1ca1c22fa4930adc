"""Server-side apply: the request, and the change reported for the response."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import trio

from dynkube.client import Applied, Change
from dynkube.errors import UNREAD, ApplyConflict, DeadlineExceeded, InvalidInput, InvalidObject, ServiceUnavailable
from dynkube.meta import Unstructured
from tests.client.wire import ScriptedResponse, ScriptedServer, connect, error_response, ok

MAPS = "/api/v1/namespaces/shop/configmaps/web"
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
ABSENT = error_response(404, "NotFound", "there is none", details={"name": "web"})


def config(version: str = "", **fields: Any) -> dict[str, Any]:
    """A ConfigMap; without a version it is one to apply."""
    metadata = {"name": "web", **({"resourceVersion": version, "namespace": "shop", "uid": "u"} if version else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}, **fields}


async def apply(
    *responses: ScriptedResponse, obj: dict[str, Any] | None = None, **options: Any
) -> tuple[ScriptedServer, Applied]:
    server = ScriptedServer(*responses)
    applied = await connect(server).resource("configmaps").apply(obj or config(), **options)
    return server, applied


async def test_an_apply_sends_the_object_with_manager_and_force() -> None:
    server, applied = await apply(ok(config("1")), ok(config("2")), field_manager="me")

    _, request = server.requests
    assert server.request_lines == [f"GET {MAPS}", f"PATCH {MAPS}"]
    assert applied == config("2")
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert dict(request.url.params) == {"fieldManager": "me", "force": "false"}
    assert Unstructured(request.content) == config()


async def test_options_are_sent_as_query_parameters() -> None:
    server, _ = await apply(ok(config("1")), ok(config("1")), force=True, dry_run=True, field_validation="Strict")

    params = {"fieldManager": "tester", "force": "true", "dryRun": "All", "fieldValidation": "Strict"}
    assert dict(server.requests[1].url.params) == params


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (ABSENT, ok(config("1"), status=201), Change.CREATED),
        (ok(config("1")), ok(config("2")), Change.CHANGED),
        (ok(config("1")), ok(config("1")), Change.UNCHANGED),
        (error_response(403, "Forbidden"), ok(config("1")), Change.UNKNOWN),
        (error_response(405, "MethodNotAllowed"), ok(config("1")), Change.UNKNOWN),
        (error_response(403, "Forbidden"), ok(config("1"), status=201), Change.CREATED),
        (ABSENT, ok(config("1")), Change.CHANGED),  # created by another client in between
        (ok(config("1")), ok(config("2"), status=201), Change.CREATED),  # deleted in between
    ],
)
async def test_the_change_is_reported(before: ScriptedResponse, after: ScriptedResponse, change: Change) -> None:
    _, applied = await apply(before, after)

    assert applied.change is change
    assert applied.changed is (change is not Change.UNCHANGED)


OWNED = {"manager": "me", "operation": "Apply", "time": "2024-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({}, {}, Change.UNCHANGED),
        ({}, {"data": {"a": "2"}}, Change.CHANGED),
        ({"data": {"a": True}}, {"data": {"a": 1}}, Change.CHANGED),
        ({}, {"managedFields": [OWNED]}, Change.UNCHANGED),  # without managedFields the owners are unknown
        ({"managedFields": []}, {"managedFields": [OWNED]}, Change.CHANGED),
        ({"managedFields": [OWNED]}, {"managedFields": [{**OWNED, "time": "2025-01-01T00:00:00Z"}]}, Change.UNCHANGED),
    ],
)
async def test_for_a_dry_run_contents_are_compared(before: Any, after: Any, change: Change) -> None:
    def response(fields: dict[str, Any]) -> dict[str, Any]:
        obj = copy.deepcopy(config("1"))
        obj["data"] = fields.get("data", obj["data"])
        obj["metadata"] |= {name: value for name, value in fields.items() if name == "managedFields"}
        return obj

    _, applied = await apply(ok(response(before)), ok(response(after)), dry_run=True)

    assert applied.change is change


async def test_with_live_the_object_is_not_read() -> None:
    live = Unstructured(config("1"))

    server, applied = await apply(ok(config("1")), live=live)
    assert (server.request_lines, applied.change) == ([f"PATCH {MAPS}"], Change.UNCHANGED)

    _, applied = await apply(ok(config("7")), live=live)
    assert applied.change is Change.CHANGED

    reborn = config("7")
    reborn["metadata"]["uid"] = "another"
    _, applied = await apply(ok(reborn), live=live)
    assert applied.change is Change.CHANGED


def clash() -> ScriptedResponse:
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.a"}
    return error_response(409, "Conflict", details={"causes": [cause]})


@pytest.mark.parametrize(
    ("again", "live_value"),
    [
        (ok(config("3", data={"a": "3"})), "3"),
        (error_response(403, "Forbidden"), UNREAD),
        (error_response(500, "InternalError"), UNREAD),
        (ABSENT, UNREAD),
    ],
)
async def test_a_conflict_has_only_values_read_after_it(again: ScriptedResponse, live_value: object) -> None:
    server = ScriptedServer(clash(), *[again] * 5)
    owned = {**OWNED, "manager": "first", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    live = Unstructured(config("1", data={"a": "2"})).transform(["metadata", "managedFields"], [owned])

    with pytest.raises(ApplyConflict) as caught:
        await connect(server).resource("configmaps").apply(config(), live=live)

    assert server.request_lines[:2] == [f"PATCH {MAPS}", f"GET {MAPS}"]
    assert [(each.path, each.ours, each.live) for each in caught.value.conflicts] == [(".data.a", "1", live_value)]


@pytest.mark.parametrize(
    ("live", "message"),
    [
        (config("1"), "live is a dict: pass the object as it was read"),  # hides a Secret's values
        (Unstructured(config()), "with its resourceVersion, or leave it out"),
        (Unstructured(config("1", metadata={"name": "b", "resourceVersion": "1"})), "pass the object to be compared"),
    ],
)
async def test_an_invalid_live_object_is_rejected(live: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await apply(live=live)


async def test_the_result_is_an_object_like_any_other() -> None:
    _, applied = await apply(ABSENT, ok(config("1"), status=201))

    assert isinstance(applied, Unstructured)
    assert repr(applied) == "<ConfigMap v1 shop/web rv=1 created>"
    assert applied.transform(["data", "a"], "2")["data"] == {"a": "2"}
    again = pickle.loads(pickle.dumps(applied))
    assert (again, again.change) == (applied, Change.CREATED)


@pytest.mark.parametrize(
    ("subresource", "obj", "request_lines"),
    [
        ("status", {"apiVersion": "apps/v1", "kind": "Deployment"}, [f"GET {WEB}", f"PATCH {WEB}/status"]),
        ("scale", {"apiVersion": "autoscaling/v1", "kind": "Scale"}, [f"GET {WEB}/scale", f"PATCH {WEB}/scale"]),
    ],
)
async def test_apply_works_on_subresources(subresource: str, obj: dict[str, Any], request_lines: list[str]) -> None:
    obj = {**obj, "metadata": {"name": "web"}}
    server = ScriptedServer(*[ok(obj)] * 4)
    deployments = connect(server).resource("deployments")

    await deployments.apply(obj, subresource=subresource)
    await deployments.subresource(subresource).apply(obj)

    assert server.request_lines == [*request_lines, *request_lines]


async def test_an_invalid_subresource_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="invalid subresource 'status/x'"):
        await apply(subresource="status/x")


async def test_an_object_with_managed_fields_is_rejected_with_a_hint() -> None:
    read = config(metadata={"name": "web", "managedFields": [{"manager": "kubectl"}]})

    with pytest.raises(InvalidObject, match=r"managedFields, so it was read .* use update\(\)"):
        await apply(obj=read)


async def test_if_the_object_cannot_be_read_nothing_is_written() -> None:
    with pytest.raises(ServiceUnavailable):
        await apply(error_response(503, "ServiceUnavailable"))


async def test_the_timeout_covers_reading_and_writing() -> None:
    class Slow(ScriptedServer):
        async def handle_async_request(self, request: Any) -> Any:
            response = await super().handle_async_request(request)
            await trio.sleep(4 if request.url.path == MAPS else 0)
            return response

    server = Slow(ok(config("1")), ok(config("1")))

    began = trio.current_time()
    with pytest.raises(DeadlineExceeded):
        await connect(server).resource("configmaps").apply(config(), timeout=6)

    assert trio.current_time() - began == 6


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), True, "5", [5]])
async def test_an_invalid_timeout_is_rejected(timeout: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout must be a positive number of seconds, or None"):
        await apply(timeout=timeout)
