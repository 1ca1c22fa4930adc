"""``availability()`` of resources, and what verbs display without a request."""

from __future__ import annotations

import re

import pytest

from dynkube import LIVE, Client
from dynkube._display import card_of
from dynkube_testing import APIServer, Disconnect, Effect, Hang, Refuse
from tests.display.kit import NOW, Page, lines
from tests.informers.kit import CRDS, WIDGETS, crd


async def test_a_served_custom_resource_has_scope_versions_and_conditions_of_its_crd(
    server: APIServer, client: Client
) -> None:
    server.create(crd(served=("v1", "v1beta1")))

    found = await client["widgets"].availability()

    assert found
    assert found.versions == ("v1", "v1beta1")
    assert found.conditions == {"NamesAccepted": "True", "Established": "True"}
    shown = Page(card_of(found, NOW))
    assert shown.text(".dk-head") == "example.com/v1 Widget · widgets · in namespaces"
    assert {"shortwidget", "CRDwidgets.example.com", "versionsv1 (stored), v1beta1"} <= set(shown.all(".dk-facts tr"))
    assert shown.all(".dk-chip") == ["NamesAccepted=True", "Established=True"]


async def test_a_resource_that_is_not_served_is_a_result_and_not_an_error(client: Client) -> None:
    found = await client["httproutes.gateway.networking.k8s.io"].availability()

    assert not found
    assert (found.resource, found.definition, found.conditions) == (None, None, {})
    assert str(found).startswith("httproutes.gateway.networking.k8s.io is not installed: the server does not serve")
    assert lines(card_of(found, NOW))[0] == "resource · httproutes.gateway.networking.k8s.io · not installed"


@pytest.mark.parametrize("name", [WIDGETS, "widgets.example.com"])
async def test_a_crd_that_is_not_established_is_displayed_with_the_reason(
    server: APIServer, client: Client, name: str
) -> None:
    server.create(crd("gadgets"))
    taken = crd()
    taken["spec"]["names"]["kind"] = "Gadget"
    server.create(taken)

    found = await client[name].availability()

    assert not found
    assert found.message == "its CRD exists but does not serve it: see the CRD's conditions and versions"
    assert found.conditions == {"NamesAccepted": "False", "Established": "False"}
    assert "NamesAccepted=False KindConflict" in " ".join(Page(card_of(found, NOW)).all(".dk-chip"))


async def test_availability_is_read_anew_on_each_call(server: APIServer, client: Client) -> None:
    widgets = client["widgets"]
    before = await widgets.availability()
    server.create(crd())
    between = await client[WIDGETS].availability()
    server.delete(CRDS, "widgets.example.com")
    after = await widgets.availability()

    assert [bool(each) for each in (before, between, after)] == [False, True, False]


async def test_built_in_resources_have_no_crd(server: APIServer, client: Client) -> None:
    pods, ingresses = await client["po"].availability(), await client["ing"].availability()

    assert (pods.definition, pods.message, ingresses.definition, ingresses.message) == (None, "", None, "")
    assert [request.path for request in server.requests if "customresource" in request.path] == [
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ingresses.networking.k8s.io"
    ]


async def test_a_crd_that_must_not_be_read_is_noted(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.inject(Refuse(403), resource=CRDS, verb="get")

    found = await client["widgets"].availability()

    assert found
    assert found.message.startswith("no permission to read its CRD: 403")
    assert lines(card_of(found, NOW))[-1].startswith("no permission to read its CRD")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Refuse(500), "500 InternalError"),
        (Refuse(503), "503 ServiceUnavailable"),
        (Refuse(401), "401 Unauthorized"),
        (Disconnect(), "Server disconnected"),
        (Hang(), "no complete response within 20 s"),
    ],
)
@pytest.mark.parametrize("is_served", [True, False])
async def test_if_the_crd_cannot_be_read_the_result_has_discovery_and_the_reason(
    server: APIServer, client: Client, fault: Effect, why: str, is_served: bool
) -> None:
    server.create(crd("widgets" if is_served else "gadgets"))
    server.inject(fault, resource=CRDS, verb="get")

    found = await client[WIDGETS].availability(timeout=20)

    assert (bool(found), found.definition, found.conditions) == (is_served, None, {})
    assert found.message.startswith("its CRD could not be read" if is_served else "the server does not serve")
    assert re.search(f"its CRD could not be read: .*{why}", str(found))
    assert why in Page(card_of(found, NOW)).text()


async def test_verbs_display_the_crd_that_an_informer_watches(server: APIServer, client: Client) -> None:
    server.create(crd())
    widgets = client["widgets"]
    async with client.informer(WIDGETS) as informer:
        await informer.wait_state(LIVE)
        await client.mapper.load()
        requests = len(server.requests)

        shown = Page(card_of(widgets, NOW))

        assert shown.all(".dk-chip") == ["NamesAccepted=True", "Established=True"]
        assert "versionsv1 (stored)" in shown.all(".dk-facts tr")
        assert len(server.requests) == requests


async def test_verbs_display_that_discovery_is_outdated(server: APIServer, client: Client) -> None:
    widgets = client[WIDGETS]
    async with client.informer(WIDGETS) as informer:
        await informer.wait_synced()
        await client.mapper.load()
        absent = lines(card_of(widgets, NOW))
        server.create(crd())
        await informer.wait_state(LIVE)
        requests = len(server.requests)

        changed = Page(card_of(widgets, NOW))

        assert absent[0] == f"resource · {WIDGETS} · not installed"
        assert changed.all(".dk-chip") == ["was not installed", "NamesAccepted=True", "Established=True"]
        assert changed.all(".dk-note") == [
            "The cluster has changed since this was read: the next request reads it again."
        ]
        assert len(server.requests) == requests
