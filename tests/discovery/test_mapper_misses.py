"""The error for a name that is not found: absent or unknown."""

from __future__ import annotations

import pytest

from dynkube.discovery import APIDiscovery, RESTMapper
from dynkube.errors import DiscoveryFailed, InvalidInput, NoMatch, ServiceUnavailable, Status
from dynkube.meta import GVK, GVR
from tests.discovery.wire import CLUSTER, snapshot

DOWN = ServiceUnavailable(Status(503, message="metrics are down"))


def mapper(**failures: Exception) -> RESTMapper:
    return RESTMapper(APIDiscovery(resources=CLUSTER, failures=failures))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("deploymnets", "the server does not serve 'deploymnets'; did you mean 'deployments.apps'?"),
        ("podz", "did you mean 'pods'?"),
        ("deployments.v1", "it serves deployments.v1.apps"),
        ("httproutes.v3.gateway.networking.k8s.io", "it serves httproutes.v1.gateway.networking.k8s.io and httproutes"),
        ("zzz.v1.gateway.networking.io", "no API group 'gateway.networking.io', but gateway.networking.k8s.io"),
        ("zzz.v1.nothing.like.it", "it has no API group 'nothing.like.it'"),
        ("all", "does not serve 'all': it is a category"),
        ("zzz", "the server does not serve 'zzz': correct the name, or install the CRD that defines it"),
    ],
)
def test_the_error_for_a_name_that_is_not_served_has_similar_names(name: str, hint: str) -> None:
    with pytest.raises(NoMatch) as caught:
        mapper().resource_for(name)

    assert hint in str(caught.value)


@pytest.mark.scenario("F12")
@pytest.mark.parametrize(
    "arg", [GVR("apps", "v1", "deployment"), GVK("apps", "v1", "deployment"), GVK("apps", "v2", "Deployment")]
)
def test_a_gvr_or_gvk_matches_only_exactly(arg: GVR | GVK) -> None:
    with pytest.raises(NoMatch, match=r"deployments\.v1\.apps"):
        mapper().resource_for(arg)


@pytest.mark.scenario("F15", "F32")
@pytest.mark.parametrize(
    "name",
    ["nodemetrics", "x.metrics", "x.metrics.k8s.io", "x.v1beta1.metrics.k8s.io", GVR("metrics.k8s.io", "v1beta1", "x")],
)
def test_a_name_that_a_failed_group_version_may_have_is_unknown_and_not_absent(name: str | GVR) -> None:
    failures = {"metrics.k8s.io/v1beta1": DOWN}

    with pytest.raises(
        DiscoveryFailed, match=r"could not read metrics\.k8s\.io/v1beta1 \(503 .*metrics are down\)"
    ) as e:
        RESTMapper(APIDiscovery(resources=CLUSTER, failures=failures)).resource_for(name)

    assert e.value.failures == failures


@pytest.mark.parametrize(
    "name", ["x.apps", "x.v1.metrics.k8s.io", "x.v1", "x.networking", GVK("metrics.k8s.io", "v1", "PodMetrics")]
)
def test_a_name_that_no_failed_group_version_can_have_is_absent(name: str | GVK) -> None:
    with pytest.raises(NoMatch):
        RESTMapper(APIDiscovery(resources=CLUSTER, failures={"metrics.k8s.io/v1beta1": DOWN})).resource_for(name)


@pytest.mark.scenario("F15")
def test_without_the_list_of_groups_only_the_core_group_is_certain() -> None:
    blind = RESTMapper(APIDiscovery(resources=CLUSTER, failures={"*": DOWN}))

    with pytest.raises(DiscoveryFailed, match="the list of API groups"):
        blind.resource_for("x.v1.example.com")
    with pytest.raises(NoMatch):
        blind.resource_for("x.v1")


def test_without_the_core_group_its_names_are_unknown() -> None:
    with pytest.raises(DiscoveryFailed, match=r"could not read v1 \("):
        mapper(v1=DOWN).resource_for("widgets.v1")


def test_a_known_resource_is_found_although_others_failed() -> None:
    assert str(RESTMapper(APIDiscovery(resources=CLUSTER, failures={"*": DOWN})).resource_for("po")) == "pods.v1"


def test_of_many_failures_the_error_lists_some_and_their_number() -> None:
    failures = {f"g{i}.example/v1": DOWN for i in range(5)}

    with pytest.raises(DiscoveryFailed, match=r"g2\.example/v1 .* and 2 more$") as caught:
        RESTMapper(APIDiscovery(resources=CLUSTER, failures=failures)).resource_for("x")

    assert len(caught.value.failures) == 5


def test_the_error_for_an_unknown_category_lists_the_known_ones() -> None:
    with pytest.raises(NoMatch, match="category 'everything'; its categories are all"):
        mapper().category("everything")
    with pytest.raises(DiscoveryFailed, match="category everything"):
        mapper(v1=DOWN).category("everything")


def test_an_invalid_name_is_rejected_before_any_lookup() -> None:
    with pytest.raises(InvalidInput, match="resource is empty"):
        RESTMapper(snapshot()).resource_for("")
    with pytest.raises(InvalidInput, match="resource is 5: pass a string"):
        RESTMapper(snapshot()).resource_for(5)  # type: ignore[arg-type]  # the mistake under test
