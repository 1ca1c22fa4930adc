"""Pods, and what a test plays in their containers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dynkube_testing import APIServer, ContainerSession


def running_pod(name: str, *containers: str, node: str = "worker", **states: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with these containers (``app`` if none is given), which run unless ``states`` has another state."""
    names = containers or ("app",)
    running = {"running": {"startedAt": "2026-11-24T12:00:00Z"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": [{"name": each, "image": "x"} for each in names]},
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {"name": each, "ready": True, "restartCount": 0, "image": "x", "imageID": ""}
                | {"state": states.get(each, running)}
                for each in names
            ],
        },
    }


def add(server: APIServer, pod: dict[str, Any]) -> None:
    """Create a pod with its status."""
    server.create(pod)
    server.update(pod, subresource="status")


async def upper(session: ContainerSession) -> int:
    """Write stdin in capitals, and the command to stderr; exit code 3."""
    async for data in session.stdin:
        await session.stdout.send_all(data.upper())
    await session.stderr.send_all(" ".join(session.command).encode())
    return 3


def failing(message: str) -> Callable[[ContainerSession], Awaitable[None]]:
    """Play a command that a container runtime could not start."""

    async def play(_: ContainerSession) -> None:
        raise OSError(message)

    return play
