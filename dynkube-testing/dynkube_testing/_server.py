"""The embedded API server: engine, HTTP layer, and the lifetime of both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from math import inf
from random import Random
from types import TracebackType
from typing import Self

import httpx2
import trio

from dynkube.errors import ClosedError, InvalidInput
from dynkube.meta import GVR, GroupVersion
from dynkube_testing._access.access import Access
from dynkube_testing._access.authentication import as_user, check_users
from dynkube_testing._access.inflight_limits import InflightLimit
from dynkube_testing._asgi import ASGIApp
from dynkube_testing._calls.users import User
from dynkube_testing._containers.containers import Containers
from dynkube_testing._engine import Engine
from dynkube_testing._engine_options import EngineOptions, ExpiredWatch
from dynkube_testing._fault_methods import FaultMethods
from dynkube_testing._faults.faults import Faults
from dynkube_testing._grants import Rights
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._records import Records
from dynkube_testing._store.snapshots import Snapshot
from dynkube_testing._webhook_methods import WebhookMethods
from dynkube_testing._wire.app import App, Parts
from dynkube_testing._wire.audit import Audit
from dynkube_testing._wire.browser_guard import BrowserGuard
from dynkube_testing._wire.connection_points import ConnectionPoints
from dynkube_testing._wire.discovery import Discovery
from dynkube_testing._wire.endpoint import PLACEHOLDER, Endpoint
from dynkube_testing._wire.nonresource import DEFAULT_VERSION, NonResources
from dynkube_testing._wire.openapi.answers import OpenAPI
from dynkube_testing._wire.resources import Resources
from dynkube_testing._wire.tcp import serve_tcp
from dynkube_testing._wire.transport import InProcessTransport
from dynkube_testing._wire.webhooks import WebhookCaller, WebhookTargets

_NOT_RUNNING = "the embedded API server is not running: use it inside 'async with APIServer() as server:'"


class APIServer(Rights, Records, FaultMethods, WebhookMethods):
    """In-process Kubernetes API server for tests, demos and notebooks.

    All resources share one sequence of resourceVersions, so a watch started from a list's resourceVersion misses no
    change. The server runs on trio's clock, so tests with ``trio.testing.MockClock`` do not wait in real time::

        async with APIServer() as server:
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
                print((await client.get("/api/v1/configmaps")).json())

    A server can be entered (``async with``) only once. HTTP requests are served only inside the block; leaving it
    closes every open response. The direct methods (``create``, ``list``, ...) also work before it. An exception raised
    inside the block propagates as it is, not wrapped in an exception group.

    Args:
        aggregated_discovery: Whether ``/api`` and ``/apis`` offer aggregated discovery; ``False`` imitates servers
            before 1.27 and proxies that drop the Accept header.
        watch_list: Whether watches may stream the initial objects (``sendInitialEvents``, KEP-3157); ``False``
            imitates servers that reject the parameter.
        bookmark_interval: Seconds between the bookmarks sent to an idle watch with ``allowWatchBookmarks``.
        establish_delay: Seconds from the creation of a CustomResourceDefinition to its condition Established;
            ``math.inf`` for never.
        expired_watch: How an expired resourceVersion is reported to a watch: ``"event"`` is an ERROR event, as current
            servers send it, ``"status"`` is HTTP 410.
        history: Number of past changes (of all resources together) from which a watch can still start.
        min_request_timeout: Minimum duration in seconds of a watch without ``timeoutSeconds``; the actual duration is
            random, up to twice as long.
        managed_fields: Whether creates and updates are recorded in ``metadata.managedFields`` (applies always are);
            ``False`` saves a third of the cost of an update.
        garbage_collection: Whether dependents are deleted after their owners (``metadata.ownerReferences``), as in a
            cluster. With ``False``, as with a kube-apiserver alone, they stay, and foreground deletion never completes.
        compaction_interval: Seconds between compactions. Each one discards the revisions before the previous
            compaction; lists and watches from these get 410. Default: never; clusters use 300.
        event_ttl: Seconds from the last write to an Event until it is removed.
        version: The version reported by ``/version``; default: the release whose built-in types the server has.
        token: Bearer token of the cluster administrator.
        users: Users by bearer token. With neither ``token`` nor ``users``, requests need no token and are made as the
            administrator (or as the user given to :meth:`transport`).
        rbac: Whether requests are authorized by the stored roles and bindings, including the default roles of a
            cluster; otherwise every request is allowed. :meth:`grant` is a shortcut to create a role and a binding.
        max_inflight: Maximum number of concurrent requests; further ones get 429. A watch counts only until it is open;
            health probes do not count. Default: no limit.
        audit_limit: How many requests are kept in :attr:`audit`.
        now: Wall clock for timestamps in objects. Large requests over TCP call it in a worker thread.
        random: Source of UIDs, generated names and timeout jitter; pass a seeded one for reproducible runs.

    Raises:
        InvalidInput: An option is out of range; the message names it.
    """

    #: Base URL for clients that use :meth:`transport`. The name does not resolve; no network is involved.
    url = "http://embedded.invalid"

    def __init__(
        self,
        *,
        aggregated_discovery: bool = True,
        watch_list: bool = True,
        bookmark_interval: float = 60.0,
        establish_delay: float = 0.0,
        expired_watch: ExpiredWatch = "event",
        history: int = 100_000,
        min_request_timeout: float = 1800.0,
        managed_fields: bool = True,
        garbage_collection: bool = True,
        compaction_interval: float = inf,
        event_ttl: float = 3600.0,
        version: str = DEFAULT_VERSION,
        token: str | None = None,
        users: Mapping[str, User] | None = None,
        rbac: bool = False,
        max_inflight: int | None = None,
        audit_limit: int = 10_000,
        now: Callable[[], datetime] | None = None,
        random: Random | None = None,
    ) -> None:
        options = EngineOptions(
            watch_list=watch_list,
            bookmark_interval=bookmark_interval,
            establish_delay=establish_delay,
            expired_watch=expired_watch,
            history=history,
            min_request_timeout=min_request_timeout,
            managed_fields=managed_fields,
            garbage_collection=garbage_collection,
            compaction_interval=compaction_interval,
            event_ttl=event_ttl,
        )
        if now is not None:
            options = replace(options, now=now)
        if random is not None:
            options = replace(options, random=random)
        engine = Engine(options)
        super().__init__(engine)
        engine.register(*builtin_kinds())
        self._audit = Audit(audit_limit)
        self._faults = Faults(options.random)
        self._connection_points = ConnectionPoints()
        self._discovery = Discovery(engine.registry)
        openapi = OpenAPI(self._discovery, version, options.now)
        self._webhook_targets = WebhookTargets()
        self._access = Access(engine, users=check_users(users or {}), token=token, rbac=rbac)
        self._parts = Parts(
            resources=Resources(engine, WebhookCaller(engine, self._webhook_targets)),
            others=NonResources(self._discovery, openapi, version=version, aggregated=aggregated_discovery),
            discovery=self._discovery,
            faults=self._faults,
            audit=self._audit,
            access=self._access,
            seats=InflightLimit(max_inflight),
        )
        self._token = token
        self._app = App(self._parts, self._access.authenticator(token))
        self._manager: AbstractAsyncContextManager[trio.Nursery, bool | None] | None = None
        self._nursery: trio.Nursery | None = None

    # ── lifetime ──────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        state = "running" if self._nursery is not None else "not entered" if self._manager is None else "closed"
        return f"<APIServer, {state}>"

    async def __aenter__(self) -> Self:
        if not trio.lowlevel.in_trio_run():
            raise InvalidInput("APIServer requires trio, but another event loop is running: use serve_in_thread()")
        if self._manager is not None:
            raise ClosedError("this APIServer was entered before; create a new one")
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self._nursery.start_soon(self._engine.run)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        assert self._manager is not None
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        self._nursery = None
        try:
            return bool(await self._manager.__aexit__(exc_type, exc, traceback))
        except BaseExceptionGroup as group:
            _, others = group.split(lambda leaf: leaf is exc or isinstance(leaf, trio.Cancelled))
            if exc is not None and others is None:
                return False  # propagate the block's own exception without the group
            raise

    def _running(self) -> trio.Nursery:
        if self._nursery is None:
            raise ClosedError(_NOT_RUNNING)
        return self._nursery

    def _spawn(self, task: Callable[[], Awaitable[None]], /) -> None:
        if self._nursery is None:
            raise httpx2.ConnectError(_NOT_RUNNING)
        self._connection_points.check()
        self._nursery.start_soon(task)

    # ── connecting clients ────────────────────────────────────────────────────────────────

    @property
    def app(self) -> ASGIApp:
        """The ASGI 3 application, for any ASGI server.

        It serves requests only inside ``async with`` of this server.
        """
        return self._app

    def transport(self, user: User | str | None = None) -> httpx2.AsyncBaseTransport:
        """Return a new in-process transport for one httpx2 client.

        Use it with the base URL :attr:`url`. Responses are streamed, virtual time works, and closing the response of a
        watch ends the watch before ``aclose()`` returns. Closing the transport closes its open responses.

        Args:
            user: The user of requests without a token: a :class:`User` or a user name. The name of a service account
                (``"system:serviceaccount:NAMESPACE:NAME"``) implies the groups of service accounts. Default: the
                administrator, unless the server has a token or users.
        """
        if user is None:
            return InProcessTransport(self._connection_points.inside(self._app), self._spawn)
        authenticator = self._access.authenticator(self._token).acting_as(as_user(user))
        return InProcessTransport(self._connection_points.inside(App(self._parts, authenticator)), self._spawn)

    @asynccontextmanager
    async def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: bool = False,
        token: str | None = None,
        accept_hosts: Sequence[str] = (),
    ) -> AsyncIterator[Endpoint]:
        """Listen on TCP inside the block, for kubectl, other clients and notebooks.

        May be used several times at once; all endpoints serve the same objects. Leaving the block closes the endpoint's
        connections. Do not use it with ``MockClock``: sockets do not follow virtual time.

        Without tokens, requests from web pages are blocked: those whose ``Host`` is neither loopback nor ``host`` nor
        in ``accept_hosts``, and cross-origin ones, get 403; writes of a browser without a Content-Type get 415.

        Args:
            host: Address to listen on. Anyone who can connect has full access, unless a token or users are set.
            port: ``0`` selects a free port.
            tls: Serve HTTPS with a certificate of a newly created CA (``Endpoint.ca_pem``).
            token: Bearer token for the endpoint's kubeconfig; default: the server's own. The token of a user
                authenticates as that user, any other one as the cluster administrator on this endpoint. kubectl sends
                tokens over HTTPS only, and requires one there: if the server has none, the kubeconfig has a
                placeholder, which the server ignores.
            accept_hosts: Additional ``Host`` values to accept when no token is needed: regular expressions (RE2) that
                match a whole host name, without the port.

        Raises:
            InvalidInput: The host, the port or one of ``accept_hosts`` is invalid.
            OSError: The address cannot be listened on.
            ClosedError: The APIServer is not entered.
        """
        token = self._token if token is None else token
        authenticator = self._access.authenticator(token)
        if tls and authenticator.default is not None:
            token = PLACEHOLDER
        app = App(self._parts, authenticator, BrowserGuard(host, accept_hosts))
        make_listener = self._connection_points.make_listener
        async with serve_tcp(
            app, self._running(), host=host, port=port, tls=tls, token=token, make_listener=make_listener
        ) as endpoint:
            yield endpoint

    @property
    def containers(self) -> Containers:
        """The containers of pods, for a test to play: their logs."""
        return self._engine.containers

    # ── aggregated APIs ───────────────────────────────────────────────────────────────────

    def register(self, *kinds: Kind) -> None:
        """Serve additional kinds without a CRD, as an aggregated API.

        Each new group-version gets an APIService that refers to a service, as if an aggregated API server had been
        installed. Deleting the APIService stops serving the group-version; creating one serves it again.
        """
        self._engine.aggregate(*kinds)

    def unregister(self, resource: str | GVR) -> None:
        """Stop serving a registered kind in one version.

        Requests to its paths get 404 and its watches end. The stored objects stay.

        Raises:
            NoMatch: The resource is not served.
        """
        self._engine.unregister(self.kind(resource))

    def set_available(self, group_version: str, available: bool) -> None:
        """Make an aggregated API unavailable, or available again.

        While it is unavailable, requests to its paths get 503, aggregated discovery reports it as ``Stale``, and its
        APIService has the condition ``Available=False``.

        Args:
            group_version: Like ``"metrics.k8s.io/v1beta1"``.
            available: Whether it is available from now on.
        """
        self._engine.set_available(GroupVersion.parse(group_version), available)

    # ── state ─────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> Snapshot:
        """Return the stored state as an immutable value.

        It can be restored later, in this or another server, or saved to a file. It is cheap: stored objects are
        immutable and shared with the server, not copied.
        """
        return Snapshot.of(self._engine.storage)

    def restore(self, snapshot: Snapshot | str | os.PathLike[str], *, rewind: bool = False) -> None:
        """Replace the whole state (objects, UIDs, resourceVersions, CRDs) by a snapshot.

        As after restoring an etcd, the older revisions are gone. Open watches end, and lists and watches from older
        resourceVersions get 410. New resourceVersions continue from the snapshot's or the server's current one,
        whichever is higher. So they never decrease, and no client waits for a resourceVersion that it has already seen.

        The initial namespaces, and with ``rbac`` the default roles, are created if they are missing.

        Args:
            snapshot: From :meth:`snapshot`, or the path of a file written by ``Snapshot.save``.
            rewind: Reset the resourceVersion to the snapshot's, like an etcd that was restored without
                ``--bump-revision``. Clients then remember resourceVersions that are higher than the current one. Lists
                and reads with such a resourceVersion get 504 "Too large resource version", watches send nothing until
                the server has passed it, and it is used again for another change.

        Raises:
            OSError: The file does not exist or cannot be read.
            InvalidInput: The file is not a saved snapshot.
        """
        self._engine.restore(snapshot if isinstance(snapshot, Snapshot) else Snapshot.read(snapshot), rewind=rewind)
        self._access.complete()

    @property
    def revision(self) -> int:
        """The resourceVersion of the latest change."""
        return self._engine.storage.revision
