"""A real kube-apiserver and etcd behind the proxy: writers go around it, informers through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import cast

import httpx2
import trio

import dynkube
from benchmarks.soak.api import API, open_api
from benchmarks.soak.faults import Strike, Troubled
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import MARK, NAMESPACES, JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.errors import AlreadyExists, NotFound
from dynkube.meta import GVR
from dynkube.testing import ControlPlane, FaultProxy

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GONE = {"DELETED", "ERROR"}  # an ERROR says that it has to be looked at again


class RealCluster:
    """A control plane as a soak sees it."""

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, api: API, nursery: trio.Nursery) -> None:
        self._plane = plane
        self._proxy = proxy
        self._api = api
        self._nursery = nursery
        self._outages = 0
        self._quiet = trio.Event()

    @property
    def troubled(self) -> Troubled:
        """The proxy."""
        return cast("Troubled", self._proxy)  # it takes a GVR, too

    def strikes(self, random: Random) -> Sequence[tuple[int, Strike]]:
        """Connections that are refused, dropped or dead, and an API server that is killed or loses its history."""

        def refuse() -> str:
            self._nursery.start_soon(self._refuse, random.choice(("refuse", "reset")), random.uniform(0.0, 3.0))
            return "connections refused"

        def hole() -> str:
            self._nursery.start_soon(self._black_hole, random.uniform(0.0, 3.0))
            return "black hole"

        def drop() -> str:
            self._proxy.drop_connections(random.choice(("reset", "cut")))
            return "connections dropped"

        def kill() -> str:
            self._nursery.start_soon(self._restart)
            return "API server killed"

        def compact() -> str:
            self._plane.compact()
            return "history compacted"

        return [(2, refuse), (2, hole), (2, drop), (1, kill), (2, compact)]

    async def calm(self) -> None:
        """Wait until nothing of that lasts."""
        while self._outages:
            await self._quiet.wait()

    @asynccontextmanager
    async def _outage(self) -> AsyncIterator[None]:
        self._outages += 1
        try:
            yield
        finally:
            self._outages -= 1
            if not self._outages:
                self._quiet.set()
                self._quiet = trio.Event()

    async def _refuse(self, how: str, seconds: float) -> None:
        async with self._outage():
            with self._proxy.refuse_connections("refuse" if how == "refuse" else "reset"):
                await trio.sleep(seconds)

    async def _black_hole(self, seconds: float) -> None:
        async with self._outage():
            with self._proxy.black_hole():
                await trio.sleep(seconds)

    async def _restart(self) -> None:
        async with self._outage():
            if self._outages == 1:
                self._plane.api_server.kill()
                await trio.to_thread.run_sync(self._plane.api_server.start)

    def watches(self) -> Counter[GVR]:
        """Those that go through the proxy."""
        return Counter(watch.resource for watch in self._proxy.open_watches)

    # ── around the proxy ─────────────────────────────────────────────────────────────────────

    async def create(self, obj: JSONObject) -> None:
        """Create a namespace."""
        await self._api.ask("POST", "/api/v1/namespaces", obj)

    async def write(self, resource: Resource, write: Write) -> str:
        """Do it; without naming versions, as nobody else writes to that object."""
        namespace, name = write.key
        path = _path(resource.gvr, namespace)
        write.body.get("metadata", {}).pop("resourceVersion", None)
        try:
            if write.verb == "delete":
                await self._api.ask("DELETE", f"{path}/{name}")
                return ""
            if write.verb == "create":
                stored = await self._api.ask("POST", path, write.body)
            else:
                stored = await self._api.ask("PATCH", f"{path}/{name}", write.body)
        except httpx2.HTTPError as error:
            raise ConnectionError(str(error)) from error
        version: str = stored["metadata"]["resourceVersion"]
        return version

    async def mark(self, resource: Resource) -> Unstructured:
        """Create it, or write it again; a resource that was defined just now may not be served yet."""
        body, path = resource.mark(), _path(resource.gvr, NAMESPACES[0] if resource.namespaced else "")
        while True:
            try:
                return Unstructured(await self._api.surely("POST", path, body))
            except AlreadyExists:
                return Unstructured(await self._api.surely("PATCH", f"{path}/{MARK}", body))
            except NotFound:
                await trio.sleep(0.1)

    async def define(self, resource: Resource) -> None:
        """Create it, and wait until it is established."""
        with suppress(AlreadyExists):
            await self._api.surely("POST", _DEFINITIONS, resource.definition())

        def established(_: str, definition: JSONObject) -> bool:
            conditions = (definition.get("status") or {}).get("conditions") or ()
            return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)

        await self._api.until(_DEFINITIONS, _named(resource), established)

    async def undefine(self, resource: Resource) -> None:
        """Delete it, and wait until it is gone."""
        path = f"{_DEFINITIONS}/{resource.definition_name}"
        with suppress(NotFound):
            await self._api.surely("DELETE", path)
            while True:  # what is watched from may be forgotten before
                present = await self._api.surely("GET", path)
                since = {"resourceVersion": present["metadata"]["resourceVersion"]}
                await self._api.until(_DEFINITIONS, _named(resource) | since, lambda kind, _: kind in _GONE)

    async def list(self, observer: Observer) -> list[JSONObject]:
        """By a consistent list."""
        selector = {"labelSelector": observer.label_selector} if observer.label_selector else {}
        path = _path(observer.gvr, observer.namespace or "")
        items: list[JSONObject] = (await self._api.surely("GET", path, params=selector))["items"]
        return items


def _path(gvr: GVR, namespace: str) -> str:
    root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
    return f"{root}/namespaces/{namespace}/{gvr.resource}" if namespace else f"{root}/{gvr.resource}"


def _named(resource: Resource) -> dict[str, str]:
    return {"fieldSelector": f"metadata.name={resource.definition_name}"}


@asynccontextmanager
async def real(folder: Path | None, random: Random) -> AsyncIterator[tuple[RealCluster, dynkube.Client]]:
    """A control plane with binaries of ``folder``, and a client that reaches it through a proxy only."""
    settings = dynkube.InformerSettings(random=Random(random.random()), watch_idle_timeout=75.0)
    async with (
        ControlPlane(folder) as plane,
        FaultProxy(plane, audit_limit=1000, random=Random(random.random())) as proxy,
        open_api(plane.endpoint) as api,
        trio.open_nursery() as nursery,
        dynkube.connect(kubeconfig=proxy.kubeconfig(), settings=settings) as client,
    ):
        yield RealCluster(plane, proxy, api, nursery), client
