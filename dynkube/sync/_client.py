"""The blocking client, and ``connect``."""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, overload

import dynkube._client as aio
from dynkube._connect import connect as connect_async
from dynkube._portal.client import ClientFacade, MapperFacade
from dynkube._portal.facade import arguments_of, wrapping
from dynkube._portal.process import PROCESS
from dynkube._portal.thread import TrioThread
from dynkube.client import FieldSelectorLike, LabelSelectorLike
from dynkube.client import ResourceClient as AsyncResourceClient
from dynkube.client._completion import Resources
from dynkube.discovery import DeferredRESTMapper, ResourceLike
from dynkube.errors import ClosedError, DynkubeError
from dynkube.informers import Informer as AsyncInformer
from dynkube.manifests import ApplyRun as AsyncApplyRun
from dynkube.manifests import Report
from dynkube.meta import GVK, Unstructured
from dynkube.meta import UnstructuredTable as AsyncTable
from dynkube.pods import MergedLogs as AsyncMergedLogs
from dynkube.pods import Pod as AsyncPod
from dynkube.sync._delegation import blocking, overloaded
from dynkube.sync._held import Held
from dynkube.sync._informer import Informer
from dynkube.sync._lists import Follow, Origin, UnstructuredTable
from dynkube.sync._logs import MergedLogs
from dynkube.sync._manifests import carry_out
from dynkube.sync._pods import Pod
from dynkube.sync._resource import ResourceClient
from dynkube.sync._workloads import Rollout
from dynkube.workloads import Rollout as AsyncRollout


class Client(ClientFacade):
    """A blocking client for one cluster, with verbs and informers.

    Created open by :func:`dynkube.sync.connect`. :meth:`close`, the end of a ``with`` block around it, or the end of
    the process stops everything it has started. A client that nothing refers to any more, neither an object that it has
    returned nor a running informer, is closed when it is garbage-collected. It is thread-safe. It does not survive a
    fork: in the child process it is closed, and ``connect`` must be called again.
    """

    __slots__ = ("_held", "_informers", "_origin")

    def __init__(self, inner: aio.Client, thread: TrioThread) -> None:
        super().__init__(inner, thread)
        self._informers: dict[Informer, None] = {}
        self._held = Held(thread, inner, partial(_load_discovery, inner))  # which must not refer to the client
        self._origin = Origin(thread, self._start, inner.informer)
        self._held.open()
        weakref.finalize(self, thread.cancel, self._held.scope)

    def __repr__(self) -> str:
        return "<Client, closed>" if self._held.ended else super().__repr__()

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        self._check_open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """Stop everything the client has started, informers first, and wait until it has ended. Idempotent.

        Raises:
            Exception: the exception of a handler registered with ``on_error="cancel"``.
        """
        __tracebackhide__ = True
        with ExitStack() as stack:  # closes the others even if one of them raises
            stack.callback(self._held.close)
            while self._informers:
                stack.callback(self._informers.popitem()[0].close)

    # ── configuration ────────────────────────────────────────────────────────────────────────

    @property
    def mapper(self) -> Mapper:
        """The REST mapper, which resolves resource names by discovery."""
        return Mapper(self._open.mapper, self._thread, self)

    @blocking(aio.Client.raw)
    def raw(self) -> None: ...

    @blocking(aio.Client.server_version)
    def server_version(self) -> None: ...

    # ── shortcuts ────────────────────────────────────────────────────────────────────────────

    @wrapping(aio.Client.__getitem__)
    def __getitem__(self, inner: AsyncResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._origin)

    @property
    def resources(self) -> Resources[ResourceClient]:
        """The resources as attributes, for tab completion: ``k.resources.deployments``.

        Completion uses cached discovery and sends no request; :meth:`api_resources` asks the server.

        Raises:
            ClosedError: the client is closed.
        """
        self._check_open()
        return Resources(self.resource, self._known)

    @overload
    def get(
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
    def get(
        self,
        resource: ResourceLike,
        name: str,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overloaded(aio.Client.get)
    def get(self, found: Unstructured | AsyncTable, given: Mapping[str, Any]) -> Unstructured | UnstructuredTable:
        if not isinstance(found, AsyncTable):
            return found
        if found.tables[0] is found:
            return UnstructuredTable.of(found, self.resource(given["resource"])._follow(given))
        tables = [UnstructuredTable.of(table, self._follow(table, given)) for table in found.tables]
        return UnstructuredTable.of(found, None, tables)

    def _follow(self, table: AsyncTable, given: Mapping[str, Any]) -> Follow | None:
        """Return how to follow one of several tables, of any scope."""
        kind = GVK.parse(table.api_version, table.kind.removesuffix("List"))
        return self.resource(kind)._follow(given if table.namespaced else {**given, "namespace": None})

    @blocking(aio.Client.api_resources)
    def api_resources(self) -> None: ...

    @blocking(aio.Client.whoami)
    def whoami(self) -> None: ...

    @blocking(aio.Client.auth_can_i)
    def auth_can_i(self) -> None: ...

    # ── resources, informers, manifests ──────────────────────────────────────────────────────

    @wrapping(aio.Client.resource)
    def resource(self, inner: AsyncResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._origin)

    @wrapping(aio.Client.pod)
    def pod(self, inner: AsyncPod) -> Pod:
        return Pod(inner, self._thread, self._start)

    @wrapping(aio.Client.logs)
    def logs(self, inner: AbstractAsyncContextManager[AsyncMergedLogs]) -> MergedLogs:
        return MergedLogs(self._thread, self._start, inner)

    @wrapping(aio.Client.informer)
    def informer(self, inner: AsyncInformer) -> Informer:
        """Start an informer: a local cache of a collection, kept current by a watch.

        The resource need not exist yet. While no CRD defines the resource, the cache is empty. Once it is served, the
        informer lists and watches it, and handlers are called with the objects; when the CRD is removed, they are
        called with their deletion. The informer runs until :meth:`Informer.close`, the end of the client, or the end of
        the process. Informers share one watch if all their arguments except ``filter`` and ``indexes`` are equal.
        """
        __tracebackhide__ = True
        informer = Informer(inner, self._thread, self._forget)
        self._informers[informer] = None
        return informer

    @wrapping(aio.Client.apply_all)
    def apply_all(self, inner: AsyncApplyRun) -> Report:
        """Apply many objects by server-side apply: ``report = k.apply_all("manifests/")``.

        Blocks until all objects are done: namespaces and CRDs first, webhooks and admission policies last, the rest in
        parallel. Failures of single objects are in the report, not raised. If the call is interrupted, the exception
        gets a note with the results so far. ``on_entry`` is called in the trio thread, so it must not make blocking
        calls such as those of ``k``.
        """
        __tracebackhide__ = True
        return carry_out(self._thread, inner)

    @blocking(aio.Client.diff_all)
    def diff_all(self) -> None: ...

    # ── workloads ────────────────────────────────────────────────────────────────────────────

    @wrapping(aio.Client.rollout)
    def rollout(self, inner: AsyncRollout) -> Rollout:
        return Rollout(inner, self._thread, self)

    @blocking(aio.Client.cordon)
    def cordon(self) -> None: ...

    @blocking(aio.Client.uncordon)
    def uncordon(self) -> None: ...

    @blocking(aio.Client.drain)
    def drain(self) -> None: ...

    @blocking(aio.Client.events_for)
    def events_for(self) -> None: ...

    @blocking(aio.Client.describe)
    def describe(self) -> None: ...

    @blocking(aio.Client.explain)
    def explain(self) -> None: ...

    @blocking(aio.Client.top_pods)
    def top_pods(self) -> None: ...

    @blocking(aio.Client.top_nodes)
    def top_nodes(self) -> None: ...

    def _check_open(self) -> None:
        if self._held.ended:
            self._inner._check_not_ended()
            raise ClosedError("this client is closed: create another one with dynkube.sync.connect(...)")

    def _start(self, function: Callable[[], Awaitable[None]]) -> None:
        self._check_open()
        self._held.start(function)

    def _forget(self, informer: Informer) -> None:
        self._informers.pop(informer, None)


async def _load_discovery(inner: aio.Client) -> None:
    """Read discovery in advance, as every verb needs it.

    A verb that is called meanwhile waits for the same request.
    """
    with suppress(DynkubeError):  # the first verb that needs discovery raises the error
        await inner.mapper.load()


class Mapper(MapperFacade):
    """The REST mapper: resolves resource names by discovery.

    Discovery is loaded on first use, and again if a name is not found or after :meth:`invalidate`.
    """

    __slots__ = ()

    @blocking(DeferredRESTMapper.load)
    def load(self) -> None: ...

    @blocking(DeferredRESTMapper.resolve)
    def resolve(self) -> None: ...


@arguments_of(connect_async)
def connect(inner: aio.Client) -> Client:
    """Return an open client for one cluster: ``k = dynkube.sync.connect()``.

    Without arguments it uses the cluster that kubectl would use or, inside a pod, the cluster of the pod. The client
    stays open until :meth:`Client.close`, the end of a ``with`` block around it, or the end of the process.
    """
    __tracebackhide__ = True
    return Client(inner, PROCESS.thread())
