"""What can happen to an API server: to processes where the suite has started them, else to the embedded one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from dynkube.testing import APIServer, ControlPlane

SILENCE = 3.0
"""After how long a silent stream is given up in these tests."""


async def _do(*steps: Callable[[], object]) -> None:
    for step in steps:
        await trio.to_thread.run_sync(step)


async def _api_server_killed(plane: ControlPlane) -> None:
    await _do(plane.api_server.kill, plane.api_server.start)


async def _etcd_restarted(plane: ControlPlane) -> None:
    await _do(plane.etcd.restart, plane.api_server.wait_ready)


async def _both_killed(plane: ControlPlane) -> None:
    await _do(plane.api_server.kill, plane.etcd.kill, plane.etcd.start, plane.api_server.start)


async def _stands_still(plane: ControlPlane) -> None:
    plane.api_server.pause()
    await trio.sleep(SILENCE * 2)
    plane.api_server.resume()
    await _do(plane.api_server.wait_ready)


async def _compacted(plane: ControlPlane) -> None:
    """Its caches know what happened since its start, so it has to go for the history to be lost."""
    await _do(plane.api_server.kill, plane.compact, plane.api_server.start)


ON_PROCESSES = {
    "API server killed": _api_server_killed,
    "etcd restarted": _etcd_restarted,
    "both killed": _both_killed,
    "API server stands still": _stands_still,
    "history compacted": _compacted,
}


@asynccontextmanager
async def _unavailable(server: APIServer, status: int) -> AsyncIterator[None]:
    fault = server.fail(status=status)
    try:
        server.end_watches(how="cut")
        await trio.sleep(SILENCE)
        yield
    finally:
        fault.remove()


async def _embedded_cut(server: APIServer) -> None:
    async with _unavailable(server, 503):
        pass


async def _embedded_errors(server: APIServer) -> None:
    async with _unavailable(server, 500):
        pass


async def _embedded_restored(server: APIServer) -> None:
    async with _unavailable(server, 503):
        server.restore(server.snapshot())


async def _embedded_silent(server: APIServer) -> None:
    server.end_watches(how="silent")
    await trio.sleep(SILENCE * 2)


async def _embedded_compacted(server: APIServer) -> None:
    async with _unavailable(server, 503):
        server.compact()


EMBEDDED = {
    "API server killed": _embedded_cut,
    "etcd restarted": _embedded_errors,
    "both killed": _embedded_restored,
    "API server stands still": _embedded_silent,
    "history compacted": _embedded_compacted,
}
