"""A kubelet that plays one container of a pod on the embedded server: its log, its restarts, and the pod's status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any

import httpx2
import trio

from dynkube_testing import APIServer

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


class Clock:
    """The time of the server: noon, and then virtual time."""

    def __init__(self) -> None:
        self._began = trio.current_time()

    def __call__(self) -> datetime:
        return NOON + timedelta(seconds=trio.current_time() - self._began)


def pod(name: str = "web", *containers: str, **spec: Any) -> dict[str, Any]:
    """Return a pod with these containers; without any it has the container ``app``."""
    listed = [{"name": each, "image": "x"} for each in containers or ("app",)]
    metadata = {"name": name, "namespace": "default", "labels": {"app": name.split("-", maxsplit=1)[0]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": listed, **spec}}


class Kubelet:
    """Plays a container. ``lines`` has all that it has written; the pod's status changes when it is published."""

    def __init__(self, server: APIServer, name: str = "web", container: str = "app") -> None:
        self._server = server
        self.name = name
        self._container = container
        self._state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
        self._last: dict[str, Any] = {}
        self._run = -1
        self.lines: list[str] = []

    def start(self, *, publish: bool = True) -> None:
        """Begin a run of the container."""
        self._run += 1
        self._server.containers.write_log(self.name, "", container=self._container)
        if "terminated" in self._state:
            self._last = self._state
        self._state = {"running": {"startedAt": "2026-11-24T12:00:00Z"}}
        if publish:
            self.publish()

    def write(self, *lines: str, end: str = "\n", time: datetime | None = None) -> None:
        """Write lines."""
        for line in lines:
            self.lines.append(line)
            self._server.containers.write_log(self.name, f"{line}{end}", container=self._container, time=time)

    def exit(self, code: int = 0, *, publish: bool = True) -> None:
        """End the run."""
        self._server.containers.end_log(self.name, container=self._container)
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "containerID": f"cri://{self._run}"}
        self._state = {"terminated": ended}
        if publish:
            self.publish()

    def crash_loop(self) -> None:
        """Wait before the next run, as after a crash."""
        self._last = self._state
        self._state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
        self.publish()

    def publish(self, phase: str = "Running") -> None:
        """Write the status of the pod."""
        status = {"name": self._container, "image": "x", "imageID": "", "ready": False, "state": self._state}
        status |= {"restartCount": max(0, self._run), "lastState": self._last}
        stored = self._server.get("pods", self.name, "default")
        others = [each for each in stored["status"].get("containerStatuses", ()) if each["name"] != self._container]
        stored["status"] |= {"phase": phase, "containerStatuses": [*others, status]}
        self._server.update(stored, subresource="status")


class Body(httpx2.AsyncByteStream):
    """The body of a log, in small chunks, until it is cut."""

    def __init__(self, inner: httpx2.AsyncByteStream, random: Random) -> None:
        self._inner = inner
        self._random = random
        self._scope = trio.CancelScope()
        self._is_cut = False
        self._error: Exception | None = None

    def cut(self, error: Exception | None) -> None:
        """End the body, with an error or as if it was complete; what has not been received is lost."""
        self._error, self._is_cut = error, True
        self._scope.cancel()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        while not self._is_cut:
            chunk = b""
            with trio.CancelScope() as self._scope:
                chunk = await anext(chunks, b"")
            if not chunk:
                break
            while chunk and not self._is_cut:
                size = self._random.randint(1, 50)
                yield chunk[:size]
                chunk = chunk[size:]
                await trio.lowlevel.checkpoint()
        if self._is_cut and self._error is not None:
            raise self._error

    async def aclose(self) -> None:
        await self._inner.aclose()


class TearingTransport(httpx2.AsyncBaseTransport):
    """Tears the bodies of logs into small chunks, and cuts them on request."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, random: Random) -> None:
        self._inner = inner
        self._random = random
        self._now = Clock()
        self._bodies: list[Body] = []
        self.down = False
        """Whether all requests fail."""
        self.cut_all = False
        """Whether all logs are cut at their beginning."""
        self.logs: list[dict[str, str]] = []
        """The parameters of all requests for logs."""

    def cut(self, *, cleanly: bool = False) -> None:
        """Cut all logs that are being read."""
        for body in self._bodies:
            body.cut(None if cleanly else httpx2.ReadError("connection reset"))
        self._bodies.clear()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.down:
            raise httpx2.ConnectError("connection refused", request=request)
        response = await self._inner.handle_async_request(request)
        if not request.url.path.endswith("/log"):
            return response
        self.logs.append(dict(request.url.params))
        assert len(self.logs) < 300, "the log is requested again and again"
        if response.status_code != 200:
            return response
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = Body(response.stream, self._random)
        self._bodies.append(body)
        if self.cut_all:
            self.cut()
        headers = {**response.headers, "date": format_datetime(self._now(), usegmt=True)}
        return httpx2.Response(200, headers=headers, stream=body)
