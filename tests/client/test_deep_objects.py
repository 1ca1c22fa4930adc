"""Objects nested too deeply for Python: rejected with an explanation, or shown as far as possible."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from dynkube import Unstructured, extract
from dynkube.client import ResourceClient
from dynkube.errors import InvalidObject
from dynkube.fields._diff.compute import diff_between
from dynkube.fields._handover import migrated, released, transferred
from tests.client.wire import ScriptedServer, connect

LEVELS = 920 if sys.version_info < (3, 12) else 1_200  # newer Pythons decode and compare deeper ones


def deep(value: str, manager: str = "", levels: int = LEVELS) -> Unstructured:
    spec, owned = f'{{"a":{value}}}', "{}"
    for _ in range(levels):
        spec, owned = f'{{"a":{spec}}}', f'{{"f:a":{owned}}}'
    entry = f'"manager":"{manager}","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1"'
    owners = f',"managedFields":[{{{entry},"fieldsV1":{{"f:spec":{owned}}}}}]' if manager else ""
    metadata = f'{{"name":"deep","namespace":"shop","resourceVersion":"5","uid":"u"{owners}}}'
    return Unstructured(f'{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{metadata},"spec":{spec}}}')


CALLS: dict[str, Callable[[ResourceClient], Awaitable[Any]]] = {
    "diff": lambda c: c.diff(deep("2")),
    "drift": lambda c: c.diff_applied(deep("2"), "tester"),
    "release": lambda c: c.release_fields("deep", ".spec", "other"),
    "transfer": lambda c: c.transfer_fields("deep", "other", "tester"),
    "migrate": lambda c: c.upgrade_managed_fields("deep", "tester", "other"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.real_time
async def test_verbs_reject_objects_nested_too_deeply(call: str) -> None:
    server = ScriptedServer(
        *(httpx2.Response(200, content=obj.json) for obj in (deep("1", "other"), deep("2", "tester")))
    )

    with pytest.raises(InvalidObject, match=r"Deployment .*deep.* nested too deeply"):
        await CALLS[call](connect(server).resource("deployments"))


@pytest.mark.parametrize(
    "work",
    [
        lambda obj: released(obj, ".spec", "other"),
        lambda obj: transferred(obj, "other", "x"),
        lambda obj: migrated(obj, "x", "other"),
        lambda obj: extract(obj, "other"),
    ],
)
def test_functions_of_one_object_reject_objects_nested_too_deeply(work: Callable[[Unstructured], object]) -> None:
    with pytest.raises(InvalidObject, match="nested too deeply"):
        work(deep("1", "other"))


def test_a_difference_too_deep_for_yaml_is_shown_field_by_field() -> None:
    live, trial = deep("1", "a", 320), deep("2", "b", 320)

    diff = diff_between(live, trial, ours=trial, manager="b", subresource=None)

    assert "nested too deeply for YAML" in str(diff)
    assert ".a.a.a  1     2" in str(diff)
    assert "nested too deeply for YAML" in diff._repr_html_()
