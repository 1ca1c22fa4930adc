"""``availability()`` while discovery fails: what was known before is no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from dynkube.client._client import APIClient
from dynkube.client._resource import ResourceClient
from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.errors import DiscoveryFailed, InternalError
from dynkube.rest._client import RESTClient
from tests.discovery.wire import DiscoveryServer

DEPLOYMENTS = "deployments.apps"


@asynccontextmanager
async def known(server: DiscoveryServer, name: str) -> AsyncIterator[ResourceClient]:
    """Yield the verbs of a resource that is served at first."""
    config = ClientConfig(server="http://cluster.example")
    async with RESTClient(config, transport=httpx2.MockTransport(server.handle)) as rest:
        resource = APIClient(rest, DeferredRESTMapper(DiscoveryClient(rest))).resource(name)
        assert await resource.availability()
        yield resource


async def test_while_the_server_fails_its_error_is_raised() -> None:
    server = DiscoveryServer()

    async with known(server, DEPLOYMENTS) as deployments:
        server.errors |= {"/api": 500, "/apis": 500, "/apis/apps": 500}
        with pytest.raises(InternalError, match="/apis is refused"):
            await deployments.availability()
        server.errors.clear()
        assert await deployments.availability()


@pytest.mark.parametrize("aggregated", [True, False])
async def test_while_its_group_version_cannot_be_read_it_is_unknown(aggregated: bool) -> None:
    server = DiscoveryServer(aggregated=aggregated)

    async with known(server, DEPLOYMENTS) as deployments:
        server.errors["/apis/apps/v1"] = 503
        server.stale.add("apps/v1")
        with pytest.raises(DiscoveryFailed, match=r"unknown whether the server serves 'deployments\.apps'") as failed:
            await deployments.availability()

    assert list(failed.value.failures) == ["apps/v1"]


async def test_failures_of_other_groups_do_not_matter() -> None:
    server = DiscoveryServer()

    async with known(server, "pods") as pods:
        server.stale.add("apps/v1")
        assert await pods.availability()
