"""Outages of an API server: of processes if the suite has started them, otherwise of the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from dynkube_testing import APIServer, ControlPlane

OUTAGE = 3.0
"""Seconds for which a server fails or stands still, at least."""

SILENCE = 15.0
"""The idle timeout of watches in these tests, in seconds.

A real server sends bookmarks once a minute, and on a busy machine an informer gets an event only every few seconds: far
longer than that, so that watches end by the outage alone.
"""


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
    await trio.sleep(SILENCE + OUTAGE)
    plane.api_server.resume()
    await _do(plane.api_server.wait_ready)


async def _compacted(plane: ControlPlane) -> None:
    """Compact etcd, and restart the API server, whose watch cache would still have the history."""
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
        await trio.sleep(OUTAGE)
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
    await trio.sleep(SILENCE + OUTAGE)


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
