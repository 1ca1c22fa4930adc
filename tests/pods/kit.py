"""Pods, and what a test plays in their containers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import trio

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


def run_in(folder: Path, *, words: Callable[[list[str]], list[str]] = list) -> Callable[..., Awaitable[int]]:
    """Play commands by those of this machine, in a folder; absolute paths are below it."""

    async def play(session: ContainerSession) -> int:
        command = words([word.removeprefix("/") or "." for word in session.command])
        async with trio.open_nursery() as nursery:
            running = partial(trio.run_process, command, stdin=PIPE, stdout=PIPE, stderr=PIPE, check=False, cwd=folder)
            process: trio.Process = await nursery.start(running)
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            nursery.start_soon(_feed, session.stdin, process.stdin)
            async with trio.open_nursery() as outputs:
                outputs.start_soon(_pass_on, process.stderr, session.stderr)
                outputs.start_soon(_pass_on, process.stdout, session.stdout)
            code = await process.wait()
            nursery.cancel_scope.cancel()
        return code

    return play


async def _feed(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
    with suppress(trio.BrokenResourceError):  # the command does not read all of it
        await _pass_on(source, sink)
    await sink.aclose()


async def _pass_on(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
    async for data in source:
        await sink.send_all(data)
