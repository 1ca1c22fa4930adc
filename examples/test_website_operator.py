"""Tests of website_operator.py, without a cluster and in virtual time. Run them by ``python -m pytest examples``."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

import dynkube
from dynkube.controllers import run
from dynkube_testing import APIServer
from examples.website_operator import FINALIZER, websites

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


@pytest.fixture
async def operator(api_server: APIServer, kube_client: dynkube.Client) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, kube_client, websites)
        api_server.load(Path(__file__).with_name("websites.yaml"))
        yield
        nursery.cancel_scope.cancel()


def site(**spec: object) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}, "spec": spec}


@pytest.mark.usefixtures("operator")
async def test_a_website_gets_its_objects_and_follows_its_spec(api_server: APIServer) -> None:
    api_server.create(site(replicas=2))
    await trio.sleep(1)
    assert api_server.get("deployments", "shop")["spec"]["replicas"] == 2
    assert api_server.get("services", "shop")["spec"]["selector"] == {"website": "shop"}

    api_server.apply(site(theme="dark", replicas=3))
    await trio.sleep(1)
    deployment = api_server.get("deployments", "shop")
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].endswith("alpine")


@pytest.mark.usefixtures("operator")
async def test_its_condition_follows_the_deployment(api_server: APIServer) -> None:
    api_server.create(site(replicas=2))
    await trio.sleep(1)
    deployment = api_server.get("deployments", "shop")
    status = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}
    api_server.update({**deployment, "status": status}, subresource="status")
    await trio.sleep(1)

    (condition,) = api_server.get("websites", "shop")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Ready", "True", "AllReady")


@pytest.mark.usefixtures("operator")
async def test_an_unknown_theme_is_a_failure_that_is_not_retried(api_server: APIServer) -> None:
    api_server.create(site(theme="neon"))
    await trio.sleep(3600)

    assert [failure.error for failure in websites.status().failures] == ["Terminal: there is no theme 'neon'"]
    assert api_server.list("deployments") == []


@pytest.mark.usefixtures("operator")
async def test_a_deleted_website_is_cleaned_up(api_server: APIServer) -> None:
    api_server.create(site())
    await trio.sleep(1)
    assert api_server.get("websites", "shop")["metadata"]["finalizers"] == [FINALIZER]

    api_server.delete("websites", "shop")
    await trio.sleep(1)
    assert api_server.list("websites") == []
