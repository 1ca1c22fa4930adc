"""The embedded API server in virtual time: writes are plain calls, and an hour passes as fast as it can be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import cast

import trio

import dynkube
from benchmarks.soak.faults import Strike, Troubled
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import MARK, NAMESPACES, JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.errors import NotFound
from dynkube.meta import GVR
from dynkube.testing import APIServer

# Changes that can be watched from: some seconds' worth, so that who lags meets 410, and the memory has a bound.
_HISTORY = 20_000
_ESTABLISH = 0.5


class EmbeddedCluster:
    """An embedded API server as a soak sees it."""

    def __init__(self, server: APIServer) -> None:
        self._server = server

    @property
    def troubled(self) -> Troubled:
        """The server itself."""
        return cast("Troubled", self._server)  # it takes a GVR, too, and calls ways to end by their names only

    def strikes(self, random: Random) -> Sequence[tuple[int, Strike]]:
        """History can be forgotten, before or while everybody has to go back to it."""

        def forget() -> str:
            self._server.compact()
            if random.random() < 0.2:
                self._server.end_watches(how="cut")
            return "history forgotten"

        return [(2, forget)]

    async def calm(self) -> None:
        """Nothing lasts."""
        await trio.lowlevel.checkpoint()

    def watches(self) -> Counter[GVR]:
        """Open watches by resource."""
        return Counter(watch.resource for watch in self._server.open_watches)

    async def create(self, obj: JSONObject) -> None:
        """Create it."""
        self._server.create(obj)

    async def write(self, resource: Resource, write: Write) -> str:
        """Do it."""
        server = self._server
        if write.verb == "delete":
            server.delete(resource.gvr, write.key[1], write.key[0] or None)
            return ""
        stored = server.create(write.body) if write.verb == "create" else server.update(write.body)
        version: str = stored["metadata"]["resourceVersion"]
        return version

    async def mark(self, resource: Resource) -> Unstructured:
        """Create it, or write it again."""
        body = resource.mark()
        try:
            self._server.get(resource.gvr, MARK, NAMESPACES[0] if resource.namespaced else None)
        except NotFound:
            return Unstructured(self._server.create(body))
        return Unstructured(self._server.update(body))

    async def define(self, resource: Resource) -> None:
        """Create it, and let the time pass that it takes."""
        self._server.create(resource.definition())
        await trio.sleep(_ESTABLISH * 2)

    async def undefine(self, resource: Resource) -> None:
        """Delete it; all that follows has happened then."""
        self._server.delete("customresourcedefinitions", resource.definition_name)

    async def list(self, observer: Observer) -> list[JSONObject]:
        """By the server's own list."""
        return self._server.list(observer.gvr, observer.namespace, label_selector=observer.label_selector or "")


@asynccontextmanager
async def embedded(random: Random) -> AsyncIterator[tuple[EmbeddedCluster, dynkube.Client]]:
    """A cluster, and a client whose informers are to be observed."""
    settings = dynkube.InformerSettings(random=Random(random.random()))
    async with (
        APIServer(
            history=_HISTORY,
            audit_limit=1000,
            establish_delay=_ESTABLISH,
            managed_fields=False,
            random=Random(random.random()),
        ) as server,
        dynkube.connect(transport=server.transport(), settings=settings) as client,
    ):
        yield EmbeddedCluster(server), client
