"""``Client``: one cluster with all floors put together, everything it starts owned by one ``async with``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import trio

from dynkube._bound import Bound
from dynkube._guard import repr_of
from dynkube._nursery import OwnedNursery
from dynkube.client import APIClient, ResourceClient, ShortWays
from dynkube.config import ClientConfig
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient, ResourceLike, ServerVersion
from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers import (
    Consistency,
    Filter,
    IndexFunc,
    Informer,
    InformerFactory,
    InformerSettings,
    InformerStatuses,
    Predicate,
    Selector,
    Transform,
    drop_managed_fields,
)
from dynkube.manifests import ManifestVerbs
from dynkube.meta import GVK, GVR, check_resource
from dynkube.rest import Limits, RESTClient, RESTStatistics, notice_suspension
from dynkube.telemetry import Observer, Observers

if TYPE_CHECKING:
    import httpx2


class Client(Bound, ShortWays, ManifestVerbs):
    """One cluster: resources to read and write, informers to follow. Made by :func:`dynkube.connect`.

    Enter it (``async with``) before use. Everything it starts lives in a nursery of its own, and leaving
    it leaves no task, no socket and no thread. It belongs to the trio run that entered it; only an
    informer's reads may be called from other threads.
    """

    def __init__(
        self,
        configure: Callable[[], ClientConfig],
        *,
        blocking: bool = False,
        field_manager: str = "dynkube",
        transport: httpx2.AsyncBaseTransport | None = None,
        http2: bool = False,
        settings: InformerSettings | None = None,
        limits: Limits | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        self._configure = configure
        self._blocking = blocking
        self._field_manager = field_manager
        self._transport = transport
        self._http2 = http2
        self._settings = settings or InformerSettings()
        self._limits = limits
        self._observers = Observers(observers)
        self._stack = AsyncExitStack()
        self._running: _Running | None = None
        self._entered = False
        self._left_with: BaseException | None = None
        self._ended_by: BaseException | None = None  # what a task of its own raised

    async def __aenter__(self) -> Self:
        """Read the configuration and make ready. Does not talk to the cluster yet.

        Raises:
            ConfigError: there is no usable configuration; the message names file, field and fix.
            ClosedError: it was entered before.
            InvalidInput: there is no trio here: another event loop runs, as in a notebook's cell.
        """
        if not trio.lowlevel.in_trio_run():
            raise InvalidInput(
                "this client is for programs on trio, and another event loop runs here: start yours with "
                "trio.run(main), or take dynkube.sync.connect(), which needs no await and works everywhere"
            )
        if self._entered:
            raise ClosedError("this client was entered before; make another one with dynkube.connect(...)")
        self._entered = True
        async with AsyncExitStack() as stack:
            # Kubeconfig files are small, but importing what reads them takes a second.
            config = await trio.to_thread.run_sync(self._configure) if self._blocking else self._configure()
            rest = RESTClient(
                config, transport=self._transport, http2=self._http2, limits=self._limits, observers=self._observers
            )
            await stack.enter_async_context(rest)
            stack.push(partial(self._tasks_ended, rest))
            nursery = await stack.enter_async_context(OwnedNursery())
            nursery.start_soon(notice_suspension, self._settings.suspended, partial(_after_sleep, rest))
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
            self._running = _Running(config, api, factory)
            self._stack = stack.pop_all()
        for hook in self._observers.client_opened:
            hook(self)
        return self

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
        """What leaves the nursery is the block's, or else what a task has ended the client with."""
        if exc is not None and exc is not self._left_with and isinstance(exc, Exception):
            self._ended_by = exc
            rest.ends_by(exc)

    def _check_not_ended(self) -> None:
        """Say what has ended this client, where it was not closed.

        Raises:
            ClosedError: a task of its own failed, as a handler with ``on_error="cancel"`` does; that is its cause.
        """
        if self._ended_by is not None:
            raise ClosedError(
                f"the client has ended by itself ({repr_of(self._ended_by)}): connect again"
            ) from self._ended_by

    @property
    def _now(self) -> _Running:
        if self._running is None and self._entered:
            self._check_not_ended()
            raise ClosedError("the client is closed, or its block has been left: connect again")
        if self._running is None:
            raise ClosedError(
                "the client is not open: use it inside 'async with dynkube.connect() as client:', or take "
                "dynkube.sync.connect() for code without await"
            )
        return self._running

    # ── what it talks to ─────────────────────────────────────────────────────────────────────

    @property
    def config(self) -> ClientConfig:
        """Which cluster, and as whom."""
        return self._now.config

    @property
    def namespace(self) -> str:
        """The context's namespace: where single objects are looked for if a call names none."""
        return self._now.config.namespace

    @property
    def api(self) -> APIClient:
        """The verbs without informers, and requests of your own (``client.api.raw``)."""
        return self._now.api

    @property
    def mapper(self) -> DeferredRESTMapper:
        """What says which resource a name means."""
        return self._now.api.mapper

    async def server_version(self, *, timeout: float | None = None) -> ServerVersion:
        """The server's version, asked now.

        Args:
            timeout: seconds for the request; ``None`` means the client's default.

        Returns:
            All that the server tells of its build; ``str()`` of it is like ``"v1.34.1"``.

        Raises:
            InvalidInput: ``timeout`` is not a positive number.
            APIError: the server returned an error response.
            TransportError: no usable response.
            CredentialError: no credential could be obtained.
            ClosedError: the client is not open.
        """
        return await self._now.api.server_version(timeout=timeout)

    # ── what it does ─────────────────────────────────────────────────────────────────────────

    def resource(self, resource: ResourceLike) -> ResourceClient:
        """The verbs on a resource. A plain call: whether the server serves it shows when a verb is used.

        Args:
            resource: what kubectl takes (``"deploy"``, ``"Deployment"``, ``"deployments.apps"``,
                ``"deployments.v1.apps"``), or a :class:`~dynkube.GVR` or :class:`~dynkube.GVK`, or
                one of :meth:`api_resources`.

        Raises:
            InvalidInput: a text that cannot be the name of a resource.
            ClosedError: the client is not open.
        """
        return self._now.api.resource(resource)

    def informer(
        self,
        resource: str | GVR | GVK | APIResource,
        *,
        namespace: str | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        filter: Filter | Predicate | None = None,  # noqa: A002  # the word users know
        transform: Transform | None = drop_managed_fields,
        indexes: Mapping[str, str | IndexFunc] | None = None,
        page_size: int | None = None,
        consistency: Consistency | None = None,
        streaming_lists: bool | None = None,
    ) -> Informer:
        """A live, local copy of a collection, whether or not its resource exists yet.

        A plain call; enter what it returns. While no CRD defines the resource, reads are empty; when one
        appears the informer lists and follows the objects, and handlers hear of them; when it goes, of
        their deletion. Informers share one watch where all arguments but ``filter`` and ``indexes`` are equal.

        Args:
            resource: best RESOURCE.VERSION.GROUP (``"httproutes.v1.gateway.networking.k8s.io"``), which may
                be absent. Short forms (``"deploy"``) are looked up when the informer is entered, and must
                exist by then.
            namespace: ``None`` means all namespaces.
            label_selector: which objects to receive at all: decided by the server, fixed.
            field_selector: the same, by fields.
            filter: which of the received objects to show: decided here, may be changed at any time.
            transform: applied to each object before it is kept; by default drops ``managedFields``. ``None``
                keeps objects as they come. Must not change name, namespace, uid or resourceVersion.
            indexes: by name, a function from an object to the values it is found under, or a JSONPath.
            page_size: objects per list request, as kube-rs's ``watcher::Config``. This one and the next two are those
                of :class:`~dynkube.InformerSettings`, for this informer; ``None`` leaves them as the client has them.
            consistency: ``"any"`` or ``"most_recent"``: how recent its lists must be.
            streaming_lists: whether the initial objects come over the watch; the other two matter only for lists.

        Raises:
            InvalidInput: an argument cannot be right; the message names it and the fix.
        """
        if isinstance(resource, APIResource):
            resource = resource.gvr
        check_resource(resource)
        return Informer(
            lambda: self._now.informers,
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            transform=transform,
            indexes=indexes,
            page_size=page_size,
            consistency=consistency,
            streaming_lists=streaming_lists,
        )

    def _floors(self) -> tuple[APIClient, InformerFactory]:
        return self._now.api, self._now.informers

    # ── how it is doing ──────────────────────────────────────────────────────────────────────

    def informers(self) -> InformerStatuses:
        """Every informer that runs: its state, since when and why, objects, lag, backlog, restarts and last error.

        Informers that share a watch are one entry. A plain call, on any thread; ``print()`` of it is a table.
        """
        return self._now.informers.statuses()

    def statistics(self) -> RESTStatistics:
        """The client's requests in numbers: by verb and code, repeated, throttled, open.

        A plain call, on any thread. ``client.mapper.statistics()`` has what was asked of discovery.
        """
        return self._now.api.rest.statistics()

    def __repr__(self) -> str:
        if self._running is None:
            return "<Client, closed>" if self._entered else "<Client, not open>"
        return f"<Client of {self._running.config.server}, namespace {self.namespace!r}>"


async def _after_sleep(rest: RESTClient, seconds: float) -> None:
    await rest.renew_connections(f"the machine was suspended for {seconds:.0f} s")


class _Running:
    """The parts of a client that is open."""

    __slots__ = ("api", "config", "informers")

    def __init__(self, config: ClientConfig, api: APIClient, informers: InformerFactory) -> None:
        self.config = config
        self.api = api
        self.informers = informers
