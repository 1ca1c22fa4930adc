"""Verbs that show what a cluster has: notes say what could not be read."""

from __future__ import annotations

from functools import partial

from dynkube_testing import APIServer
from tests.sweep.cluster import Object, deployment, metrics
from tests.sweep.lab import Lab, scenario


def _event(obj: Object) -> Object:
    about = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    metadata = obj["metadata"]
    named = {key: metadata[key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.1", "namespace": "default"},
        "involvedObject": {**about, **named},
        "reason": "Scaled",
        "message": "scaled up",
        "type": "Normal",
    }


def with_events(server: APIServer) -> None:
    """Create a Deployment and its ReplicaSets, with an Event each."""
    deployment(server)
    for kind, name in (("deployments", "web"), ("replicasets", "web-h1")):
        server.create(_event(server.get(kind, name, "default")))


on_deployments = partial(scenario, prepare=with_events)


@on_deployments("describe", "dynkube.Client.describe")
async def describe(lab: Lab) -> None:
    found = await lab.client.describe("deploy", "web")
    lab.check(found.object.name == "web", "describes another object")
    if found.notes:
        lab.note("says what could not be read")
        return
    owned = () if found.owned is None else found.owned.children
    lab.equal((each.object.name for each in owned), ["web-h1", "web-h2"], "owns")
    lab.check(found.events, "has no events")


@on_deployments("events_for", "dynkube.Client.events_for")
async def events_for(lab: Lab) -> None:
    found = await lab.client.events_for("deploy", "web", owned=True)
    if found.notes:
        lab.note("says what could not be read")
    else:
        lab.equal((each.name for each in found), ["web", "web-h1"], "has events of")


@on_deployments("explain", "dynkube.Client.explain")
async def explain(lab: Lab) -> None:
    found = await lab.client.explain("deployments.spec.replicas")
    lab.check(found.type == "integer", f"has the type {found.type}")


@scenario("top_pods", "dynkube.Client.top_pods", prepare=metrics)
async def top_pods(lab: Lab) -> None:
    lab.equal((each.name for each in await lab.client.top_pods()), ["web"], "has")


@scenario("top_nodes", "dynkube.Client.top_nodes", prepare=metrics)
async def top_nodes(lab: Lab) -> None:
    found = await lab.client.top_nodes()
    lab.equal((each.name for each in found), ["worker"], "has")
    (node,) = found
    lab.check(node.cpu == 500 and node.cpu_percent in {25, None}, f"shows {node.cpu} and {node.cpu_percent} %")
    if node.cpu_percent is None:
        lab.note("without percentages")
