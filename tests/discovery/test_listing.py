"""The discovered resources as a list, and as names for completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube.discovery import APIDiscovery, APIResource
from dynkube.discovery._listing import completions, listing
from dynkube.errors import ServiceUnavailable, Status
from tests.discovery.wire import CLUSTER, HTTP_ROUTES, HTTP_ROUTES_BETA, PODS


def test_each_resource_is_listed_in_its_best_version() -> None:
    found = APIDiscovery(resources=(PODS, HTTP_ROUTES, HTTP_ROUTES_BETA))

    assert list(listing(found)) == [PODS, HTTP_ROUTES]
    assert list(listing(found, all_versions=True)) == [PODS, HTTP_ROUTES, HTTP_ROUTES_BETA]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ({"group": ""}, lambda each: each.gvr.group == ""),
        ({"namespaced": False}, lambda each: not each.namespaced),
        ({"verb": "list"}, lambda each: "list" in each.verbs),
        ({"category": "all"}, lambda each: "all" in each.categories),
        ({"group": "nosuch"}, lambda each: False),
    ],
)
def test_arguments_select_resources(wanted: dict[str, Any], chosen: Callable[[APIResource], bool]) -> None:
    found = listing(APIDiscovery(resources=CLUSTER), **wanted, all_versions=True)

    assert list(found) == [each for each in CLUSTER if chosen(each)]


def test_group_versions_that_could_not_be_read_are_shown() -> None:
    down = ServiceUnavailable(Status(code=503, reason="ServiceUnavailable", message="the server is <down>"))
    discovery = APIDiscovery(resources=CLUSTER, failures={"metrics.k8s.io/v1beta1": down})

    found = listing(discovery)

    assert list(found.failures) == ["metrics.k8s.io/v1beta1"]
    assert "metrics.k8s.io/v1beta1 could not be read" in found._repr_html_()
    assert "&lt;down&gt;" in found._repr_html_()
    assert repr(found) == f"<APIResources {len(found)}, unread: metrics.k8s.io/v1beta1>"


def test_a_plural_of_two_groups_is_completed_with_and_without_its_group() -> None:
    others = APIResource(
        gvr=HTTP_ROUTES.gvr.__class__("x.io", "v1", "pods"), kind="Pod", singular="pod", namespaced=True
    )

    assert completions(APIDiscovery(resources=(PODS, others))) == ["pods", "pods.x.io"]
