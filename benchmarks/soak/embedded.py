"""The embedded API server in virtual time: writes are plain calls, and time passes as fast as it can be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import cast

import trio

import dynkube
from benchmarks.soak.faults import FaultTarget, InjectFault
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import MARK, NAMESPACES, JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.errors import NotFound
from dynkube.meta import GVR
from dynkube_testing import APIServer

# Changes that watches can resume from: those of some seconds, so that slow watches get 410, and memory is bounded.
_HISTORY = 20_000
_ESTABLISH = 0.5


class EmbeddedCluster:
    """An embedded API server for a soak test."""

    def __init__(self, server: APIServer) -> None:
        self._server = server

    @property
    def fault_target(self) -> FaultTarget:
        """The API server."""
        return cast("FaultTarget", self._server)  # its signatures are wider and narrower

    def extra_faults(self, random: Random) -> Sequence[tuple[int, InjectFault]]:
        """Return a fault that compacts the history, sometimes while all watches have to resume."""

        def compact() -> str:
            self._server.compact()
            if random.random() < 0.2:
                self._server.end_watches(how="cut")
            return "history compacted"

        return [(2, compact)]

    async def end_faults(self) -> None:
        """Return at once: compactions have no duration."""
        await trio.lowlevel.checkpoint()

    def watches(self) -> Counter[GVR]:
        """Return the number of open watches by resource."""
        return Counter(watch.resource for watch in self._server.open_watches)

    async def create(self, obj: JSONObject) -> None:
        """Create an object."""
        self._server.create(obj)

    async def write(self, resource: Resource, write: Write) -> str:
        """Write an object, and return its resourceVersion."""
        server = self._server
        if write.verb == "delete":
            server.delete(resource.gvr, write.key[1], write.key[0] or None)
            return ""
        stored = server.create(write.body) if write.verb == "create" else server.update(write.body)
        version: str = stored["metadata"]["resourceVersion"]
        return version

    async def mark(self, resource: Resource) -> Unstructured:
        """Create or update the mark."""
        body = resource.mark()
        try:
            self._server.get(resource.gvr, MARK, NAMESPACES[0] if resource.namespaced else None)
        except NotFound:
            return Unstructured(self._server.create(body))
        return Unstructured(self._server.update(body))

    async def create_crd(self, resource: Resource) -> None:
        """Create the CRD, and wait until it is established."""
        self._server.create(resource.crd())
        await trio.sleep(_ESTABLISH * 2)

    async def delete_crd(self, resource: Resource) -> None:
        """Delete the CRD with its objects, which takes no time."""
        self._server.delete("customresourcedefinitions", resource.crd_name)

    async def list(self, observer: Observer) -> list[JSONObject]:
        """Return the server's list."""
        return self._server.list(observer.gvr, observer.namespace, label_selector=observer.label_selector or "")


@asynccontextmanager
async def embedded(random: Random) -> AsyncIterator[tuple[EmbeddedCluster, dynkube.Client]]:
    """Run a server, and connect the client whose informers are tested."""
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
