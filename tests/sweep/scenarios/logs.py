"""Logs: each line comes once, and a stream that follows goes on."""

from __future__ import annotations

from functools import partial

import trio

from dynkube_testing import APIServer
from tests.informers.kit import crd, widget
from tests.sweep.cluster import owned_pod, pod, workload_with_logs
from tests.sweep.lab import Lab, Scenario, scenario

POD = "dynkube.Pod"
LOGS = "dynkube.Client.logs"
LINES = ["from web-a", "from web-b"]


@scenario("read_logs", f"{POD}.read_logs", prepare=pod)
async def read_logs(lab: Lab) -> None:
    found = await lab.client.pod("web").read_logs()
    lab.check(found.text.split() == ["one", "two"], f"returned {found.text!r}")


@scenario("pod.logs", f"{POD}.logs", prepare=pod)
async def pod_logs(lab: Lab) -> None:
    async with lab.client.pod("web").logs() as lines:
        found = [str(line) async for line in lines]
    lab.check(found == ["one", "two"], f"ended with {found}")


@scenario("pod.logs, followed", prepare=pod, opening=1.0)
async def pod_logs_followed(lab: Lab) -> None:
    found: list[str] = []
    write = partial(lab.server.containers.write_log, "web", "three\n")
    async with lab.meanwhile((60, partial(_cut, lab)), (120, write)), lab.client.pod("web").logs(follow=True) as lines:
        lab.opened()
        with trio.move_on_after(900):
            async for line in lines:
                found.append(str(line))  # noqa: PERF401  # it is read when the loop is cancelled
            lab.check(False, f"the stream ended after {found}")
    lab.check(found == ["one", "two", "three"], f"a quarter of an hour later it had {found}")


def _cut(lab: Lab) -> None:
    lab.server.drop_connections()


async def follow(lab: Lab, selector: str) -> None:
    """Follow the logs of pods whose owner creates another one, over connections that are lost."""
    found: list[str] = []
    owner = lab.server.get("pods", "web-a", "default")["metadata"]["ownerReferences"][0]
    kind = {"ReplicaSet": "replicasets", "Widget": "widgets.v1.example.com"}[owner["kind"]]
    another = partial(owned_pod, lab.server, "web-c", lab.server.get(kind, owner["name"], "default"))
    more = partial(lab.server.containers.write_log, "web-a", "more\n")
    async with (
        lab.meanwhile((60, partial(_cut, lab)), (120, another), (180, lab.expire), (240, more)),
        lab.client.logs(selector, namespace="default", follow=True) as lines,
    ):
        lab.opened()
        with trio.move_on_after(900):
            async for line in lines:
                found.append(str(line))  # noqa: PERF401  # it is read when the loop is cancelled
            lab.check(False, f"the stream ended after {sorted(found)}")
    lab.equal(found, [*LINES, "from web-c", "more"], "a quarter of an hour later it had")


def following(title: str, selector: str, *covers: str, prepare: object = workload_with_logs) -> Scenario:
    """Return a scenario of followed logs."""

    @scenario(f"logs, {title}, followed", *covers, prepare=prepare, opening=1.0)
    async def run(lab: Lab) -> None:
        await follow(lab, selector)

    return run


def custom_owner(server: APIServer) -> None:
    """Create pods of a custom resource."""
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}})
    server.create(crd())
    owner = server.create(widget("site"))
    for name in ("web-a", "web-b"):
        owned_pod(server, name, owner)


followed = (
    following("of labels", "app=web", LOGS),
    following("of a Deployment", "deploy/web", f"{LOGS}(follow)"),
    following("of a custom resource", "widgets.example.com/site", prepare=custom_owner),
)


def reading(title: str, selector: str, prepare: object = workload_with_logs) -> Scenario:
    """Return a scenario of logs that end."""

    @scenario(f"logs, {title}", prepare=prepare)
    async def run(lab: Lab) -> None:
        async with lab.client.logs(selector, namespace="default", follow=False) as lines:
            found = [str(line) async for line in lines]
            failed = [each.pod for each in lines.containers if each.state == "failed"]
        if failed:
            lab.note("the failed container is reported")
        else:
            lab.equal(found, LINES, "ended with")

    return run


ending = (
    reading("of labels", "app=web"),
    reading("of a Deployment", "deploy/web"),
    reading("of a custom resource", "widgets.example.com/site", custom_owner),
)
