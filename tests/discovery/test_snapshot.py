"""A snapshot of which one part is read again."""

from __future__ import annotations

import pytest

from dynkube.discovery import APIDiscovery
from dynkube.errors import ServiceUnavailable, Status
from dynkube.meta import GroupVersion
from tests.discovery.wire import CLUSTER, DEPLOYMENTS, HTTP_ROUTES, HTTP_ROUTES_BETA, PODS, resource, snapshot

GATEWAY = "gateway.networking.k8s.io"
DOWN = ServiceUnavailable(Status(503))


def names(found: APIDiscovery) -> list[str]:
    return [str(entry) for entry in found.resources]


def test_a_group_version_that_is_read_again_keeps_its_place() -> None:
    scaled = resource("deployments.v1.apps", "Deployment", subresources=("scale",))

    after = snapshot().with_group_version(GroupVersion("apps", "v1"), (scaled,))

    assert names(after) == names(snapshot())
    assert after.group("apps") == (scaled,)


@pytest.mark.scenario("F4")
def test_a_removed_group_version_is_dropped_and_the_next_is_preferred() -> None:
    after = snapshot().with_group_version(GroupVersion(GATEWAY, "v1"), None)

    (left,) = after.group(GATEWAY)
    assert left.gvr == HTTP_ROUTES_BETA.gvr
    assert left.group_preferred_version == "v1beta1"


@pytest.mark.scenario("F4", "F12")
def test_a_new_version_is_inserted_in_the_servers_order_for_crds() -> None:
    before = snapshot(PODS, resource(str(HTTP_ROUTES_BETA), "HTTPRoute"), DEPLOYMENTS)

    after = before.with_group_version(GroupVersion(GATEWAY, "v1"), (HTTP_ROUTES,))

    assert after.resources == (PODS, HTTP_ROUTES, HTTP_ROUTES_BETA, DEPLOYMENTS)


def test_a_new_group_comes_last_and_the_core_group_first() -> None:
    widgets = resource("widgets.v1.example.com", "Widget")

    assert names(snapshot(PODS).with_group_version(GroupVersion("example.com", "v1"), (widgets,))) == [
        "pods.v1",
        "widgets.v1.example.com",
    ]
    assert names(snapshot(widgets).with_group_version(GroupVersion("", "v1"), (PODS,))) == [
        "pods.v1",
        "widgets.v1.example.com",
    ]


def test_a_group_version_that_is_read_again_has_no_failure() -> None:
    failures: dict[str, Exception] = {"apps/v1": DOWN, "metrics.k8s.io/v1beta1": DOWN}
    before = APIDiscovery(resources=CLUSTER, failures=failures)

    after = before.with_group_version(GroupVersion("apps", "v1"), (DEPLOYMENTS,))

    assert not after.complete
    assert list(after.failures) == ["metrics.k8s.io/v1beta1"]


def test_a_group_that_is_read_again_is_replaced_with_its_failures() -> None:
    before = APIDiscovery(resources=CLUSTER, failures={f"{GATEWAY}/v1alpha2": DOWN, "*": DOWN})
    part = APIDiscovery(resources=(HTTP_ROUTES_BETA,), failures={f"{GATEWAY}/v1": DOWN})

    after = before.with_group(GATEWAY, part)

    assert after.group(GATEWAY) == (HTTP_ROUTES_BETA,)
    assert list(after.failures) == ["*", f"{GATEWAY}/v1"]
    assert len(after.resources) == len(CLUSTER) - 1


@pytest.mark.scenario("F15")
def test_a_group_version_that_fails_again_keeps_its_resources() -> None:
    after = snapshot().with_failure(GroupVersion("apps", "v1"), DOWN)

    assert after.resources == CLUSTER
    assert after.failures == {"apps/v1": DOWN}
    assert after.group_versions[:2] == (GroupVersion("", "v1"), GroupVersion("apps", "v1"))
