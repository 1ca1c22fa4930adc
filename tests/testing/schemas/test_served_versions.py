"""Several versions of one resource, each with a schema of its own; one of them stores."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version, widget
from tests.testing.schemas.kit import STRING, fields


def two_versions() -> Cluster:
    old = fields(spec=fields(a=STRING, old={**STRING, "default": "o"}))
    new = fields(spec=fields(a=STRING, new={**STRING, "default": "n"}))
    versions = [
        version("v1", schema={"openAPIV3Schema": new}),
        version("v1beta1", storage=False, schema={"openAPIV3Schema": old}),
    ]
    cluster = Cluster()
    cluster.create(CRDS, definition(versions=versions))
    return cluster


def spec_of(cluster: Cluster, resource: str) -> JSONObject:
    spec: JSONObject = cluster.get(resource, "w")["spec"]
    return spec


def test_an_object_is_shown_without_the_fields_of_other_versions() -> None:
    cluster = two_versions()

    cluster.create("widgets.v1.example.com", widget(spec={"a": "x"}))

    assert spec_of(cluster, "widgets.v1.example.com") == {"a": "x", "new": "n"}
    assert spec_of(cluster, "widgets.v1beta1.example.com") == {"a": "x"}


def test_what_the_storing_version_does_not_know_is_lost() -> None:
    cluster = two_versions()

    body = widget(api_version="example.com/v1beta1", spec={"a": "x", "old": "kept?"})
    answer = cluster.create("widgets.v1beta1.example.com", body)

    assert answer["spec"] == {"a": "x"}
    assert spec_of(cluster, "widgets.v1.example.com") == {"a": "x", "new": "n"}


def test_each_version_tells_its_own_unknown_fields() -> None:
    cluster = two_versions()
    body = widget(api_version="example.com/v1beta1", spec={"new": "x"})

    result = cluster.engine.handle(cluster.request("create", "widgets.v1beta1.example.com", body=body))

    assert result.warnings == ('unknown field "spec.new"',)
