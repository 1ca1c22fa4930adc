"""A real kube-apiserver and etcd: informers connect through the fault proxy, writers directly."""

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
from benchmarks.soak.faults import FaultTarget, InjectFault
from benchmarks.soak.observers import Observer
from benchmarks.soak.resources import MARK, NAMESPACES, JSONObject, Resource, Write
from dynkube import Unstructured
from dynkube.errors import AlreadyExists, NotFound
from dynkube.meta import GVR
from dynkube_testing import ControlPlane, FaultProxy

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GONE = {"DELETED", "ERROR"}  # after an ERROR the object is read again


class RealCluster:
    """A control plane for a soak test."""

    def __init__(self, plane: ControlPlane, proxy: FaultProxy, api: API, nursery: trio.Nursery) -> None:
        self._plane = plane
        self._proxy = proxy
        self._api = api
        self._nursery = nursery
        self._outages = 0
        self._quiet = trio.Event()

    @property
    def fault_target(self) -> FaultTarget:
        """The fault proxy."""
        return cast("FaultTarget", self._proxy)  # its signatures are wider

    def extra_faults(self, random: Random) -> Sequence[tuple[int, InjectFault]]:
        """Return faults of connections (refused, dropped, dead), restarts of the API server, and compactions."""

        def refuse() -> str:
            self._nursery.start_soon(
                self._refuse_connections, random.choice(("refuse", "reset")), random.uniform(0.0, 3.0)
            )
            return "connections refused"

        def black_hole() -> str:
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

        return [(2, refuse), (2, black_hole), (2, drop), (1, kill), (2, compact)]

    async def end_faults(self) -> None:
        """Wait until all outages have ended."""
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

    async def _refuse_connections(self, how: str, seconds: float) -> None:
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
        """Return the number of watches through the proxy, by resource."""
        return Counter(watch.resource for watch in self._proxy.open_watches)

    # ── without the proxy ────────────────────────────────────────────────────────────────────

    @property
    def api(self) -> API:
        """The API server, without the proxy."""
        return self._api

    async def create(self, obj: JSONObject) -> None:
        """Create a namespace."""
        await self._api.request("POST", "/api/v1/namespaces", obj)

    async def write(self, resource: Resource, write: Write) -> str:
        """Send a write without a resourceVersion, as the object has no other writer."""
        namespace, name = write.key
        path = _path(resource.gvr, namespace)
        write.body.get("metadata", {}).pop("resourceVersion", None)
        try:
            if write.verb == "delete":
                await self._api.request("DELETE", f"{path}/{name}")
                return ""
            if write.verb == "create":
                stored = await self._api.request("POST", path, write.body)
            else:
                stored = await self._api.request("PATCH", f"{path}/{name}", write.body)
        except httpx2.HTTPError as error:
            raise ConnectionError(str(error)) from error
        version: str = stored["metadata"]["resourceVersion"]
        return version

    async def mark(self, resource: Resource) -> Unstructured:
        """Create or update the mark; retries while a new resource is not served yet."""
        body, path = resource.mark(), _path(resource.gvr, NAMESPACES[0] if resource.namespaced else "")
        while True:
            try:
                return Unstructured(await self._api.request_until_done("POST", path, body))
            except AlreadyExists:
                return Unstructured(await self._api.request_until_done("PATCH", f"{path}/{MARK}", body))
            except NotFound:
                await trio.sleep(0.1)

    async def create_crd(self, resource: Resource) -> None:
        """Create the CRD, and wait until it is established."""
        with suppress(AlreadyExists):
            await self._api.request_until_done("POST", _CRDS, resource.crd())

        def established(_: str, crd: JSONObject) -> bool:
            conditions = (crd.get("status") or {}).get("conditions") or ()
            return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)

        await self._api.watch_until(_CRDS, _named(resource), established)

    async def delete_crd(self, resource: Resource) -> None:
        """Delete the CRD, and wait until it is gone."""
        path = f"{_CRDS}/{resource.crd_name}"
        with suppress(NotFound):
            await self._api.request_until_done("DELETE", path)
            while True:  # again if the resourceVersion of the watch has expired
                present = await self._api.request_until_done("GET", path)
                since = {"resourceVersion": present["metadata"]["resourceVersion"]}
                await self._api.watch_until(_CRDS, _named(resource) | since, lambda kind, _: kind in _GONE)

    async def list(self, observer: Observer) -> list[JSONObject]:
        """Return a consistent list."""
        selector = {"labelSelector": observer.label_selector} if observer.label_selector else {}
        path = _path(observer.gvr, observer.namespace or "")
        items: list[JSONObject] = (await self._api.request_until_done("GET", path, params=selector))["items"]
        return items


def _path(gvr: GVR, namespace: str) -> str:
    root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
    return f"{root}/namespaces/{namespace}/{gvr.resource}" if namespace else f"{root}/{gvr.resource}"


def _named(resource: Resource) -> dict[str, str]:
    return {"fieldSelector": f"metadata.name={resource.crd_name}"}


@asynccontextmanager
async def real(folder: Path | None, random: Random) -> AsyncIterator[tuple[RealCluster, dynkube.Client]]:
    """Run a control plane with the binaries of ``folder``, and connect a client through the fault proxy."""
    settings = dynkube.InformerSettings(random=Random(random.random()), watch_idle_timeout=75.0)
    async with (
        ControlPlane(folder) as plane,
        FaultProxy(plane, audit_limit=1000, random=Random(random.random())) as proxy,
        open_api(plane.endpoint) as api,
        trio.open_nursery() as nursery,
        dynkube.connect(kubeconfig=proxy.kubeconfig(), settings=settings) as client,
    ):
        yield RealCluster(plane, proxy, api, nursery), client
