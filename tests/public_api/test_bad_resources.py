"""Invalid resource names are rejected by the call; unserved resources are reported with suggestions."""

from __future__ import annotations

import pytest

import dynkube
from dynkube import GVK, GVR
from dynkube.errors import InvalidInput, NoMatch
from dynkube_testing import APIServer

MALFORMED = [
    ("", "resource is empty: write 'pods'"),
    ("po ds", "'po ds' is not a resource name"),
    ("pods/status", "expected GROUP/VERSION/RESOURCE"),
    ("apps/v1", "looks like an apiVersion: add the resource, as in 'apps/v1/deployments'"),
    ("pods..", "is not an API group"),
    (None, "resource is None: pass a string like 'deployments.v1.apps', a GVR or a GVK"),
    (("", "v1", "pods"), "pass a string like 'deployments.v1.apps', a GVR or a GVK"),
    (GVR("apps/v1", "v1", "deployments"), "invalid group 'apps/v1'"),
    (GVR("v1", "", "pods"), "version is empty; only the group may be"),
    (GVK("apps", "v1", ""), "kind is empty"),
]


@pytest.mark.parametrize(("resource", "message"), MALFORMED)
async def test_a_malformed_resource_is_rejected_before_any_request(
    server: APIServer, client: dynkube.Client, resource: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        client.resource(resource)
    with pytest.raises(InvalidInput, match=message):
        client.informer(resource)

    assert not server.requests


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("podz", r"does not serve 'podz'; did you mean 'pods'\?"),
        ("pods.v2", r"does not serve 'pods\.v2'; it serves pods\.v1"),
        ("deployments.v1.app", r"it serves deployments\.v1\.apps"),
        ("gadgets", "does not serve 'gadgets': correct the name, or install the CRD that defines it"),
        ("gadgets.example.com", "no API group 'example.com': correct the name, or install the CRD"),
        (GVK("apps", "v1", "deployment"), r"does not serve 'apps/v1 deployment'; it serves deployments\.v1\.apps"),
    ],
)
async def test_an_unknown_resource_raises_no_match_with_suggestions(
    client: dynkube.Client, resource: str, message: str
) -> None:
    with pytest.raises(NoMatch, match=message):
        await client.resource(resource).list()


@pytest.mark.parametrize("name", ["gadgets", "Gadget.example.com", "Gadget"])
async def test_an_informer_with_an_unknown_short_name_does_not_start(client: dynkube.Client, name: str) -> None:
    with pytest.raises(NoMatch, match=f"does not serve '{name}'"):
        async with client.informer(name):
            pass


@pytest.mark.parametrize(
    ("resource", "reason", "message"),
    [
        ("gadgets.v1.example.com", "CRDNotFound", "no CRD gadgets.example.com is installed"),
        ("gadgets.example.com", "CRDNotFound", "no CRD gadgets.example.com is installed"),
        ("pods.v2", "NotServed", "the server does not serve pods.v2"),
        ("gadgets.v1.apps", "NotServed", "the server does not serve gadgets.v1.apps"),
    ],
)
async def test_an_informer_with_an_unknown_full_name_is_absent_and_does_not_affect_others(
    client: dynkube.Client, resource: str, reason: str, message: str
) -> None:
    async with client.informer(resource) as unknown, client.informer("pods.v1") as pods:
        state = await unknown.wait_state(dynkube.ABSENT)

        assert (state.reason, unknown.list()) == (reason, [])
        assert message in state.message
        await pods.wait_state(dynkube.LIVE)


@pytest.mark.parametrize("name", [None, 5, b"web"])
async def test_an_invalid_name_never_addresses_the_collection(
    server: APIServer, client: dynkube.Client, name: str
) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default"}})
    config_maps = client.resource("configmaps")

    for verb in (config_maps.delete, config_maps.get):
        with pytest.raises(InvalidInput, match=r"name is .*: pass metadata\.name of the object"):
            await verb(name)

    assert server.get("configmaps", "web", "default")
