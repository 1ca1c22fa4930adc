"""``Client``: all layers for one cluster.

Every task and connection is owned by one ``async with`` block.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import trio

from dynkube._bound import Bound
from dynkube._guard import repr_of
from dynkube._nursery import OwnedNursery
from dynkube.client import FieldSelectorLike, ResourceClient
from dynkube.client._client import APIClient
from dynkube.client._shortcuts import Shortcuts
from dynkube.config import ClientConfig
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient, ResourceLike, ServerVersion
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers import (
    Consistency,
    Filter,
    IndexFunc,
    Informer,
    InformerSettings,
    InformerStatuses,
    Namespaces,
    Predicate,
    Selector,
    Transform,
    drop_managed_fields,
)
from dynkube.informers._factory import InformerFactory
from dynkube.informers._settings import InjectedSettings
from dynkube.inspection._verbs import InspectionVerbs
from dynkube.manifests._verbs import ManifestVerbs
from dynkube.meta import GVK, GVR, HashShard
from dynkube.meta._arguments import brief
from dynkube.meta._gvr import check_resource
from dynkube.pods import MergedLogs, Pod
from dynkube.pods._logs.merged import open_merged
from dynkube.pods._logs.options import LogOptions, Since
from dynkube.pods._logs.selection import Names, PodQuery, PodSelector
from dynkube.rest import Limits, RESTStatistics
from dynkube.rest._client import RESTClient
from dynkube.rest._suspension import notice_suspension
from dynkube.telemetry import Observer, Observers
from dynkube.workloads._verbs import WorkloadVerbs

if TYPE_CHECKING:
    import httpx2


class Client(Bound, Shortcuts, ManifestVerbs, WorkloadVerbs, InspectionVerbs):
    """A client for one cluster: verbs, informers, manifests, workloads.

    Created by :func:`dynkube.connect`. Enter it (``async with``) before use. All its tasks run in its own
    nursery; after the block no task, socket or thread is left. It belongs to the trio run that entered it; only
    the reads of informers may be called from other threads.
    """

    def __init__(
        self,
        configure: Callable[[], ClientConfig],
        *,
        blocking: bool = False,
        field_manager: str = "dynkube",
        transport: httpx2.AsyncBaseTransport | None = None,
        http2: bool = False,
        compression: bool = False,
        settings: InformerSettings | None = None,
        limits: Limits | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        self._configure = configure
        self._blocking = blocking
        self._field_manager = field_manager
        self._transport = transport
        self._http2 = http2
        self._compression = compression
        self._settings = InjectedSettings.of(settings or InformerSettings())
        self._limits = limits
        self._observers = Observers(observers)
        self._stack = AsyncExitStack()
        self._running: _Running | None = None
        self._entered = False
        self._left_with: BaseException | None = None
        self._ended_by: BaseException | None = None  # exception of one of its own tasks

    async def __aenter__(self) -> Self:
        """Load the configuration and start. Sends no request to the cluster.

        Raises:
            ConfigError: no usable configuration; the message names file, field and fix.
            ClosedError: it was entered before.
            InvalidInput: not in a trio run, but in another event loop, such as that of a notebook.
        """
        if not trio.lowlevel.in_trio_run():
            raise InvalidInput(
                "this client requires trio, but no trio event loop is running: run it with "
                "trio.run(main), or use dynkube.sync.connect(), which works without an event loop"
                if not _in_asyncio()
                else "this client requires trio, and the event loop is asyncio's: use dynkube.aio.connect(), which has "
                "the same methods"
            )
        if self._entered:
            raise ClosedError("this client was entered before; create a new one with dynkube.connect(...)")
        self._entered = True
        async with AsyncExitStack() as stack:
            # Kubeconfig files are small, but importing what reads them takes a second.
            config = await trio.to_thread.run_sync(self._configure) if self._blocking else self._configure()
            rest = self._rest_client(config)
            await stack.enter_async_context(rest)
            separate: set[RESTClient] = set()
            stack.push_async_callback(_close_all, separate)
            stack.push(partial(self._tasks_ended, rest))
            nursery = await stack.enter_async_context(OwnedNursery())
            nursery.start_soon(notice_suspension, self._settings.suspended, partial(_after_sleep, rest, separate))
            discovery = DiscoveryClient(rest)
            mapper = DeferredRESTMapper(discovery)
            factory = InformerFactory(
                rest,
                discovery,
                mapper,
                nursery,
                self._settings,
                namespace=config.namespace,
                observers=self._observers,
            )
            api = APIClient(
                rest,
                mapper,
                namespace=config.namespace,
                field_manager=self._field_manager,
                definition=factory.definition,
            )
            self._running = _Running(config, api, factory, separate)
            self._stack = stack.pop_all()
        for hook in self._observers.client_opened:
            hook(self)
        return self

    def _rest_client(self, config: ClientConfig) -> RESTClient:
        return RESTClient(
            config,
            transport=self._transport,
            http2=self._http2,
            compression=self._compression,
            limits=self._limits,
            observers=self._observers,
        )

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._running = None
        self._left_with = exc
        try:
            return await self._stack.__aexit__(exc_type, exc, traceback)
        finally:
            for hook in self._observers.client_closed:
                hook(self)

    def _tasks_ended(
        self,
        rest: RESTClient,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Record an exception from a task in the nursery, unless it is the one raised by the block."""
        if exc is not None and exc is not self._left_with and isinstance(exc, Exception):
            self._ended_by = exc
            rest.ends_by(exc)

    def _check_not_ended(self) -> None:
        """Raise if the client was ended by a failed task rather than closed.

        Raises:
            ClosedError: one of its tasks failed, as with a handler with ``on_error="cancel"``; ``__cause__`` has the
                error.
        """
        if self._ended_by is not None:
            raise ClosedError(
                f"the client was closed by an error ({repr_of(self._ended_by)}): connect again"
            ) from self._ended_by

    @property
    def _now(self) -> _Running:
        if self._running is None and self._entered:
            self._check_not_ended()
            raise ClosedError("the client is closed, or its with block was exited: connect again")
        if self._running is None:
            raise ClosedError(
                "the client is not open: use it inside 'async with dynkube.connect() as client:', or use "
                "dynkube.sync.connect() in synchronous code, dynkube.aio.connect() under asyncio"
            )
        return self._running

    # ── connection ───────────────────────────────────────────────────────────────────────────

    @property
    def config(self) -> ClientConfig:
        """The configuration in use: cluster address, credentials, namespace."""
        return self._now.config

    @property
    def namespace(self) -> str:
        """The context's namespace: the default for verbs on single objects."""
        return self._now.config.namespace

    @property
    def _api(self) -> APIClient:
        return self._now.api

    @property
    def mapper(self) -> DeferredRESTMapper:
        """The REST mapper, which resolves names to resources."""
        return self._now.api.mapper

    async def server_version(self, *, timeout: float | None = None) -> ServerVersion:
        """Request the server's version.

        Args:
            timeout: seconds for the request; ``None`` means the client's default.

        Returns:
            The version and build information; ``str()`` of it is like ``"v1.34.1"``.

        Raises:
            InvalidInput: ``timeout`` is not a positive number.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await self._now.api.server_version(timeout=timeout)

    # ── resources ────────────────────────────────────────────────────────────────────────────

    def resource(self, resource: ResourceLike) -> ResourceClient:
        """Return the verbs of a resource.

        Does no I/O: an unknown resource is an error when a verb is called.

        Args:
            resource: a name as kubectl takes it (``"deploy"``, ``"Deployment"``, ``"deployments.apps"``,
                ``"deployments.v1.apps"``), a :class:`~dynkube.GVR`, a :class:`~dynkube.GVK`, or an entry of
                :meth:`api_resources`.

        Raises:
            InvalidInput: the string cannot be the name of a resource.
            ClosedError: the client is not open.
        """
        return self._now.api.resource(resource)

    def pod(self, name: str, *, namespace: str | None = None) -> Pod:
        """Return a handle of a pod.

        ::

            pod = client.pod("web-1")
            pod = client.pod("deploy/web")                      # one of its pods, as with kubectl

        Does no I/O: a pod that does not exist is an error when a method of the handle is called. So is a workload that
        does not exist or has no pod, which requires the permissions to get it and to list pods.

        Args:
            name: the pod's name, or ``"KIND/NAME"`` of a Deployment, StatefulSet, DaemonSet, ReplicaSet,
                ReplicationController, Job or Service. Of its pods the same is chosen as by ``kubectl exec``: one that
                runs, is ready, and has been so for longest.
            namespace: the pod's namespace; ``None`` means the context's.

        Raises:
            InvalidInput: ``name`` or ``namespace`` cannot be that of a pod.
            ClosedError: the client is not open.
        """
        return Pod(self._now.api, name, namespace)

    def logs(
        self,
        selector: PodSelector = None,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        field_selector: FieldSelectorLike = None,
        names: Names = None,
        containers: Names = None,
        follow: bool = True,
        previous: bool = False,
        since: Since = None,
        tail: int | None = None,
        timestamps: bool = False,
        max_streams: int = 500,
    ) -> AbstractAsyncContextManager[MergedLogs]:
        """Read the logs of many pods as one stream, while pods come and go.

        ::

            async with client.logs("app=web") as lines:         # or "deploy/web", or an object that owns pods
                async for line in lines:
                    print(line.pod, line.container, line)

        The lines of each container are in order, and each comes once, also over lost connections and restarts, as with
        :meth:`Pod.logs <dynkube.Pod.logs>`. The logs of pods that come later are read from their beginning. A slow
        consumer slows the streams down. Requires the permissions to ``list`` and ``watch`` pods, and to ``get`` pods
        and pods/log; with an owner, also to ``get`` the objects between it and its pods.

        Args:
            selector: the labels of the pods, in any form of :class:`~dynkube.LabelSelector`; or ``"KIND/NAME"`` of an
                object that has them, or such an object as it was read. A workload or Service has those that it selects,
                as with kubectl; a custom resource has those that it owns by ownerReferences, directly or through other
                objects. ``None`` for all pods.
            namespace: the namespace; ``None`` means the context's.
            all_namespaces: all namespaces instead.
            field_selector: restrict the pods by fields, such as ``"spec.nodeName=worker"``.
            names: a regular expression that is searched in the names of pods.
            containers: a regular expression that is searched in the names of containers; init and ephemeral containers
                are included.
            follow: go on until the block is left; otherwise the stream ends when all that was written so far is read.
            previous: read the runs before the current ones; not with ``follow``.
            since: begin with lines not older than so many seconds, or than a time.
            tail: begin with the last ``tail`` lines of each container that runs already; 0 for new ones only.
            timestamps: give each line its timestamp.
            max_streams: how many logs are read at once, each on a connection of its own. Further containers wait until
                another one has ended; ``lines.waiting`` is their number.

        Returns:
            A context manager. Entering it requests the owner and lists the pods; leaving it closes all requests.

        Raises:
            InvalidInput: an argument is invalid.
            NotFound: on entering: there is no such owner.
            NoMatch: on entering: the server has no such kind.
            Forbidden: a permission is missing. This and the following are raised on entering, or while iterating.
            DynkubeError: any other failure that concerns all pods. That of a single container is logged, and in
                ``lines.containers``.
        """
        api = self._now.api
        if all_namespaces and namespace is not None:
            raise InvalidInput("namespace and all_namespaces exclude each other: pass one of them")
        where = None if all_namespaces else api.namespace if namespace is None else namespace
        query = PodQuery.parse(selector, field_selector, namespace=where, names=names, containers=containers)
        options = LogOptions(follow=follow, previous=previous, since=since, tail=tail, timestamps=timestamps)
        given: object = max_streams  # callers are not always type-checked
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise InvalidInput(f"max_streams must be an integer >= 1, not {brief(given)}")
        return open_merged(api, query, options, max_streams=max_streams)

    def informer(
        self,
        resource: str | GVR | GVK | APIResource,
        *,
        namespace: str | None = None,
        namespaces: Namespaces | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        shard: HashShard | None = None,
        filter: Filter | Predicate | None = None,  # noqa: A002  # the term users know
        transform: Transform | None = drop_managed_fields,
        indexes: Mapping[str, str | IndexFunc] | None = None,
        page_size: int | None = None,
        consistency: Consistency | None = None,
        streaming_lists: bool | None = None,
        compact: bool | None = None,
        metadata_only: bool = False,
    ) -> Informer:
        """Return an informer: a local cache of a collection, kept up to date by a watch.

        Does no I/O; use it with ``async with``. The resource need not exist: while no CRD defines it, the cache is
        empty. When a CRD appears, the informer lists and watches its objects and calls handlers for them; when the CRD
        is deleted, handlers get the deletions. Informers whose arguments are equal except for ``filter`` and
        ``indexes`` share one watch.

        Args:
            resource: preferably RESOURCE.VERSION.GROUP (``"httproutes.v1.gateway.networking.k8s.io"``), which need not
                be served yet. RESOURCE.GROUP, the name of a CRD (``"httproutes.gateway.networking.k8s.io"``), follows
                the version that the server prefers: if that changes, all objects are listed in the new version, and
                handlers get updates. A :class:`~dynkube.GVR` with an empty version does the same. Short forms
                (``"deploy"``) are resolved when the informer is entered, and must be served then.
            namespace: ``None`` means all namespaces.
            namespaces: several namespaces instead, for users who may not list the resource in all: names, a
                :class:`~dynkube.NamespaceSet` of names that change, or labels (a dict or a
                :class:`~dynkube.LabelSelector`), which requires the right to list namespaces. Each is listed and
                watched by itself, and need not exist. Where the user may not list the resource there are no objects;
                rights are reviewed every ``InformerSettings.access_interval`` seconds, and objects come and go with
                them. See :attr:`Informer.namespaces` for the status of each.
            label_selector: objects to receive, by labels; evaluated by the server, cannot be changed.
            field_selector: the same, by fields.
            shard: one of several equal parts of the objects, by a hash; cannot be changed. Servers before 1.36, and
                those whose feature gate ``ShardedListAndWatch`` is off, send all objects: only this part is stored.
            filter: received objects to show; evaluated locally, may be changed at any time.
            transform: applied to each object before it is stored; by default drops ``managedFields``. ``None``
                stores objects unchanged. Must not change name, namespace, uid or resourceVersion.
            indexes: index name to a function from object to index values, or to a JSONPath.
            page_size: objects per list request, as in kube-rs's ``watcher::Config``. This and the next three override
                the client's :class:`~dynkube.InformerSettings` for this informer; ``None`` keeps the client's.
            consistency: ``"any"`` or ``"most_recent"``: how recent a list must be.
            streaming_lists: receive the initial objects over the watch (KEP-3157); ``page_size`` and ``consistency``
                apply to lists only.
            compact: store objects compressed; see :class:`~dynkube.InformerSettings`.
            metadata_only: receive only apiVersion, kind and metadata of each object, like client-go's metadata informer
                (PartialObjectMetadata). A server that sends whole objects nevertheless is noticed, logged, and their
                rest is removed. See :attr:`~dynkube.Unstructured.metadata_only`.

        Raises:
            InvalidInput: an argument is invalid; the message names it and the fix.
            ConfigError: ``compact`` is set, and ``zstandard`` is not installed.
        """
        if isinstance(resource, APIResource):
            resource = resource.gvr
        check_resource(resource, version_optional=True)
        return Informer(
            lambda: self._now.informers,
            resource,
            namespace=namespace,
            namespaces=namespaces,
            label_selector=label_selector,
            field_selector=field_selector,
            shard=shard,
            filter=filter,
            transform=transform,
            indexes=indexes,
            page_size=page_size,
            consistency=consistency,
            streaming_lists=streaming_lists,
            compact=compact,
            metadata_only=metadata_only,
        )

    def _layers(self) -> tuple[APIClient, InformerFactory]:
        return self._now.api, self._now.informers

    @asynccontextmanager
    async def _separate_connections(self) -> AsyncIterator[APIClient]:
        """Open connections of their own, for requests that must not wait behind others, also not for discovery.

        They have the same configuration, credentials and limits; they are closed with the client, at the latest. An
        injected transport exists once, and is shared.

        Raises:
            ClosedError: the client is not open.
        """
        running = self._now
        if self._transport is not None:
            yield running.api
            return
        rest = self._rest_client(running.config)
        running.separate.add(rest)
        try:
            async with rest:
                yield APIClient(
                    rest,
                    DeferredRESTMapper(DiscoveryClient(rest)),
                    namespace=running.config.namespace,
                    field_manager=self._field_manager,
                )
        finally:
            running.separate.discard(rest)

    # ── status ───────────────────────────────────────────────────────────────────────────────

    def informers(self) -> InformerStatuses:
        """Return the status of all running informers.

        Each entry has state, since when and why, objects, lag, backlog, restarts and last error. Informers that share a
        watch are one entry. Does not block, may be called from any thread; ``print()`` of the result is a table.
        """
        return self._now.informers.statuses()

    def statistics(self) -> RESTStatistics:
        """Return counters of the client's requests.

        They count requests by verb and code, retries, throttled requests, and those in flight.

        Does not block, may be called from any thread. Discovery has its own counters: ``client.mapper.statistics()``.
        """
        return self._now.api.rest.statistics()

    def __repr__(self) -> str:
        if self._running is None:
            return "<Client, closed>" if self._entered else "<Client, not open>"
        return f"<Client of {self._running.config.server}, namespace {self.namespace!r}>"


def _in_asyncio() -> bool:
    """Return whether an asyncio loop is running in this thread; without importing asyncio, which is large."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


async def _after_sleep(rest: RESTClient, separate: Iterable[RESTClient], seconds: float) -> None:
    for each in (rest, *separate):
        await each.renew_connections(f"the machine was suspended for {seconds:.0f} s")


async def _close_all(clients: Iterable[RESTClient]) -> None:
    for client in tuple(clients):
        await client.aclose()


class _Running:
    """The components of an open client."""

    __slots__ = ("api", "config", "informers", "separate")

    def __init__(
        self, config: ClientConfig, api: APIClient, informers: InformerFactory, separate: set[RESTClient]
    ) -> None:
        self.config = config
        self.api = api
        self.informers = informers
        self.separate = separate  # clients with connections of their own
