"""Discovery documents follow the registry, in the legacy and in the aggregated form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from dynkube.meta import GVR, GroupVersion
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._wire.discovery import Discovery


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_kinds())


@pytest.fixture
def discovery(registry: Registry) -> Discovery:
    return Discovery(registry)


def _custom(group: str, *versions: str) -> list[Kind]:
    return [Kind(gvr=GVR(group, v, "widgets"), kind="Widget", namespaced=True, crd_uid="u-1") for v in versions]


def _groups(discovery: Discovery) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(discovery.aggregated_groups()[0])["items"]
    return items


def test_custom_groups_follow_the_built_in_ones_in_alphabetical_order(registry: Registry, discovery: Discovery) -> None:
    registry.add(*_custom("zoo.example", "v1"), *_custom("acme.example", "v1"))

    names = [group["metadata"]["name"] for group in _groups(discovery)]
    assert names[:2] == ["apiregistration.k8s.io", "apps"]
    assert names[-2:] == ["acme.example", "zoo.example"]


def test_a_kind_that_is_not_established_is_not_in_discovery(registry: Registry, discovery: Discovery) -> None:
    registry.add(Kind(gvr=GVR("acme.example", "v1", "widgets"), kind="Widget", namespaced=True, listed=False))

    assert discovery.legacy_group("acme.example") is None
    assert discovery.legacy_resources(GroupVersion("acme.example", "v1")) is None
    assert "acme.example" not in [group["metadata"]["name"] for group in _groups(discovery)]


def test_the_etag_changes_only_with_the_content(registry: Registry, discovery: Discovery) -> None:
    _, before = discovery.aggregated_groups()
    registry.add(*_custom("acme.example", "v1"))
    _, with_widgets = discovery.aggregated_groups()
    registry.remove(GVR("acme.example", "v1", "widgets"))
    _, after = discovery.aggregated_groups()

    assert before == after != with_widgets


def test_an_unavailable_version_is_stale_until_it_is_available(registry: Registry, discovery: Discovery) -> None:
    registry.add(*_custom("acme.example", "v1"))
    registry.set_available(GroupVersion("acme.example", "v1"), False)
    stale = _groups(discovery)[-1]["versions"]
    registry.set_available(GroupVersion("acme.example", "v1"), True)

    assert stale == [{"version": "v1", "freshness": "Stale"}]
    assert _groups(discovery)[-1]["versions"][0]["freshness"] == "Current"


def test_both_forms_have_the_same_resources(discovery: Discovery) -> None:
    aggregated = {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in _groups(discovery)
        for version in group["versions"]
        for resource in version["resources"]
    }

    legacy = {
        (gv.group, gv.version, resource["name"])
        for gv in discovery.group_versions()
        if gv.group
        for resource in (discovery.legacy_resources(gv) or {})["resources"]  # type: ignore[attr-defined]  # decoded JSON
        if "/" not in resource["name"]
    }
    assert aggregated == legacy


def test_aggregated_discovery_of_custom_kinds_has_group_and_version(registry: Registry, discovery: Discovery) -> None:
    registry.add(*_custom("acme.example", "v1"))

    (widgets,) = _groups(discovery)[-1]["versions"][0]["resources"]
    assert widgets["responseKind"] == {"group": "acme.example", "version": "v1", "kind": "Widget"}
    assert widgets["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]


def test_kinds_of_a_terminating_crd_can_only_be_read_and_deleted(registry: Registry, discovery: Discovery) -> None:
    registry.add(replace(_custom("acme.example", "v1")[0], terminating=True))

    (widgets,) = _groups(discovery)[-1]["versions"][0]["resources"]
    assert widgets["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
