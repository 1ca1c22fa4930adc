"""Rollouts and nodes."""

from __future__ import annotations

from functools import partial

import trio

from dynkube_testing import APIServer
from tests.sweep.cluster import DONE, Object, deployment, owned_pod, pod, workload_with_logs
from tests.sweep.lab import Lab, scenario

ROLLOUT = "dynkube.workloads.Rollout"
on_deployments = partial(scenario, prepare=deployment)


def live(lab: Lab) -> Object:
    """Return the Deployment."""
    return lab.server.get("deployments", "web", "default")


@on_deployments("rollout history", f"{ROLLOUT}.history")
async def history(lab: Lab) -> None:
    found = await lab.client.rollout("deploy", "web").history()
    lab.equal((str(each.number) for each in found), ["1", "2"], "revisions")


@on_deployments("rollout status", f"{ROLLOUT}.status")
async def status(lab: Lab) -> None:
    found = await lab.client.rollout("deploy", "web").status()
    lab.check(found.phase.value == "complete", f"phase {found.phase.value}")


@on_deployments("rollout pause", f"{ROLLOUT}.pause")
async def pause(lab: Lab) -> None:
    await lab.client.rollout("deploy", "web").pause()
    lab.check(live(lab)["spec"].get("paused"), "returned, and the rollout is not paused")


def paused(server: APIServer) -> None:
    """Create a Deployment that is paused."""
    deployment(server)
    obj = server.get("deployments", "web", "default")
    server.update({**obj, "spec": {**obj["spec"], "paused": True}})


@scenario("rollout resume", f"{ROLLOUT}.resume", prepare=paused)
async def resume(lab: Lab) -> None:
    await lab.client.rollout("deploy", "web").resume()
    lab.check(not live(lab)["spec"].get("paused"), "returned, and the rollout is paused")


@on_deployments("rollout restart", f"{ROLLOUT}.restart")
async def restart(lab: Lab) -> None:
    await lab.client.rollout("deploy", "web").restart()
    annotations = live(lab)["spec"]["template"]["metadata"].get("annotations", {})
    lab.check(annotations, "returned, and the template is unchanged")


@on_deployments("rollout undo", f"{ROLLOUT}.undo", repeat=False)
async def undo(lab: Lab) -> None:
    await lab.client.rollout("deploy", "web").undo()
    image = live(lab)["spec"]["template"]["spec"]["containers"][0]["image"]
    lab.check(image == "app:0", f"returned, and the image is {image}")


@on_deployments("rollout wait", f"{ROLLOUT}.wait", opening=1.0)
async def wait(lab: Lab) -> None:
    lab.opened()
    began = trio.current_time()
    obj = live(lab)
    obj = lab.server.update({**obj, "spec": {**obj["spec"], "replicas": 2}})
    ends = lab.server.end_watches
    async with lab.meanwhile((60, ends), (120, lab.expire), (180, ends), (600, partial(_complete, lab, 2))):
        await lab.client.rollout("deploy", "web").wait(timeout=3600)
    lab.check(trio.current_time() >= began + 600, "returned although the rollout is not complete")


def _complete(lab: Lab, replicas: int) -> None:
    obj = live(lab)
    generation = obj["metadata"]["generation"]
    done = {"observedGeneration": generation, **dict.fromkeys(DONE, replicas)}
    lab.server.update({**obj, "status": done}, subresource="status")


@scenario("cordon", "dynkube.Client.cordon", prepare=pod)
async def cordon(lab: Lab) -> None:
    await lab.client.cordon("worker")
    lab.check(lab.server.get("nodes", "worker")["spec"].get("unschedulable"), "returned, and the node is not cordoned")


@scenario("uncordon", "dynkube.Client.uncordon", prepare=pod)
async def uncordon(lab: Lab) -> None:
    lab.server.update({**lab.server.get("nodes", "worker"), "spec": {"unschedulable": True}})
    await lab.client.uncordon("worker")
    cordoned = lab.server.get("nodes", "worker")["spec"].get("unschedulable")
    lab.check(not cordoned, "returned, and the node is cordoned")


def node_with_pods(server: APIServer) -> None:
    """Create a node with pods of a Deployment and of a DaemonSet."""
    workload_with_logs(server)
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "app", "image": "x"}]}}
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
    owned_pod(server, "agent-a", server.create(agent))


@scenario("drain", "dynkube.Client.drain", prepare=node_with_pods)
async def drain(lab: Lab) -> None:
    report = await lab.client.drain("worker", ignore_daemonsets=True)
    lab.check(lab.exists("pods", "agent-a"), "evicted a pod of a DaemonSet")
    if report.ok:
        lab.equal(lab.names("pods"), ["agent-a"], "ok, and on the node are")
        lab.check(lab.server.get("nodes", "worker")["spec"].get("unschedulable"), "ok, and the node is not cordoned")
    else:
        lab.note("report is not ok")
