"""Values that were not valid before may stay as they are when something else is updated (KEP-4008)."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version, widget
from tests.testing.schemas.kit import INTEGER, STRING, fields, reschema, serving

SHORT = {**STRING, "maxLength": 3}
NAMED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


def rewritten(loose: JSONObject, tight: JSONObject, before: Any, after: Any) -> list[str]:
    """Fields of the causes when a widget stored under a loose schema is updated under a tight one."""
    cluster = serving(loose)
    body = cluster.create("widgets", widget(spec={"f": before}))
    reschema(cluster, tight)
    try:
        cluster.update(
            "widgets", {**body, "spec": {"f": after}, "metadata": {**body["metadata"], "labels": {"a": "b"}}}
        )
    except Invalid as error:
        return [cause.field for cause in error.status.causes]
    return []


@pytest.mark.parametrize(
    ("loose", "tight", "before", "after", "refused"),
    [
        (STRING, SHORT, "long ago", "long ago", []),
        (STRING, SHORT, "long ago", "long since", ["spec.f"]),
        (fields(a=STRING, b=INTEGER), fields(a=SHORT, b=INTEGER), {"a": "long ago"}, {"a": "long ago", "b": 1}, []),
        (fields(a=STRING), fields(["b"], a=STRING, b=STRING), {"a": "x"}, {"a": "y"}, ["spec.f.b"]),
        (
            {"type": "array", "items": STRING},
            {"type": "array", "items": SHORT},
            ["long ago"],
            ["long ago", "new"],
            ["spec.f[0]"],
        ),
        (
            {**NAMED, "items": fields(["k"], k=STRING, v=STRING)},
            {**NAMED, "items": fields(["k"], k=STRING, v=SHORT)},
            [{"k": "a", "v": "long ago"}],
            [{"k": "b", "v": "x"}, {"k": "a", "v": "long ago"}],
            [],
        ),
        (STRING, {**STRING, "x-kubernetes-validations": [{"rule": "self != 'bad'"}]}, "bad", "bad", []),
    ],
)
def test_what_has_not_changed_may_stay(
    loose: JSONObject, tight: JSONObject, before: Any, after: Any, refused: list[str]
) -> None:
    assert rewritten(loose, tight, before, after) == refused


def test_lists_with_something_twice_may_stay_so_whatever_else_they_get() -> None:
    plain = {"type": "array", "items": STRING}

    found = rewritten(plain, {**plain, "x-kubernetes-list-type": "set"}, ["a", "a"], ["a", "a", "b", "b"])

    assert found == []


def test_a_rule_that_was_broken_before_is_told_by_a_warning() -> None:
    cluster = serving(STRING)
    body = cluster.create("widgets", widget(spec={"f": "bad"}))
    reschema(cluster, {**STRING, "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "no"}]})
    body["metadata"]["labels"] = {"a": "b"}

    result = cluster.engine.handle(cluster.request("update", "widgets", "w", body=body))

    assert result.warnings == ('spec.f: Invalid value: "bad": no',)


def status_cluster() -> Cluster:
    schema = fields(spec=fields(["a"], a=STRING), status=fields(["n"], n=INTEGER))
    cluster = Cluster()
    served = version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})
    cluster.create(CRDS, definition(versions=[served]))
    return cluster


def test_through_the_status_only_the_status_is_looked_at() -> None:
    cluster = status_cluster()
    body = cluster.create("widgets", widget(spec={"a": "x"}, status={"n": "dropped"}))

    with pytest.raises(Invalid) as caught:
        cluster.update("widgets", {**body, "spec": {}, "status": {"n": "x"}}, subresource="status")
    done = cluster.update("widgets", {**body, "spec": {}, "status": {"n": 1}}, subresource="status")

    assert "status" not in body
    assert [(cause.field, cause.message) for cause in caught.value.status.causes] == [
        ("status.n", 'Invalid value: "string": n in body must be of type integer: "string"')
    ]
    assert (done["spec"], done["status"]) == ({"a": "x"}, {"n": 1})
