"""The client for asyncio, and ``connect``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Self, overload

import dynkube._client as in_trio
from dynkube._connect import connect as connect_in_trio
from dynkube._portal.client import ClientFacade, MapperFacade
from dynkube._portal.facade import arguments_of, wrapping
from dynkube._portal.process import PROCESS
from dynkube._portal.thread import TrioThread
from dynkube.aio._call import running_loop
from dynkube.aio._callbacks import calling_back
from dynkube.aio._delegation import awaiting, for_asyncio, overloaded
from dynkube.aio._held import Held
from dynkube.aio._informer import Informer
from dynkube.aio._logs import MergedLogs
from dynkube.aio._manifests import ApplyRun
from dynkube.aio._pods import Pod
from dynkube.aio._resource import ResourceClient
from dynkube.aio._workloads import Rollout
from dynkube.client import FieldSelectorLike, LabelSelectorLike
from dynkube.client import ResourceClient as TrioResourceClient
from dynkube.client._completion import Resources
from dynkube.discovery import DeferredRESTMapper, ResourceLike
from dynkube.errors import ClosedError
from dynkube.informers import Informer as TrioInformer
from dynkube.manifests import ApplyRun as TrioApplyRun
from dynkube.meta import Unstructured, UnstructuredTable
from dynkube.pods import MergedLogs as TrioMergedLogs
from dynkube.pods import Pod as TrioPod
from dynkube.workloads import Rollout as TrioRollout


class Client(ClientFacade):
    """A client for one cluster, with verbs and informers, for asyncio.

    Created by :func:`dynkube.aio.connect`. Enter it (``async with``) before use. The end of the block stops everything
    that it has started. It may be used by all tasks of a program, also in other event loops and threads. It does not
    survive a fork: in the child process it is closed, and ``connect`` must be called again.
    """

    __slots__ = ("_held", "_informers")

    def __init__(self, inner: in_trio.Client) -> None:
        super().__init__(inner, PROCESS.thread())
        self._informers: dict[Informer, None] = {}
        self._held: Held[in_trio.Client] | None = None

    def __repr__(self) -> str:
        return "<Client, closed>" if self._held is not None and self._held.ended else super().__repr__()

    async def __aenter__(self) -> Self:
        """Load the configuration and start. Sends no request to the cluster.

        Raises:
            ConfigError: no usable configuration; the message names file, field and fix.
            ClosedError: it was entered before.
            InvalidInput: no asyncio loop is running, or the caller is a trio task.
        """
        __tracebackhide__ = True
        running_loop()
        if self._held is not None:
            raise ClosedError("this client was entered before; create a new one with dynkube.aio.connect(...)")
        self._thread: TrioThread = PROCESS.thread()  # the process may have been forked since
        self._held = Held(self._thread, self._inner)
        await self._held.open("")
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        assert self._held is not None
        async with AsyncExitStack() as stack:  # closes the others even if one of them raises
            stack.push_async_callback(self._held.close)
            while self._informers:
                stack.push_async_callback(self._informers.popitem()[0].aclose)

    @property
    def mapper(self) -> Mapper:
        """The REST mapper, which resolves resource names by discovery."""
        return Mapper(self._open.mapper, self._thread)

    @awaiting(in_trio.Client.raw)
    def raw(self) -> None: ...

    @awaiting(in_trio.Client.server_version)
    def server_version(self) -> None: ...

    # ── shortcuts ────────────────────────────────────────────────────────────────────────────

    @wrapping(in_trio.Client.__getitem__, for_asyncio)
    def __getitem__(self, inner: TrioResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._start)

    @property
    def resources(self) -> Resources[ResourceClient]:
        """The resources as attributes, for tab completion: ``client.resources.deployments``.

        Completion uses cached discovery and sends no request; :meth:`api_resources` asks the server.

        Raises:
            ClosedError: the client is not open.
        """
        self._check_open()
        return Resources(self.resource, self._known)

    @overload
    async def get(
        self,
        resource: ResourceLike,
        name: None = None,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> UnstructuredTable: ...
    @overload
    async def get(
        self,
        resource: ResourceLike,
        name: str,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overloaded(in_trio.Client.get)
    def get(self) -> None: ...

    @awaiting(in_trio.Client.api_resources)
    def api_resources(self) -> None: ...

    @awaiting(in_trio.Client.whoami)
    def whoami(self) -> None: ...

    @awaiting(in_trio.Client.auth_can_i)
    def auth_can_i(self) -> None: ...

    # ── resources, informers, manifests ──────────────────────────────────────────────────────

    @wrapping(in_trio.Client.resource, for_asyncio)
    def resource(self, inner: TrioResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._start)

    @wrapping(in_trio.Client.pod, for_asyncio)
    def pod(self, inner: TrioPod) -> Pod:
        return Pod(inner, self._thread, self._start)

    @wrapping(in_trio.Client.logs, for_asyncio)
    def logs(self, inner: AbstractAsyncContextManager[TrioMergedLogs]) -> MergedLogs:
        return MergedLogs(self._thread, self._start, inner)

    @wrapping(in_trio.Client.informer, for_asyncio)
    def informer(self, inner: TrioInformer) -> Informer:
        return Informer(inner, self._thread, self._informers)

    @wrapping(in_trio.Client.apply_all, for_asyncio)
    def apply_all(self, inner: TrioApplyRun) -> ApplyRun:
        return ApplyRun(inner, self._thread, self._start)

    @calling_back(in_trio.Client.diff_all, "on_entry")
    def diff_all(self) -> None: ...

    # ── workloads ────────────────────────────────────────────────────────────────────────────

    @wrapping(in_trio.Client.rollout, for_asyncio)
    def rollout(self, inner: TrioRollout) -> Rollout:
        return Rollout(inner, self._thread)

    @awaiting(in_trio.Client.cordon)
    def cordon(self) -> None: ...

    @awaiting(in_trio.Client.uncordon)
    def uncordon(self) -> None: ...

    @calling_back(in_trio.Client.drain, "on_report")
    def drain(self) -> None: ...

    @awaiting(in_trio.Client.events_for)
    def events_for(self) -> None: ...

    @awaiting(in_trio.Client.describe)
    def describe(self) -> None: ...

    @awaiting(in_trio.Client.explain)
    def explain(self) -> None: ...

    @awaiting(in_trio.Client.top_pods)
    def top_pods(self) -> None: ...

    @awaiting(in_trio.Client.top_nodes)
    def top_nodes(self) -> None: ...

    def _check_open(self) -> None:
        if self._held is None:
            raise ClosedError("the client is not open: use it inside 'async with dynkube.aio.connect() as client:'")
        if self._held.ended:
            self._inner._check_not_ended()
            raise ClosedError("this client is closed: create another one with dynkube.aio.connect(...)")

    def _start(self, function: Callable[[], Awaitable[None]]) -> None:
        self._check_open()
        assert self._held is not None
        self._held.start(function)


class Mapper(MapperFacade):
    """The REST mapper: resolves resource names by discovery.

    Discovery is loaded on first use, and again if a name is not found or after :meth:`invalidate`.
    """

    __slots__ = ()

    @awaiting(DeferredRESTMapper.load)
    def load(self) -> None: ...

    @awaiting(DeferredRESTMapper.resolve)
    def resolve(self) -> None: ...


@arguments_of(connect_in_trio, for_asyncio)
def connect(inner: in_trio.Client) -> Client:
    """Create a client for one cluster, for asyncio; enter it with ``async with``.

    Without arguments it uses the cluster that kubectl would use, or, inside a pod, the one the pod runs in. Does no
    I/O: the configuration is read on entering. Functions that are passed to it or to its methods, such as filters, are
    called in the client's trio thread, except handlers and ``on_entry``.
    """
    return Client(inner)
