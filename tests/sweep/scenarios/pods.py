"""Commands, ports and files of a pod: each opens one connection, and reports what is wrong with it."""

from __future__ import annotations

import io
import tarfile
from functools import partial
from typing import Any

from dynkube_testing import APIServer, ContainerSession, PortConnection
from tests.pods.kit import upper
from tests.sweep.cluster import pod
from tests.sweep.lab import Lab, scenario

POD = "dynkube.Pod"


async def _play(session: ContainerSession) -> int:
    """Play tar, and write other input in capitals."""
    if "tar" not in session.command:
        return await upper(session) and 0
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo("data")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"data"))
    await session.stdout.send_all(archive.getvalue())
    return 0


async def _echo(connection: PortConnection) -> None:
    async for data in connection.stream:
        await connection.stream.send_all(data)


def playing(server: APIServer) -> None:
    """Create a pod with commands and a port."""
    pod(server)
    server.containers.on_exec(_play)
    server.containers.on_attach(_play)
    server.containers.on_port_forward(_echo)


on_pods = partial(scenario, prepare=playing)


@on_pods("exec", f"{POD}.exec")
async def exec_(lab: Lab) -> None:
    result = await lab.client.pod("web").exec(["tr"], stdin="hello")
    lab.check(result.text == "HELLO", f"returned {result.text!r}")


@on_pods("open_exec", f"{POD}.open_exec")
async def open_exec(lab: Lab) -> None:
    async with lab.client.pod("web").open_exec(["tr"], stdin=True) as process:
        await _talk(lab, process)


@on_pods("attach", f"{POD}.attach")
async def attach(lab: Lab) -> None:
    async with lab.client.pod("web").attach() as process:
        lab.check(await process.wait() == 0, "ended with another exit code")


async def _talk(lab: Lab, process: Any) -> None:
    await process.stdin.send_all(b"hello")
    await process.stdin.aclose()
    received = b"".join([bytes(data) async for data in process.stdout])
    lab.check(received == b"HELLO", f"received {received!r}")
    lab.check(await process.wait() == 0, "ended with another exit code")


@on_pods("connect", f"{POD}.connect")
async def connect(lab: Lab) -> None:
    async with lab.client.pod("web").connect(8080) as stream:
        await stream.send_all(b"hello")
        lab.check(await stream.receive_some() == b"hello", "received something else")


def _start_debuggers(lab: Lab) -> None:
    live = lab.server.get("pods", "web", "default")
    running = {"running": {"startedAt": "2026-11-24T12:00:00Z"}}
    statuses = [
        {"name": each["name"], "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": running}
        for each in live["spec"].get("ephemeralContainers", ())
    ]
    live["status"]["ephemeralContainerStatuses"] = statuses
    lab.server.update(live, subresource="status")


@on_pods("debug", f"{POD}.debug", opening=5.0)
async def debug(lab: Lab) -> None:
    lab.opened()
    async with lab.meanwhile((20, lab.server.end_watches), (25, lab.expire), (40, partial(_start_debuggers, lab))):
        name = await lab.client.pod("web").debug("busybox", timeout=120)
    added = lab.server.get("pods", "web", "default")["status"].get("ephemeralContainerStatuses", [])
    lab.check(name in {each["name"] for each in added}, "returned, and the container does not run")
