"""Events of an object, as ``kubectl events --for`` prints them, and what it owns."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Client, Unstructured
from tests.contract.beside_kubectl.conftest import Kubectl
from tests.contract.cluster import Cluster
from tests.contract.objects import config, pod
from tests.workloads.kit import owned_by

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(240)]


def event(cluster: Cluster, name: str, about: Unstructured, minute: int, **more: Any) -> dict[str, Any]:
    time = f"2026-05-06T12:{minute:02}:00Z"
    involved = {"kind": about.kind, "namespace": about.namespace, "name": about.name, "uid": about.uid}
    involved["apiVersion"] = about.api_version
    metadata = {"name": name, "namespace": cluster.namespace}
    times = {"firstTimestamp": time, "lastTimestamp": time}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved, **times, **more}


async def test_events_are_those_that_kubectl_prints_and_those_of_owned_objects(
    cluster: Cluster, client: Client, kubectl: Kubectl
) -> None:
    owner = await client.resource("cm").create(config("owner"))
    child = await client.resource("pods").create(owned_by(owner, pod("child")))
    events = client.resource("events.v1.")
    await events.create(event(cluster, "b", owner, 5, type="Warning", reason="Late", message="late", count=3))
    await events.create(event(cluster, "a", owner, 1, type="Normal", reason="Early", message="early", count=1))
    await events.create(event(cluster, "c", child, 9, type="Normal", reason="Pulled", message="pulled", count=1))

    found = await client.events_for("cm", "owner")
    below = await client.describe("cm", "owner")

    printed = await kubectl.run("events", "--for", "configmap/owner", "--no-headers")
    assert [line.split()[-4:] for line in printed.splitlines() if line] == [
        [each.type, each.reason, f"{each.kind}/{each.name}", each.message] for each in found
    ]
    assert below.owned is not None
    assert [each.name for _, each in below.owned.walk()] == ["owner", "child"]
    assert [each.reason for each in below.events or ()] == ["Early", "Late", "Pulled"]
