"""Attaching to containers, and containers that are added for debugging."""

from __future__ import annotations

from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import BadRequest, CommandNotStarted, DeadlineExceeded, InvalidInput, NotFound, PodError
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import add, running_pod

RUNNING = {"running": {"startedAt": "2026-11-24T12:00:00Z"}}


async def greet(session: ContainerSession) -> None:
    await session.stdout.send_all(f"{session.container} {session.tty}".encode())


async def test_what_a_container_writes_is_received(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_attach(greet)

    async with web.attach(container="app") as process:
        assert await process.stdout.receive_some() == b"app False"
        assert await process.wait() == 0


@pytest.mark.parametrize("wanted", ["stdin", "tty"])
async def test_what_the_container_does_not_have_cannot_be_attached_to(web: dynkube.Pod, wanted: str) -> None:
    with pytest.raises(PodError, match=f"container 'app' was created without {wanted}"):
        async with web.attach(**{wanted: True}):  # type: ignore[arg-type]  # bools
            raise AssertionError


async def test_a_container_that_does_not_exist(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_attach(greet)

    with pytest.raises(BadRequest, match="has no container 'ap'; it has app"):
        async with web.attach(container="ap", tty=True):
            raise AssertionError


async def start_debuggers(client: dynkube.Client, server: APIServer, state: dict[str, Any]) -> None:
    """Give each ephemeral container of the pod a state, as a kubelet does."""
    async with client.resource("pods").watch(field_selector="metadata.name=web") as events:
        async for event in events:
            pod = event.object.to_dict() if hasattr(event, "object") else {}
            names = [each["name"] for each in pod.get("spec", {}).get("ephemeralContainers", [])]
            statuses = [
                {"name": name, "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
                for name in names
            ]
            if names and len(pod["status"].get("ephemeralContainerStatuses", [])) < len(names):
                pod["status"]["ephemeralContainerStatuses"] = statuses
                server.update(pod, subresource="status")


async def test_a_debugger_is_added_and_attached_to(
    server: APIServer, client: dynkube.Client, web: dynkube.Pod, nursery: trio.Nursery
) -> None:
    server.containers.on_attach(greet)
    nursery.start_soon(start_debuggers, client, server, RUNNING)

    name = await web.debug("busybox", target="app", command=["sh"])
    async with web.attach(container=name, stdin=True, tty=True) as process:
        assert await process.stdout.receive_some() == b"debugger-1 True"
    assert await web.debug("busybox") == "debugger-2"

    added = server.get("pods", "web", "default")["spec"]["ephemeralContainers"]
    spec = next(each for each in added if each["name"] == name)
    assert (spec["image"], spec["command"], spec["targetContainerName"]) == ("busybox", ["sh"], "app")


async def test_a_debugger_that_does_not_start_says_why(
    server: APIServer, client: dynkube.Client, web: dynkube.Pod, nursery: trio.Nursery
) -> None:
    nursery.start_soon(start_debuggers, client, server, {"waiting": {"reason": "ImagePullBackOff"}})

    with pytest.raises(DeadlineExceeded, match=r"does not run after 60 s: .*does not run yet: ImagePullBackOff"):
        await web.debug("nope")


async def test_a_debugger_that_has_ended_says_so(
    server: APIServer, client: dynkube.Client, web: dynkube.Pod, nursery: trio.Nursery
) -> None:
    nursery.start_soon(start_debuggers, client, server, {"terminated": {"reason": "Error", "exitCode": 1}})

    with pytest.raises(CommandNotStarted, match="has ended already: Error, exit code 1"):
        await web.debug("busybox", command=["false"])


async def test_wrong_arguments_are_refused(server: APIServer, client: dynkube.Client, web: dynkube.Pod) -> None:
    add(server, running_pod("two", "app", "sidecar"))

    with pytest.raises(InvalidInput, match="image is ''"):
        await web.debug("")
    with pytest.raises(InvalidInput, match="has no container 'ap'; it has app, sidecar"):
        await client.pod("two").debug("busybox", target="ap")
    with pytest.raises(InvalidInput, match="has a container 'app' already"):
        await web.debug("busybox", name="app")
    with pytest.raises(NotFound):
        await client.pod("gone").debug("busybox")
