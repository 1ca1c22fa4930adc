"""Definitions and what API servers answer to them, by the tables in ``recorded/``.

A case gives what differs from a plain definition: ``property`` is the schema of the field ``a``, ``schema`` that of
the whole resource, ``version`` and ``spec`` are merged into those. What follows is the answer of kube-apiserver 1.36:
causes in its order, or what its decoder says. Servers before 1.25 are held to the fields alone, since they say the same
in other words, and to those of ``old`` where they know less (``varies``: it goes by the order of a map). Nothing is
stored: every case is a dry run.

To add a case write down its ``given``, and copy the answer from what the failing test shows of a real server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.cluster import Answer, Cluster
from tests.contract.objects import CRDS, JSONObject

RECORDED = Path(__file__).parent / "recorded"
UNREADABLE = 'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}-{number}")
        for path in sorted(RECORDED.glob("*.yaml"))
        for number, case in enumerate(yaml.safe_load(path.read_text()))
    ]


def _body(given: JSONObject) -> JSONObject:
    schema = given.get("schema", {"type": "object"})
    if "property" in given:
        schema = {"type": "object", "properties": {"a": given["property"]}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec: JSONObject | None = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{**version, **given.get("version", {})}],
    }
    if "spec" in given:
        spec = {**spec, **given["spec"]} if spec and isinstance(given["spec"], dict) else given["spec"]
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    metadata = {"name": "widgets.example.com"}
    return {**body, "metadata": metadata, **{field: given[field] for field in ("metadata", "status") if field in given}}


def _answered(answer: Answer) -> JSONObject:
    """In the words of the tables: ``accepted``, ``causes`` or ``unreadable``."""
    if answer.code == 201:
        return {"accepted": True}
    if answer.code == 422:
        causes = answer.body["details"]["causes"]
        return {"causes": [f"{cause.get('field')}: {cause['message']}" for cause in causes]}
    assert answer.code == 400, answer
    return {"unreadable": answer.body["message"].removeprefix(UNREADABLE)}


def _fields(answered: JSONObject) -> Any:
    """The fields that are complained about, or the only key."""
    (key,) = answered
    return sorted(cause.partition(": ")[0] for cause in answered["causes"]) if key == "causes" else key


@pytest.mark.parametrize("case", _cases())
async def test_a_definition_is_answered_as_recorded(cluster: Cluster, case: JSONObject) -> None:
    expected = {key: value for key, value in case.items() if key not in {"given", "old"}}

    answer = await cluster.call("POST", cluster.path(CRDS), body=_body(case["given"]), params={"dryRun": "All"})

    if cluster.version < (1, 25):
        if case.get("old") == "varies":
            pytest.skip("what this server complains about first goes by the random order of a map")
        assert _fields(_answered(answer)) == case.get("old", _fields(expected))
    else:
        assert _answered(answer) == expected
