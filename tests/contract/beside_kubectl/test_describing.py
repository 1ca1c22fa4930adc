"""``describe`` shows what ``kubectl describe`` prints, of built-in and of custom kinds."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynkube import Client, ResourceClient
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.beside_kubectl.test_events import event
from tests.contract.cluster import Cluster
from tests.contract.objects import workload

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]

STATUS = {
    "replicas": 2,
    "readyReplicas": 1,
    "availableReplicas": 1,
    "unavailableReplicas": 1,
    "conditions": [{"type": "Available", "status": "False", "reason": "TooFew", "message": "one of two"}],
}
ROUTE: dict[str, Any] = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "web", "labels": {"tier": "front"}, "annotations": {"note": "a text"}},
    "spec": {
        "hostnames": ["shop.example.com"],
        "parentRefs": [{"name": "gateway", "sectionName": "https"}],
        "rules": [{"backendRefs": [{"name": "backend", "port": 8080, "weight": 3}]}],
    },
}
AGES_AND_IDENTITY = re.compile(r"\s*(Creation ?Timestamp|Resource Version|UID|Generation):|.*\b\d+[smhd]\b")
NOTHING = {"", "<none>", "0"}


def words(printed: str) -> set[str]:
    """Return the values that kubectl prints after ``Key:`` or in a table, without ages, identities and headings."""
    lines = [line for line in printed.splitlines() if not AGES_AND_IDENTITY.match(line)]
    values = [line.partition(": ")[2] if ":" in line else line for line in lines]
    return {word for value in values for word in re.split(r"[\s|=,]+", value) if word not in NOTHING}


async def test_a_deployment_is_described_with_all_that_kubectl_prints(
    cluster: Cluster, client: Client, kubectl: Kubectl
) -> None:
    body = workload("web", replicas=2)
    web = await client.resource("deploy").create(body | {"metadata": {"name": "web", "annotations": {"note": "text"}}})
    await cluster.patch("deployments/status", "web", {"status": STATUS})
    late = event(cluster, "e", web, 5, type="Warning", reason="Late", message="too late", count=3)
    await client.resource("events.v1.").create(late)

    printed = words(await kubectl.run("describe", "deployment", "web"))
    text = str(await client.describe("deploy", "web"))

    headings = {"Type", "Status", "Reason", "----", "------", "-------", "Age", "From", "Message"}
    # kubectl's own sentences: "2 desired", "25% max surge", ...
    phrases = {"desired", "updated", "total", "available", "unavailable", "max", "surge"}
    assert {"app:1", "RollingUpdate", "TooFew", "25%"} <= printed
    assert {word for word in printed - headings - phrases if word not in text} == set()
    assert "too late" in text


@pytest.mark.since("1.21", "the CRD of HTTPRoutes is invalid, as defaults of '' become null")
async def test_a_custom_resource_is_described_with_all_its_fields(
    cluster: Cluster, client: Client, kubectl: Kubectl, routes: ResourceClient
) -> None:
    route = await routes.create(ROUTE)
    await client.resource("events.v1.").create(
        event(cluster, "e", route, 5, type="Normal", reason="Accepted", message="accepted", count=1)
    )

    printed = words(await kubectl.run("describe", "httproutes", "web"))
    text = str(await client.describe("httproutes", "web"))

    assert {"shop.example.com", "https", "8080", "Gateway"} <= printed
    headings = {"Type", "Reason", "----", "------", "-------", "Age", "From", "Message"}
    assert {word for word in printed - headings if word not in text} == set()
    assert "Accepted" in text
