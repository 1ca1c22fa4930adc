"""APIServices: created for each group version that is served, and in control of aggregated APIs."""

from __future__ import annotations

import json

import httpx2
import pytest

from dynkube.meta import GVR
from dynkube_testing import APIServer, Kind
from dynkube_testing._calls.api import JSONObject
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS
from tests.testing.engine.cluster import Cluster, crd

AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
NAME = "v1beta1.metrics.example.com"
METRICS = Kind(gvr=GVR("metrics.example.com", "v1beta1", "metrics"), kind="Metric", namespaced=False)
PATH = "/apis/metrics.example.com/v1beta1"


def api_service(name: str = NAME, **spec: object) -> JSONObject:
    version, _, group = name.partition(".")
    priorities = {"groupPriorityMinimum": 100, "versionPriority": 10}
    service = {"namespace": "default", "name": "stub"}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {"group": group, "version": version, "service": service, **priorities, **spec},
    }


def available(obj: JSONObject) -> tuple[str, str]:
    (condition,) = (entry for entry in obj["status"]["conditions"] if entry["type"] == "Available")
    return condition["status"], condition["reason"]


def test_every_built_in_group_version_has_an_api_service(cluster: Cluster) -> None:
    core, apps = cluster.get("apiservices", "v1."), cluster.get("apiservices", "v1.apps")

    assert core["spec"] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    assert apps["spec"] == {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
    assert apps["metadata"]["labels"] == {AUTOMANAGED: "onstart"}
    assert apps["status"]["conditions"] == [
        {
            "lastTransitionTime": "2026-01-02T03:04:05Z",
            "message": "Local APIServices are always available",
            "reason": "Local",
            "status": "True",
            "type": "Available",
        }
    ]


async def test_the_api_service_of_a_crd_is_created_and_deleted_with_it(cluster: Cluster) -> None:
    stream = cluster.watch("apiservices", resourceVersion=str(cluster.engine.storage.revision))

    cluster.create(CRDS, crd())
    created = cluster.get("apiservices", "v1.example.com")
    cluster.delete(CRDS, "widgets.example.com")

    assert created["metadata"]["labels"] == {AUTOMANAGED: "true"}
    assert created["spec"]["groupPriorityMinimum"] == 1000
    assert types_and_names(await cluster.rest_of(stream)) == [
        ("ADDED", "v1.example.com"),
        ("DELETED", "v1.example.com"),
    ]


def test_a_managed_api_service_is_created_again_after_its_deletion(cluster: Cluster) -> None:
    cluster.create(CRDS, crd())

    cluster.delete("apiservices", "v1.example.com")

    assert available(cluster.get("apiservices", "v1.example.com")) == ("True", "Local")


async def test_a_registered_kind_is_an_aggregated_api(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.register(METRICS)

    created = server.get("apiservices", NAME)

    assert created["spec"]["service"]["port"] == 443
    assert available(created) == ("True", "Passed")
    assert (await client.get(f"{PATH}/metrics")).status_code == 200


async def test_the_api_service_of_an_unavailable_api_has_the_condition_false(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.register(METRICS)
    server.set_available("metrics.example.com/v1beta1", False)

    assert available(server.get("apiservices", NAME)) == ("False", "FailedDiscoveryCheck")
    assert (await client.get(f"{PATH}/metrics")).status_code == 503

    server.set_available("metrics.example.com/v1beta1", True)

    assert available(server.get("apiservices", NAME)) == ("True", "Passed")
    assert (await client.get(f"{PATH}/metrics")).status_code == 200


async def test_deleting_an_api_service_ends_its_api_and_creating_it_restores_the_api(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.register(METRICS)

    server.delete("apiservices", NAME)
    without = await client.get(PATH)
    server.create(api_service())

    assert without.status_code == 404
    assert (await client.get(f"{PATH}/metrics")).status_code == 200


async def test_an_api_service_without_its_service_is_unavailable_and_stale_in_discovery(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.create(api_service())

    condition = server.get("apiservices", NAME)["status"]["conditions"][0]
    accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    groups = (await client.get("/apis", headers=accept)).json()["items"]

    assert (condition["status"], condition["reason"]) == ("False", "ServiceNotFound")
    assert condition["message"] == 'service/stub in "default" is not present'
    assert {"version": "v1beta1", "freshness": "Stale"} in [version for g in groups for version in g["versions"]]
    assert (await client.get(PATH)).text == "service unavailable\n"


async def test_deleting_an_api_service_that_was_never_served_removes_it_from_discovery(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.create(api_service())

    server.delete("apiservices", NAME)

    assert "metrics.example.com" not in json.dumps((await client.get("/apis")).json())
    assert (await client.get(PATH)).status_code == 404


@pytest.mark.parametrize("action", ["unregister", "delete"])
async def test_the_last_kind_of_a_group_version_and_its_api_service_are_removed_together(
    server: APIServer, action: str
) -> None:
    server.register(METRICS)

    if action == "unregister":
        server.unregister("metrics")
    else:
        server.delete("apiservices", NAME)

    assert NAME not in [obj["metadata"]["name"] for obj in server.list("apiservices")]
