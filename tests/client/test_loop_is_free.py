"""Verbs on objects with thousands of fields compute in a thread; those on many objects compute a few at a time."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

import httpx2
import pytest
import trio

from dynkube.client import ResourceClient
from dynkube.errors import ApplyConflict
from tests.client.wire import ScriptedServer, connect, error_response, ok, pod, pods

NUMBER = 1000
IDENTITY = {"apiVersion": "apps/v1", "kind": "Deployment"}

Call: TypeAlias = Callable[[ResourceClient], Awaitable[Any]]


class LongestStep(trio.abc.Instrument):
    """Counts the function calls in each step of a task in the loop's thread, and keeps the maximum."""

    def __init__(self) -> None:
        self.most = self._calls = 0

    def _count(self, frame: object, event: str, argument: object) -> None:
        self._calls += event in ("call", "c_call")

    def before_task_step(self, task: object) -> None:
        self._calls = 0
        sys.setprofile(self._count)

    def after_task_step(self, task: object) -> None:
        sys.setprofile(None)
        self.most = max(self.most, self._calls)


def long(value: str, manager: str = "", operation: str = "Apply") -> dict[str, Any]:
    items = [{"name": f"n{index}", "value": value} for index in range(NUMBER)]
    keys: dict[str, Any] = {
        f'k:{{"name":"n{index}"}}': {".": {}, "f:name": {}, "f:value": {}} for index in range(NUMBER)
    }
    entry = {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    owned = [{**entry, "fieldsV1": {"f:spec": {"f:items": keys}}}]
    metadata = {"namespace": "shop", "uid": "u", "resourceVersion": "5", "managedFields": owned} if manager else {}
    return {**IDENTITY, "metadata": {"name": "long", **metadata}, "spec": {"items": items}}


def conflict() -> httpx2.Response:
    fields = [f'.spec.items[name="n{index}"].value' for index in range(NUMBER)]
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "other"', "field": field} for field in fields
    ]
    return error_response(409, "Conflict", details={"causes": causes})


THEIRS, OURS, MINE = long("1", "other"), long("2", "tester"), long("2")

CASES: dict[str, tuple[Call, list[Callable[[], httpx2.Response]]]] = {
    "apply": (lambda c: c.apply(MINE), [lambda: ok(OURS), lambda: ok(OURS)]),
    "a dry run": (lambda c: c.apply(MINE, dry_run=True), [lambda: ok(OURS), lambda: ok(OURS)]),
    "a conflict": (lambda c: c.apply(MINE), [lambda: ok(THEIRS), conflict, lambda: ok(THEIRS)]),
    "taking over": (
        lambda c: c.apply(MINE, force=[".spec"]),
        [lambda: ok(THEIRS), conflict, lambda: ok(THEIRS), lambda: ok(OURS), lambda: ok(OURS)],
    ),
    "taking less": (
        lambda c: c.apply(MINE, force=[".metadata"]),
        [lambda: ok(THEIRS), conflict, lambda: ok(THEIRS), lambda: ok(OURS)],
    ),
    "diff": (lambda c: c.diff(MINE), [lambda: ok(THEIRS), lambda: ok(OURS)]),
    "drift": (lambda c: c.diff_applied(MINE, "tester"), [lambda: ok(THEIRS), lambda: ok(OURS)]),
    "release": (lambda c: c.release_fields("long", ".spec", "other"), [lambda: ok(THEIRS), lambda: ok(THEIRS)]),
    "transfer": (lambda c: c.transfer_fields("long", "other", "tester"), [lambda: ok(THEIRS), lambda: ok(OURS)]),
    "migrate": (
        lambda c: c.upgrade_managed_fields("long", "tester", "other"),
        [lambda: ok(long("1", "other", "Update")), lambda: ok(THEIRS)],
    ),
}


@pytest.mark.real_time
@pytest.mark.parametrize("case", CASES)
async def test_no_step_of_the_loop_processes_all_fields(case: str) -> None:
    call, responses = CASES[case]
    server = ScriptedServer(ok(IDENTITY | {"metadata": {"name": "first"}}), *(response() for response in responses))
    deployments = connect(server).resource("deployments")
    await deployments.get("first")  # imports and discovery do not count

    longest = LongestStep()
    trio.lowlevel.add_instrument(longest)
    with suppress(ApplyConflict):
        await call(deployments)
    await trio.lowlevel.checkpoint()  # ends the last step, which counts as well
    trio.lowlevel.remove_instrument(longest)

    assert not server.responses
    # An error response is parsed in the loop, with a few calls for each cause. Anything else takes hundreds.
    assert 100 < longest.most < 20 * NUMBER


@pytest.mark.real_time
@pytest.mark.parametrize("server_columns", [True, False])
async def test_no_step_of_the_loop_processes_all_objects_of_a_table(server_columns: bool) -> None:
    many = [pod(f"p{number}") for number in range(20 * NUMBER)]
    head = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "9"}}
    columns = [{"name": "Name", "type": "string"}]
    rows = [{"cells": [obj["metadata"]["name"]], "object": obj} for obj in many]
    response = ok({**head, "columnDefinitions": columns, "rows": rows}) if server_columns else pods(9, *many)
    server = ScriptedServer(pods(9, pod("first")), response)
    resource = connect(server).resource("pods")
    await resource.table()

    longest = LongestStep()
    trio.lowlevel.add_instrument(longest)
    found = await resource.table(page_size=None)
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(longest)

    assert (len(found), found.server_columns) == (len(many), server_columns)
    # A final check that all have a name takes two calls for each object; decoding one takes ten.
    assert 100 < longest.most < 3 * len(many)


@pytest.mark.real_time
async def test_no_step_of_the_loop_processes_all_objects_of_a_deleted_collection() -> None:
    many = [pod(f"p{number}") for number in range(20 * NUMBER)]
    resource = connect(ScriptedServer(pods(9, pod("first")), pods(9, *many))).resource("pods")
    await resource.delete_collection(namespace="shop")

    longest = LongestStep()
    trio.lowlevel.add_instrument(longest)
    deleted = await resource.delete_collection(namespace="shop")
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(longest)

    assert len(deleted) == len(many)
    assert 100 < longest.most < 3 * len(many)  # as above
