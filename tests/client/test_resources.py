"""The resources of a cluster as attributes and keys: those that are known so far, without requests."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynkube import Client, ResourceClient
from dynkube._display import card_of
from dynkube.errors import NoMatch
from dynkube_testing import APIServer
from tests.display.kit import NOW, lines


async def test_attributes_and_keys_return_resource_clients(server: APIServer, client: Client) -> None:
    by_name, by_key = client.resources.deployments, client.resources["deployments.v1.apps"]

    assert isinstance(by_name, ResourceClient)
    assert server.requests == []
    assert await by_name.resolve() == await by_key.resolve()


async def test_before_discovery_no_resource_is_known(server: APIServer, client: Client) -> None:
    resources = client.resources

    assert (list(resources), len(resources), "pods" in resources) == ([], 0, False)
    assert [name for name in dir(resources) if not name.startswith("_")] == []
    assert repr(resources) == "<Resources: 0 known>"
    assert lines(card_of(resources, NOW)) == [
        "resources · not discovered yet",
        "Discovery runs when the first verb is called.",
    ]
    assert server.requests == []


async def test_known_resources_are_listed(server: APIServer, client: Client) -> None:
    await client.mapper.load()
    requests = len(server.requests)
    resources = client.resources

    attributes = [name for name in dir(resources) if not name.startswith("_")]

    assert {"pods", "events", "deployments"} <= set(attributes) < set(resources)
    assert set(resources) - set(attributes) == {"events.events.k8s.io"}
    assert ("deploy" in resources, "nosuch" in resources, "a b" in resources) == (True, False, False)
    assert lines(card_of(resources, NOW))[0].startswith("API resources")
    assert len(server.requests) == requests


async def test_a_plain_name_in_several_groups_means_the_same_as_in_kubectl(client: Client) -> None:
    assert (await client.resources.events.resolve()).gvr.group == ""


@pytest.mark.parametrize("name", ["_repr_png_", "__array__", "_ipython_canary_method_should_not_exist_", "by_index"])
async def test_a_name_that_no_resource_can_have_is_not_an_attribute(client: Client, name: str) -> None:
    assert not hasattr(client.resources, name)


async def test_a_name_that_is_not_served_raises_when_a_verb_is_called(client: Client) -> None:
    nosuch = client.resources.deploymint

    with pytest.raises(NoMatch, match=r"did you mean .deployments\.apps."):
        await nosuch.list()


async def test_resources_can_be_copied_but_not_assigned_to(client: Client) -> None:
    resources: Any = copy.copy(client.resources)

    assert isinstance(resources.pods, ResourceClient)
    with pytest.raises(AttributeError):
        resources.pods = 3
