"""CRDs and the recorded responses of kube-apiserver, in the tables in ``recorded/``.

``given`` is the difference from a minimal CRD: ``property`` is the schema of the field ``a``, ``schema`` that of the
whole resource, ``version`` and ``spec`` are merged into those of the minimal CRD. The other keys are the response of
kube-apiserver 1.36: the causes in its order, or the message of its decoder. Of servers before 1.25, whose messages
differ, only the fields are compared: with those of ``old``, if such a server finds fewer errors (``varies``: the result
depends on the order of a Go map). All requests are dry runs.

To add a case, write its ``given``, and copy the response of a real server from the output of the failing test.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.cluster import Cluster, Response
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


def _as_recorded(response: Response) -> JSONObject:
    """Return the response in the form of the tables: ``accepted``, ``causes`` or ``unreadable``."""
    if response.code == 201:
        return {"accepted": True}
    if response.code == 422:
        causes = response.body["details"]["causes"]
        return {"causes": [f"{cause.get('field')}: {cause['message']}" for cause in causes]}
    assert response.code == 400, response
    return {"unreadable": response.body["message"].removeprefix(UNREADABLE)}


def _fields(recorded: JSONObject) -> Any:
    """Return the fields of the causes, or the key if there are no causes."""
    (key,) = recorded
    return sorted(cause.partition(": ")[0] for cause in recorded["causes"]) if key == "causes" else key


@pytest.mark.parametrize("case", _cases())
async def test_the_response_to_a_crd_is_the_recorded_one(cluster: Cluster, case: JSONObject) -> None:
    expected = {key: value for key, value in case.items() if key not in {"given", "old"}}

    response = await cluster.call("POST", cluster.path(CRDS), body=_body(case["given"]), params={"dryRun": "All"})

    if cluster.version < (1, 25):
        if case.get("old") == "varies":
            pytest.skip("the first error of this server depends on the order of a Go map")
        assert _fields(_as_recorded(response)) == case.get("old", _fields(expected))
    else:
        assert _as_recorded(response) == expected
