"""A service on asyncio that serves ConfigMaps as settings, from an informer's cache.

    pip install dynkube starlette hypercorn
    hypercorn --worker-class asyncio 'examples.aio_service:create_app()'
    curl -i localhost:8000/settings/shop/web

Reads send no request to the API server, and work while it is down; ``X-Cache-State`` (LIVE, DEGRADED, ...) and ``Age``,
in seconds, show how current they are. A write goes to the API server, and returns when the next read shows it. A slow
or failing API server delays writes only: 503 is the answer to those that it does not take within five seconds.

FastAPI takes the same ``lifespan``, and uvicorn the application (``--factory``). Each worker process has a client, a
background thread and a cache of its own. The service does not authenticate: keep it on localhost, or behind a proxy
that does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import dynkube
import dynkube.aio
from dynkube.errors import APIError, Conflict, Invalid, NotFound, TransportError

WRITE = 5.0  # seconds for a write
BODY = 64 << 10  # bytes of a write


# ── reads ────────────────────────────────────────────────────────────────────────────────────


async def one(request: Request) -> Response:
    """Return one ConfigMap."""
    configs: dynkube.aio.Informer = request.app.state.configs
    headers = staleness(configs)
    found = configs.get(request.path_params["name"], namespace=request.path_params["namespace"])
    if found is None:
        raise HTTPException(404, "no such settings", headers)
    return Response(found.json, headers=headers, media_type="application/json")


async def several(request: Request) -> Response:
    """Return the ConfigMaps of a namespace; with ``?team=``, only those with this label."""
    configs: dynkube.aio.Informer = request.app.state.configs
    headers = staleness(configs)
    namespace, team = request.path_params["namespace"], request.query_params.get("team")
    found = configs.list(namespace=namespace) if team is None else configs.by_index("team", f"{namespace}/{team}")
    body = b'{"items":[' + b",".join(each.json for each in found) + b"]}"
    return Response(body, headers=headers, media_type="application/json")


def staleness(configs: dynkube.aio.Informer) -> dict[str, str]:
    """Return the headers that show how current the cache is.

    Raises:
        HTTPException: the objects were never listed.
    """
    numbers = configs.statistics()
    headers = {"X-Cache-State": str(numbers.state.phase), "Cache-Control": "no-cache"}
    if not numbers.resource_version:
        raise HTTPException(503, f"not read yet: {numbers.state}", {**headers, "Retry-After": "5"})
    if numbers.lag is not None:
        headers["Age"] = str(int(numbers.lag))
    return headers


async def ready(request: Request) -> Response:
    """Respond 200 once the objects were listed."""
    configs: dynkube.aio.Informer = request.app.state.configs
    return JSONResponse({"state": str(configs.state)}, 200 if configs.has_synced else 503)


# ── writes ───────────────────────────────────────────────────────────────────────────────────


async def change(request: Request) -> Response:
    """Merge a JSON object of strings into the data of a ConfigMap, and return it when the cache has it."""
    client: dynkube.aio.Client = request.app.state.client
    patch = {"data": await body_of(request)}
    async with asyncio.timeout(WRITE):
        configs = client.resource("configmaps")
        stored = await configs.patch(
            request.path_params["name"], patch, namespace=request.path_params["namespace"], timeout=WRITE
        )
        await request.app.state.configs.wait_for(stored)
    return Response(stored.json, media_type="application/json")


async def body_of(request: Request) -> dict[str, str]:
    """Return the object in the body; raises HTTPException if it is none, or too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY:
            raise HTTPException(413, f"more than {BODY} bytes")
    try:
        given = json.loads(body)
    except ValueError:
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise HTTPException(400, "the body is not an object of strings")
    return given


# ── the application ──────────────────────────────────────────────────────────────────────────


async def failed(request: Request, error: Exception) -> Response:
    """Return an error as JSON; what may pass is 503."""
    match error:
        case HTTPException(status_code=code, detail=message, headers=headers):
            return JSONResponse({"error": message}, code, headers)
        case NotFound() | Conflict() | Invalid():
            return JSONResponse({"error": str(error)}, error.code)
    return JSONResponse({"error": f"the API server did not take it: {error}"}, 503, {"Retry-After": "1"})


def team_of(obj: dynkube.Unstructured) -> list[str]:
    """Return the value of the index; called in the background thread."""
    return [f"{obj.namespace}/{obj.labels['team']}"] if "team" in obj.labels else []


def create_app(connect: Callable[[], dynkube.aio.Client] = dynkube.aio.connect) -> Starlette:
    """Return the application; ``connect`` is called when it starts."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with (
            connect() as client,
            client.informer("configmaps.v1", indexes={"team": team_of}) as configs,
        ):
            app.state.client, app.state.configs = client, configs
            yield

    where = "/settings/{namespace}"
    routes = [
        Route(where, several),
        Route(where + "/{name}", one),
        Route(where + "/{name}", change, methods=["PATCH"]),
        Route("/ready", ready),
    ]
    handlers = dict.fromkeys((HTTPException, APIError, TransportError, TimeoutError), failed)
    return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
