"""Ratcheting (KEP-4008): an update may keep unchanged values that have become invalid."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dynkube.errors import Invalid
from dynkube_testing import APIServer
from tests.contract.backends import Backend, open_cluster
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, structural, version
from tests.contract.schemas.kit import INTEGER, STRING, fields, serve, update_field_schema, update_schema

pytestmark = pytest.mark.since("1.30", "updates validated unchanged values, too")

SHORT = {**STRING, "maxLength": 3}
STRINGS = {"type": "array", "items": STRING}
NAMED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
# The schema before and after, the value before and after, and the fields that are invalid then.
CASES: dict[str, tuple[JSONObject, JSONObject, Any, Any, list[str]]] = {
    "an unchanged value": (STRING, SHORT, "long ago", "long ago", []),
    "a changed value": (STRING, SHORT, "long ago", "long since", ["spec.f"]),
    "a change beside an unchanged value": (
        fields(a=STRING, b=INTEGER),
        fields(a=SHORT, b=INTEGER),
        {"a": "long ago"},
        {"a": "long ago", "b": 1},
        [],
    ),
    "a new required field": (
        fields(a=STRING),
        fields(["b"], a=STRING, b=STRING),
        {"a": "x"},
        {"a": "y"},
        ["spec.f.b"],
    ),
    "a new item": (STRINGS, {**STRINGS, "items": SHORT}, ["long ago"], ["long ago", "new"], ["spec.f[0]"]),
    "an unchanged item with a key": (
        {**NAMED, "items": fields(["k"], k=STRING, v=STRING)},
        {**NAMED, "items": fields(["k"], k=STRING, v=SHORT)},
        [{"k": "a", "v": "long ago"}],
        [{"k": "b", "v": "x"}, {"k": "a", "v": "long ago"}],
        [],
    ),
    "an unchanged value that violates a rule": (
        STRING,
        {**STRING, "x-kubernetes-validations": [{"rule": "self != 'bad'"}]},
        "bad",
        "bad",
        [],
    ),
    "an unchanged set with duplicates": (
        STRINGS,
        {**STRINGS, "x-kubernetes-list-type": "set"},
        ["a", "a"],
        ["a", "a", "b", "b"],
        [],
    ),
}
PLACES = {name: f"f{number}" for number, name in enumerate(CASES)}


@pytest.fixture(scope="module")
async def tightened(backend: Backend, server: APIServer | None) -> AsyncIterator[dict[str, Any]]:
    """For each case a Widget that was stored before the schema was tightened; and the cluster."""
    async with open_cluster(backend, server) as cluster:
        schema = structural(**{PLACES[name]: case[0] for name, case in CASES.items()})
        await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))
        stored: dict[str, Any] = {}
        for name, case in CASES.items():
            body = cluster.widget(PLACES[name], spec={PLACES[name]: case[2]})
            stored[name] = await cluster.create("widgets", body)
        await update_schema(cluster, structural(**{PLACES[name]: case[1] for name, case in CASES.items()}))
        yield stored | {"cluster": cluster}


@pytest.mark.parametrize("name", CASES)
async def test_unchanged_invalid_values_are_accepted(tightened: dict[str, Any], name: str) -> None:
    *_, after, expected = CASES[name]
    cluster, before = tightened["cluster"], tightened[name]
    metadata = {**before["metadata"], "labels": {"a": "b"}}

    invalid: list[str] = []
    try:
        await cluster.update("widgets", {**before, "spec": {PLACES[name]: after}, "metadata": metadata})
    except Invalid as error:
        invalid = [(cause.field or "").replace(PLACES[name], "f") for cause in error.causes]

    # The cause without a field says that the rule of another field was not evaluated.
    assert [field for field in invalid if field != "<nil>"] == expected


async def test_a_rule_that_an_unchanged_value_violates_causes_a_warning(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    body = await cluster.create("widgets", cluster.widget(spec={"f": "bad"}))
    await update_field_schema(
        cluster, {**STRING, "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "no"}]}
    )
    body["metadata"]["labels"] = {"a": "b"}

    response = await cluster.call("PUT", cluster.path("widgets", "w"), body=body)

    assert response.warnings == ['spec.f: Invalid value: "bad": no']


async def test_an_update_of_the_status_validates_only_the_status(cluster: Cluster) -> None:
    schema = {"openAPIV3Schema": fields(spec=fields(["a"], a=STRING), status=fields(["n"], n=INTEGER))}
    served = version(schema=schema, subresources={"status": {}})
    await cluster.create_crd(cluster.crd(versions=[served]))
    body = await cluster.create("widgets", cluster.widget(spec={"a": "x"}, status={"n": "dropped"}))

    with pytest.raises(Invalid) as caught:
        await cluster.update("widgets/status", {**body, "spec": {}, "status": {"n": "x"}})
    done = await cluster.update("widgets/status", {**body, "spec": {}, "status": {"n": 1}})

    assert "status" not in body
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [
        ("status.n", 'Invalid value: "string": n in body must be of type integer: "string"')
    ]
    assert (done["spec"], done["status"]) == ({"a": "x"}, {"n": 1})
