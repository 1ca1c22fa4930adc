"""Display of resources: discovery, names, and resources that are not installed."""

from __future__ import annotations

import pytest

from dynkube import GVK, GVR, APIResource, Client
from dynkube._display import card_of
from dynkube._display.discovery import named_card
from dynkube._display.objects import object_card
from dynkube.discovery import APIDiscovery, APIResources, RESTMapper
from dynkube_testing import APIServer
from tests.display.kit import NOW, Page, lines
from tests.informers.kit import WIDGETS, crd


def resource(name: str, version: str = "v1", group: str = "apps", verbs: str = "get list watch") -> APIResource:
    return APIResource(
        gvr=GVR(group, version, name),
        kind=name.title(),
        singular=name,
        namespaced=True,
        verbs=frozenset(verbs.split()),
        short_names=("x",),
        categories=("all",),
        subresources=frozenset({"status", "scale"}),
        group_preferred_version="v1",
    )


def test_a_resource_displays_its_discovery() -> None:
    shown = Page(card_of(resource("webs", "v1beta1"), NOW))

    assert shown.text(".dk-head") == "apps/v1beta1 Webs · webs · in namespaces"
    assert shown.all(".dk-facts tr") == [
        "namewebs.v1beta1.apps",
        "shortx, webs",
        "categoriesall",
        "verbsget, list, watch",
        "subresourcesscale, status",
        "preferredv1, not v1beta1",
    ]


def test_resources_are_a_table_with_failures_below() -> None:
    everything = "get list watch create update patch delete deletecollection"
    many = APIResources(
        [resource("webs"), resource("jobs", verbs=everything)], {"metrics/v1": ValueError("no response")}
    )

    shown = Page(card_of(many, NOW))

    assert shown.text(".dk-head") == "API resources · 2 resources · 1 group"
    assert [row[0] for row in shown.rows()] == ["NAME", "webs", "jobs"]
    assert [row[5] for row in shown.rows()] == ["VERBS", "get, list, watch", "all"]
    assert shown.all(".dk-note") == ["metrics/v1 could not be read: no response"]


def test_of_very_many_failures_the_first_are_displayed() -> None:
    resources = APIResources([], failures={f"g{number}/v1": ValueError("no response") for number in range(1000)})

    notes = Page(resources._repr_html_()).all(".dk-note")

    assert len(notes) == 21
    assert notes[-1] == "and 980 more could not be read"


def test_a_name_displays_what_is_known_about_it() -> None:
    served = RESTMapper(APIDiscovery(resources=(resource("webs"), resource("webs", "v1beta1"))))

    known, unknown, not_looked_up = named_card("webs", served), named_card("gadgets", served), named_card("webs", None)

    assert "versionsv1, v1beta1" in Page(known).all(".dk-facts tr")
    assert Page(unknown).text(".dk-head") == "resource · gadgets · not installed"
    assert Page(not_looked_up).text().endswith("Not known yet: availability() and every request look it up.")


def test_an_ambiguous_name_displays_an_error() -> None:
    two = (resource("webs"), resource("sites"))
    served = RESTMapper(APIDiscovery(resources=tuple(each for each in two)))

    assert "is ambiguous" in Page(named_card("x", served)).text(".dk-bad")


async def test_displaying_the_verbs_of_a_resource_sends_no_request(server: APIServer, client: Client) -> None:
    widgets = client.resource(WIDGETS)
    before = lines(card_of(widgets, NOW))
    requests = len(server.requests)
    server.create(crd())
    await widgets.list()

    assert before[0] == f"resource · {WIDGETS}"
    assert requests == 0
    assert lines(card_of(widgets, NOW))[0] == "example.com/v1 Widget · widgets · in namespaces"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (GVR("apps", "v1", "deployments"), "resource · deployments · apps · v1 · deployments.v1.apps"),
        (GVR("", "v1", "pods"), "resource · pods · core group · v1 · pods.v1"),
        (GVK("", "v1", "Pod"), "kind · Pod · core group · v1"),
    ],
)
def test_gvr_and_gvk_display_their_parts(value: GVR | GVK, shown: str) -> None:
    assert lines(card_of(value, NOW)) == [shown]


def test_a_crd_displays_kind_versions_and_columns() -> None:
    crd_body = crd()
    crd_body["spec"]["versions"] = [
        {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}},
        {"name": "v1beta1", "served": True, "deprecated": True},
        {"name": "v1alpha1", "served": False},
    ]
    crd_body["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": "Size"}, {"name": "Age"}]

    shown = lines(object_card(crd_body, now=NOW))

    assert shown[1:5] == [
        "defines   Widget  widgets.example.com  in namespaces",
        "versions  v1 (stored, status), v1beta1 (deprecated), v1alpha1 (not served)",
        "columns   Size, Age",
        "+ spec  group, scope, names, versions",
    ]


@pytest.mark.parametrize("wrong", [None, 7, "x", [None], {"versions": 7}, {"versions": [{"name": 7}]}, {"names": []}])
def test_a_malformed_crd_is_displayed(wrong: object) -> None:
    assert lines(object_card({**crd(), "spec": wrong}, now=NOW))
