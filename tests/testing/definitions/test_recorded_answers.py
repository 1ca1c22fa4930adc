"""Definitions and what kube-apiserver 1.36 answered to them; the cases are in ``recorded/``.

A case gives what differs from a plain definition: ``property`` is the schema of the field ``a``, ``schema`` that of the
whole resource, ``version`` and ``spec`` are merged into those. Causes are in the server's order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dynkube.errors import APIError, BadRequest, Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster

RECORDED = Path(__file__).parent / "recorded"


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
    body = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    return {**body, **{field: given[field] for field in ("metadata", "status") if field in given}}


@pytest.mark.parametrize("case", _cases())
def test_a_definition_is_answered_as_by_kube_apiserver(case: JSONObject) -> None:
    cluster = Cluster()

    if case.get("accepted"):
        cluster.create(CRDS, _body(case["given"]))
        return
    with pytest.raises(APIError) as caught:
        cluster.create(CRDS, _body(case["given"]))

    error = caught.value
    if "causes" in case:
        assert isinstance(error, Invalid)
        assert [f"{cause.field}: {cause.message}" for cause in error.causes] == case["causes"]
    else:
        assert isinstance(error, BadRequest)
        unreadable = 'CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: '
        assert error.status.message == unreadable + case["unreadable"]
