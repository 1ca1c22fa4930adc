"""Both forms of discovery documents, with the irregularities of real servers."""

from __future__ import annotations

import json

import pytest

from dynkube.discovery._documents import parse_resource_list, parse_root, parse_version
from dynkube.errors import ProtocolError
from dynkube.meta import GroupVersion

APPS = GroupVersion("apps", "v1")


def aggregated(*resources: dict[str, object], api: str = "apidiscovery.k8s.io/v2", **version: object) -> bytes:
    versions = [{"version": "v1", "resources": list(resources), "freshness": "Current", **version}]
    items = [{"metadata": {"name": "apps"}, "versions": versions}]
    return json.dumps({"kind": "APIGroupDiscoveryList", "apiVersion": api, "items": items}).encode()


DEPLOYMENTS: dict[str, object] = {
    "resource": "deployments",
    "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "scope": "Namespaced",
    "singularResource": "deployment",
    "verbs": ["get", "list"],
    "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}, "verbs": ["get"]}],
}


@pytest.mark.parametrize("api", ["apidiscovery.k8s.io/v2", "apidiscovery.k8s.io/v2beta1"])
def test_an_aggregated_document_of_either_version_adds_subresources_to_their_resource(api: str) -> None:
    root = parse_root(aggregated(DEPLOYMENTS, api=api), path="/apis")

    (entry,) = root.groups[0].versions[0].resources or ()
    assert root.aggregated
    assert str(entry.gvr) == "deployments.v1.apps"
    assert (entry.kind, entry.singular, entry.namespaced) == ("Deployment", "deployment", True)
    assert entry.verbs == {"get", "list"}
    assert entry.subresources == {"scale"}
    assert entry.group_preferred_version == "v1"


@pytest.mark.parametrize("kind", [{}, {"responseKind": None}, {"responseKind": {"kind": ""}}])
def test_an_aggregated_entry_without_a_kind_is_dropped(kind: dict[str, object]) -> None:
    custom_metric = {"resource": "pods", "scope": "Namespaced", "verbs": [], "subresources": [], **kind}

    root = parse_root(aggregated(custom_metric, DEPLOYMENTS), path="/apis")

    assert [entry.gvr.resource for entry in root.groups[0].versions[0].resources or ()] == ["deployments"]


def test_null_lists_are_empty_lists() -> None:
    bare = {**DEPLOYMENTS, "verbs": None, "shortNames": None, "categories": None, "subresources": None}

    (entry,) = parse_root(aggregated(bare), path="/apis").groups[0].versions[0].resources or ()

    assert not any((entry.verbs, entry.short_names, entry.categories, entry.subresources))


def test_the_core_group_has_no_name_and_is_only_in_the_document_of_api() -> None:
    body = aggregated(DEPLOYMENTS).replace(b'"name": "apps"', b'"creationTimestamp": null')

    assert [group.name for group in parse_root(body, path="/api").groups] == [""]
    assert parse_root(body, path="/apis").groups == ()


def test_a_stale_version_is_marked() -> None:
    root = parse_root(aggregated(DEPLOYMENTS, freshness="Stale"), path="/apis")

    assert root.groups[0].versions[0].stale


def test_a_legacy_group_list_has_the_preferred_version_first_and_the_others_in_order() -> None:
    versions = [{"groupVersion": f"batch/{v}", "version": v} for v in ("v2alpha1", "v1beta1", "v1")]
    group = {"name": "batch", "versions": versions, "preferredVersion": versions[2]}
    body = json.dumps({"kind": "APIGroupList", "groups": [group]}).encode()

    (batch,) = parse_root(body, path="/apis").groups

    assert [version.version for version in batch.versions] == ["v1", "v2alpha1", "v1beta1"]
    assert all(version.resources is None for version in batch.versions)


def test_a_legacy_resource_list_adds_subresources_to_their_resource_and_drops_others() -> None:
    rows = [
        {"name": "deployments/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]},
        {"name": "deployments", "kind": "Deployment", "singularName": "", "namespaced": True, "verbs": ["get"]},
        {"name": "pods/http_requests", "kind": "MetricValueList", "namespaced": True, "verbs": ["get"]},
    ]
    body = json.dumps({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": rows}).encode()

    (entry,) = parse_resource_list(body, path="/apis/apps/v1", gv=APPS, preferred="v1")

    assert entry.subresources == {"scale"}
    assert entry.singular == "deployment", "old servers leave the singular name empty"


def test_a_resource_listed_twice_counts_once() -> None:
    assert (
        len(parse_root(aggregated(DEPLOYMENTS, DEPLOYMENTS), path="/apis").groups[0].versions[0].resources or ()) == 1
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Sign in</html>", "starts with '<html>Sign in</html>'"),
        (b'{"kind": "PodList", "items": []}', "got kind 'PodList'"),
        (b"[]", "not a discovery document"),
        (b'{"kind": "APIGroupList", "groups": 5}', "not a discovery document"),
        (b'{"kind": "\xff"}', "not a discovery document"),
    ],
)
def test_the_error_for_another_document_shows_its_kind_or_beginning(body: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match="GET /apis") as caught:
        parse_root(body, path="/apis")

    assert message in str(caught.value)


def test_a_version_document_without_a_version_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="contains no version"):
        parse_version(b'{"hello": "world"}', path="/version")
