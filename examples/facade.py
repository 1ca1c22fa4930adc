"""An HTTP facade: serves any resource from a cache, under the paths of the Kubernetes API.

    pip install dynkube starlette 'hypercorn[trio]'
    python -m examples.facade [HOST:PORT]
    curl -i 'localhost:8000/apis/apps/v1/namespaces/shop/deployments?labelSelector=app=web'

For more than one core: ``hypercorn --worker-class trio --workers 2 'examples.facade:create_app()'``. Each process has
its own caches.

The first request for a resource opens an informer on it, which is closed when it was not used for five minutes. Reads
send no request to the API server, and work while it is down. Headers show how current a response is:
``X-Cache-State`` is the informer's phase (LIVE, DEGRADED, ...), and ``Age`` the seconds since data was last received
from the API server; in a healthy watch without changes, up to 90. ``/readyz`` is 200 once the API server has been
reached for the first time.

``?watch=1`` streams JSON lines as a Kubernetes watch without resourceVersion does, rather than server-sent events, so
that Kubernetes clients can read it: the existing objects as ADDED, then changes.

The facade does not authenticate: any client that can connect can read what the facade's user may list, except Secrets.
Keep it on localhost, or behind a proxy that authenticates.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import dynkube
from dynkube.errors import ClosedError, InvalidInput

IDLE = 300.0  # seconds after which an unused informer is closed
FIRST = 10.0  # seconds that a request waits for the initial objects
INFORMERS = 100  # open at once
STREAMS = 100  # open at once
QUEUE = 1000  # pending lines for one client
SLOW = 10.0  # seconds for which this queue may be full
CHUNK = 64 << 10  # bytes of lines that are sent at once
STALLED = 60_000  # milliseconds in which a client has to acknowledge sent data
HIDDEN = {("", "secrets")}


class Cache(NamedTuple):
    """An open informer; it is closed at the deadline of the scope."""

    informer: dynkube.Informer
    scope: trio.CancelScope


class Facade:
    """The informers of one process, each owned by a task in ``nursery``."""

    def __init__(self, client: dynkube.Client, namespaces: dynkube.Informer, nursery: trio.Nursery) -> None:
        self.client = client
        self.namespaces = namespaces  # always open: shows whether the API server was reached
        self.streams = trio.Semaphore(STREAMS)
        self._nursery = nursery
        self._caches: dict[dynkube.GVR, Cache] = {}
        self._opening = trio.Lock()

    async def informer(self, gvr: dynkube.GVR) -> dynkube.Informer:
        """Return the informer of a resource; opens it if necessary, and waits for its initial objects.

        Raises:
            HTTPException: the resource is hidden, or too many are open.
        """
        cache = self._caches.get(gvr) or await self._open(gvr)
        cache.scope.deadline = trio.current_time() + IDLE
        if not cache.informer.has_synced:
            with trio.move_on_after(FIRST):
                await cache.informer.wait_synced()
        return cache.informer

    async def _open(self, gvr: dynkube.GVR) -> Cache:
        async with self._opening:
            if gvr not in self._caches:
                if (gvr.group, gvr.resource) in HIDDEN:
                    raise HTTPException(403, f"{gvr} is not served here")
                if len(self._caches) >= INFORMERS:
                    raise HTTPException(503, f"{INFORMERS} resources are in use", {"Retry-After": "60"})
                await self._nursery.start(self._keep_open, gvr)
            return self._caches[gvr]

    async def _keep_open(self, gvr: dynkube.GVR, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(deadline=trio.current_time() + IDLE) as scope:
            async with self.client.informer(gvr) as informer:
                self._caches[gvr] = Cache(informer, scope)
                task_status.started()
                try:
                    await trio.sleep_forever()
                finally:
                    del self._caches[gvr]


# ── reads ────────────────────────────────────────────────────────────────────────────────────


async def read(request: Request) -> Response:
    """Respond to a request for an object, a list or a stream."""
    facade: Facade = request.app.state.facade
    path, query = request.path_params, request.query_params
    if unknown := query.keys() - {"labelSelector", "watch"}:
        raise InvalidInput(f"{', '.join(sorted(unknown))}: only labelSelector and watch are supported")
    gvr = dynkube.GVR(path.get("group", ""), path["version"], path["resource"])
    namespace, name, selector = path.get("namespace"), path.get("name"), query.get("labelSelector")
    informer = await facade.informer(gvr)
    headers, version = staleness(informer)
    if name is not None:
        obj = informer.get(name, namespace=namespace or "")
        if obj is None:
            raise HTTPException(404, f'{gvr.resource} "{name}" not found', headers)
        return conditional(request, obj.resource_version, lambda: obj.json, headers)
    if query.get("watch") in ("1", "true"):
        return ChangeStream(facade, gvr, shown(namespace, selector), headers)
    return conditional(request, version, lambda: listed(informer, namespace, selector, version), headers)


def staleness(informer: dynkube.Informer) -> tuple[dict[str, str], str]:
    """Return the headers that show how current the cache is, and its resourceVersion.

    Raises:
        HTTPException: the resource does not exist, or its objects were never listed.
    """
    numbers = informer.statistics()
    state = numbers.state
    headers = {"X-Cache-State": str(state.phase), "Cache-Control": "no-cache"}
    if numbers.lag is not None:
        headers["Age"] = str(int(numbers.lag))
    if state.phase is dynkube.ABSENT:
        raise HTTPException(404, f"{informer.gvr}: {state.message}", headers)
    if not numbers.resource_version:
        raise HTTPException(503, f"{informer.gvr} cannot be read yet: {state}", {**headers, "Retry-After": "5"})
    return headers, numbers.resource_version


def conditional(request: Request, version: str, body: Callable[[], bytes], headers: dict[str, str]) -> Response:
    """Return a response with the body, or 304 if the client has it."""
    headers["ETag"] = f'W/"{version}"'  # weak: a list has no order
    given = request.headers.get("if-none-match")
    if given is not None and {"*", f'"{version}"'} & {tag.strip().removeprefix("W/") for tag in given.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(body(), headers=headers, media_type="application/json")


def listed(informer: dynkube.Informer, namespace: str | None, selector: str | None, version: str) -> bytes:
    """Return a list as JSON, made of the bytes of the objects as they were received."""
    objects = informer.list(namespace=namespace, label_selector=selector)
    kind, api_version = (f"{objects[0].kind}List", objects[0].api_version) if objects else ("List", "v1")
    head = {"kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": version}}
    return json.dumps(head)[:-1].encode() + b',"items":[' + b",".join(obj.json for obj in objects) + b"]}"


# ── streams ──────────────────────────────────────────────────────────────────────────────────


def shown(namespace: str | None, selector: str | None) -> dynkube.Filter | None:
    """Return the filter of a stream; ``None`` for all objects."""
    labels = dynkube.LabelFilter(selector or "")
    if namespace is None:
        return labels if selector else None
    return labels & dynkube.PredicateFilter(lambda obj: obj.namespace == namespace, object_only=True)


class ChangeStream(StreamingResponse):
    """The events of an informer with its own filter, which shares its watch with the informer of reads."""

    def __init__(self, facade: Facade, gvr: dynkube.GVR, shown: dynkube.Filter | None, headers: dict[str, str]) -> None:
        super().__init__((), headers=headers, media_type="application/json")
        self._facade = facade
        self._view = facade.client.informer(gvr, filter=shown)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send lines until the client disconnects, or is too slow: then the response is cut off."""
        try:
            self._facade.streams.acquire_nowait()
        except trio.WouldBlock:
            raise HTTPException(503, f"{STREAMS} streams are open", {"Retry-After": "60"}) from None
        try:
            writing, reading = trio.open_memory_channel[bytes](QUEUE)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_disconnect, receive, nursery.cancel_scope)
                nursery.start_soon(self._fill, writing, nursery.cancel_scope)
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                async for line in reading:
                    await send({"type": "http.response.body", "body": chunk(line, reading), "more_body": True})
                await send({"type": "http.response.body", "body": b""})  # the facade is shutting down
                nursery.cancel_scope.cancel()
        finally:
            self._facade.streams.release()

    async def _fill(self, writing: trio.MemorySendChannel[bytes], stream: trio.CancelScope) -> None:
        # If the server waits for a client that does not read, as hypercorn does even when the stream is cancelled, only
        # this task's queue remains; the informer is closed.
        async with writing, self._view, self._view.events() as events:
            async for event in events:
                with trio.move_on_after(SLOW) as waiting:
                    await writing.send(line_of(event))
                if waiting.cancelled_caught:
                    stream.cancel()

    @staticmethod
    async def _until_disconnect(receive: Receive, stream: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        stream.cancel()


def line_of(event: dynkube.InformerEvent) -> bytes:
    """Return an event as a line of a Kubernetes watch."""
    match event:
        case dynkube.Added(obj):
            return b'{"type":"ADDED","object":%b}\n' % obj.json
        case dynkube.Updated(_, obj):
            return b'{"type":"MODIFIED","object":%b}\n' % obj.json
        case dynkube.Deleted(obj):
            return b'{"type":"DELETED","object":%b}\n' % obj.json


def chunk(first: bytes, reading: trio.MemoryReceiveChannel[bytes]) -> bytes:
    """Return the first line and the pending ones, up to the size of a chunk."""
    lines = [first]
    size = len(first)
    try:
        while size < CHUNK:
            lines.append(reading.receive_nowait())
            size += len(lines[-1])
    except (trio.WouldBlock, trio.EndOfChannel):
        pass
    return b"".join(lines)


# ── the application ──────────────────────────────────────────────────────────────────────────


async def healthz(request: Request) -> Response:
    return PlainTextResponse("ok")


async def readyz(request: Request) -> Response:
    facade: Facade = request.app.state.facade
    ready = facade.namespaces.has_synced
    return PlainTextResponse(f"{facade.client.informers()}\n", 200 if ready else 503)


async def failed(request: Request, error: Exception) -> Response:
    """Return an error response with a Status, as the API server does."""
    match error:
        case HTTPException(status_code=code, detail=message, headers=headers):
            pass
        case InvalidInput():
            code, message, headers = 400, str(error), None
        case _:
            code, message, headers = 503, str(error), {"Retry-After": "1"}
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
    return JSONResponse(status, code, headers)


def routes() -> Iterator[Route]:
    for root in ("/api/{version}", "/apis/{group}/{version}"):
        for scope in ("/namespaces/{namespace}", ""):
            yield Route(f"{root}{scope}/{{resource}}", read)
            yield Route(f"{root}{scope}/{{resource}}/{{name}}", read)
    yield Route("/healthz", healthz)
    yield Route("/readyz", readyz)


def create_app(connect: Callable[[], dynkube.Client] = dynkube.connect) -> Starlette:
    """Return the application; ``connect`` is called when it starts."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with connect() as client, client.informer("namespaces.v1") as namespaces, trio.open_nursery() as nursery:
            app.state.facade = Facade(client, namespaces, nursery)
            yield
            nursery.cancel_scope.cancel()

    handlers = dict.fromkeys((HTTPException, InvalidInput, ClosedError), failed)
    return Starlette(routes=[*routes()], exception_handlers=handlers, lifespan=lifespan)


if __name__ == "__main__":
    host, _, port = (sys.argv[1:] or ["127.0.0.1:8000"])[0].rpartition(":")
    with socket.create_server((host, int(port))) as listener:
        if sys.platform == "linux":  # hypercorn has no timeout for writes: the kernel ends those that make no progress
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED)
        config = Config()
        config.bind = [f"fd://{listener.fileno()}"]
        trio.run(partial(serve, create_app(), config))  # type: ignore[arg-type]  # its types are narrower than ASGI
