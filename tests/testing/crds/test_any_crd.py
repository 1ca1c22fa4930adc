"""Any CRD is stored or rejected with a reason; the server never fails with an exception."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import BadRequest, Invalid
from dynkube_testing._calls.api import JSONObject
from tests.contract.objects import CRDS, version
from tests.testing.engine.cluster import Cluster, crd, widget

SCHEMA: JSONObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["replicas"],
            "properties": {
                "replicas": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
                "color": {"type": "string", "enum": ["red", "blue"], "pattern": "^[a-z]+$", "maxLength": 9},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "target": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
            "x-kubernetes-validations": [
                {"rule": "self.replicas < 10", "message": "too many", "fieldPath": ".replicas"}
            ],
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
COLUMN = {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1}
CLIENT = {"service": {"name": "a", "namespace": "b", "path": "/c", "port": 443}, "caBundle": "YWJj"}
WEBHOOK = {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}
FULL = crd(
    names={"plural": "widgets", "kind": "Widget", "singular": "widget", "shortNames": ["w"], "categories": ["all"]},
    conversion={"strategy": "Webhook", "webhook": WEBHOOK},
    versions=[
        version(
            schema={"openAPIV3Schema": SCHEMA},
            subresources={"status": {}, "scale": SCALE},
            additionalPrinterColumns=[COLUMN],
            selectableFields=[{"jsonPath": ".spec.color"}],
            deprecated=True,
            deprecationWarning="use v2",
        ),
        version("v2", storage=False),
    ],
)
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(1.5),
    st.sampled_from(["", "x", "object", "array", "string", "None", "[", ".a", "é\n", "a" * 70]),
    st.just([]),
    st.just([None]),
    st.just([{}]),
    st.just(["x", "x"]),
    st.just({}),
    st.just({"type": "string"}),
    st.just({"x": None}),
    st.sampled_from([SCHEMA, COLUMN]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within ``value``."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [below for key in keys for below in [(*path, key), *places(value[key], (*path, key))]]


def changed(body: JSONObject, path: tuple[Any, ...], value: Any) -> JSONObject:
    body = copy.deepcopy(body)
    place: Any = body
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return body


PLACES = [path for path in places(FULL) if path[0] in {"metadata", "spec"}]


@given(path=st.sampled_from(PLACES), value=WRONG)
def test_a_crd_with_any_value_anywhere_is_stored_or_rejected(path: tuple[Any, ...], value: Any) -> None:
    cluster = Cluster()

    try:
        cluster.create(CRDS, changed(FULL, path, value))
    except (BadRequest, Invalid):
        return

    if cluster.serves("widgets.v1.example.com"):
        _use(cluster)


KEYWORDS = sorted(
    {path[-1] for path in places(SCHEMA) if isinstance(path[-1], str)} | {"not", "allOf", "oneOf", "$ref"}
)


@given(
    path=st.sampled_from([place for place in PLACES if "openAPIV3Schema" in place and not isinstance(place[-1], int)]),
    keyword=st.sampled_from(KEYWORDS),
    value=WRONG,
)
def test_a_schema_with_any_keyword_anywhere_is_stored_or_rejected(
    path: tuple[Any, ...], keyword: str, value: Any
) -> None:
    cluster = Cluster()

    try:
        cluster.create(CRDS, changed(FULL, (*path[:-1], keyword), value))
    except (BadRequest, Invalid):
        return

    if cluster.serves("widgets.v1.example.com"):
        _use(cluster)


def _use(cluster: Cluster) -> None:
    """Create and list objects of a served kind; only validation errors are allowed."""
    with suppress(BadRequest, Invalid):
        cluster.create("widgets", widget(spec={"replicas": 1, "color": "red", "ports": [{"name": "a"}]}))
    cluster.list_of("widgets")
