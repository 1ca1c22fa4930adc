"""The resource to which a name is resolved: kubectl's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.discovery import APIResource, RESTMapper
from dynkube.errors import AmbiguousMatch
from dynkube.meta import GVK, GVR
from tests.discovery.wire import CLUSTER, PODS, resource, snapshot


@pytest.mark.scenario("F12")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pods", "pods.v1"),
        ("pod", "pods.v1"),
        ("po", "pods.v1"),
        ("Pod", "pods.v1"),
        ("PODS", "pods.v1"),
        ("pods.v1", "pods.v1"),
        ("v1/pods", "pods.v1"),
        ("deploy", "deployments.v1.apps"),
        ("Deployment", "deployments.v1.apps"),
        ("Deployment.apps", "deployments.v1.apps"),
        ("Deployment.v1.apps", "deployments.v1.apps"),
        ("deploy.apps", "deployments.v1.apps"),
        ("deploy.ap", "deployments.v1.apps"),
        ("deploy.v1.apps", "deployments.v1.apps"),
        ("apps/v1/deployments", "deployments.v1.apps"),
        ("ingresses.networking", "ingresses.v1.networking.k8s.io"),
        ("ing.networking.k8s.io", "ingresses.v1.networking.k8s.io"),
        ("ingresses.networking.k8s.io/v1", "ingresses.v1.networking.k8s.io"),
        ("events", "events.v1"),
        ("ev", "events.v1"),
        ("events.events.k8s.io", "events.v1.events.k8s.io"),
        ("ev.events", "events.v1.events.k8s.io"),
        ("httproutes", "httproutes.v1.gateway.networking.k8s.io"),
        ("HTTPRoute", "httproutes.v1.gateway.networking.k8s.io"),
        ("httproutes.gateway.networking.k8s.io", "httproutes.v1.gateway.networking.k8s.io"),
        ("httproutes.v1beta1.gateway.networking.k8s.io", "httproutes.v1beta1.gateway.networking.k8s.io"),
    ],
)
def test_a_name_means_the_same_as_in_kubectl(name: str, meant: str) -> None:
    assert str(RESTMapper(snapshot()).resource_for(name)) == meant


def test_a_kind_that_differs_from_the_singular_name_is_found_by_kind() -> None:
    metrics = resource("nodes.v1beta1.metrics.k8s.io", "NodeMetrics", singular="node")

    assert RESTMapper(snapshot(PODS, metrics)).resource_for("nodemetrics") == metrics


@pytest.mark.scenario("F12")
def test_an_exact_group_is_preferred_to_a_group_with_that_prefix() -> None:
    longer = resource("widgets.v1.example.com", "Widget")
    exact = resource("widgets.v1.example", "Widget")

    mapper = RESTMapper(snapshot(longer, exact))

    assert mapper.resource_for("widgets.example").gvr == exact.gvr


@pytest.mark.scenario("F12")
def test_a_plural_name_in_a_later_group_wins_over_a_short_name_in_an_earlier_one() -> None:
    early = resource("certificates.v1.a.example", "Certificate", short_names=("certs",))
    late = resource("certs.v1.b.example", "Cert")

    assert RESTMapper(snapshot(early, late)).resource_for("certs").gvr == late.gvr


@pytest.mark.scenario("F12")
def test_a_short_name_of_two_groups_means_the_group_with_the_higher_priority() -> None:
    first = resource("certificates.v1.a.example", "Certificate", short_names=("cert",))
    second = resource("certs.v1.b.example", "CertB", short_names=("cert",), singular="certb")

    mapper = RESTMapper(snapshot(first, second))

    assert mapper.resource_for("cert").gvr == first.gvr
    assert [str(found) for found in mapper.resources_for("cert")] == [str(first), str(second)]


@pytest.mark.scenario("F12")
def test_a_short_name_of_two_resources_in_one_group_version_is_ambiguous() -> None:
    bars = resource("bars.v1.example.com", "Bar", short_names=("x",))
    foos = resource("foos.v1.example.com", "Foo", short_names=("x",))

    with pytest.raises(AmbiguousMatch, match="'x' is ambiguous: use ") as caught:
        RESTMapper(snapshot(bars, foos)).resource_for("x")

    assert caught.value.candidates == ("bars.v1.example.com", "foos.v1.example.com")


@pytest.mark.scenario("F12")
def test_a_resource_keeps_its_plural_although_another_one_has_it_as_singular() -> None:
    claims = resource("datas.v1.example.com", "Data", singular="data")
    owner = resource("data.v1.example.com", "Datum", singular="datum")

    assert RESTMapper(snapshot(claims, owner)).resource_for("data").gvr == owner.gvr


def test_a_gvk_is_matched_exactly() -> None:
    mapper = RESTMapper(snapshot())

    assert str(mapper.resource_for(GVK("gateway.networking.k8s.io", "v1beta1", "HTTPRoute"))).startswith(
        "httproutes.v1b"
    )


def test_a_category_lists_each_resource_once_in_its_best_version() -> None:
    old = resource("widgets.v1.example.com", "Widget", categories=("all",), preferred="v2")
    new = resource("widgets.v2.example.com", "Widget", categories=("all",), preferred="v2")

    mapper = RESTMapper(snapshot(PODS, new, old))

    assert mapper.category("all") == (PODS, new)
    assert mapper.categories == ("all",)


def test_kinds_are_in_order_of_priority() -> None:
    kinds = RESTMapper(snapshot()).kinds

    assert kinds[0] == GVK("", "v1", "Pod")
    assert len(kinds) == len(CLUSTER)


names = st.text("abcdefg", min_size=1, max_size=3)


@pytest.mark.scenario("F12")
@given(
    st.lists(
        st.builds(
            lambda plural, kind, version, group, short: resource(
                f"{plural}.{version}.{group}", kind.title(), short_names=tuple(short)
            ),
            plural=names,
            kind=names,
            version=st.sampled_from(["v1", "v1beta1", "v2"]),
            group=st.sampled_from(["apps", "example.com"]),
            short=st.lists(names, max_size=2),
        ),
        min_size=1,
        unique_by=lambda entry: entry.gvr,
    )
)
def test_every_resource_is_found_by_its_full_name_whatever_else_is_served(entries: list[APIResource]) -> None:
    mapper = RESTMapper(snapshot(*entries))

    for entry in entries:
        assert mapper.resource_for(str(entry.gvr)) is entry
        assert mapper.resource_for(GVR.parse(str(entry.gvr))) is entry
