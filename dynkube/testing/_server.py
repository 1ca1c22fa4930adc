"""The embedded API server: an engine, its wire, and the lifetime of both."""

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
from dynkube.testing._access.access import Access
from dynkube.testing._access.authentication import as_user, check_users
from dynkube.testing._access.seats import Seats
from dynkube.testing._asgi import ASGIApp
from dynkube.testing._calls.users import User
from dynkube.testing._engine import Engine
from dynkube.testing._engine_options import EngineOptions, ExpiredWatch
from dynkube.testing._faults.faults import Faults
from dynkube.testing._kinds.builtin import builtin_kinds
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._records import Records
from dynkube.testing._rights import Rights
from dynkube.testing._store.snapshots import Snapshot
from dynkube.testing._trouble import Trouble
from dynkube.testing._wire.app import App, Parts
from dynkube.testing._wire.audit import Audit
from dynkube.testing._wire.browser_guard import BrowserGuard
from dynkube.testing._wire.discovery import Discovery
from dynkube.testing._wire.endpoint import Endpoint
from dynkube.testing._wire.entrances import Entrances
from dynkube.testing._wire.nonresource import DEFAULT_VERSION, NonResources
from dynkube.testing._wire.openapi.answers import OpenAPI
from dynkube.testing._wire.resources import Resources
from dynkube.testing._wire.tcp import serve_tcp
from dynkube.testing._wire.transport import InProcessTransport

_NOT_RUNNING = "the embedded API server is not running: use it inside 'async with APIServer() as server:'"


class APIServer(Rights, Records, Trouble):
    """A Kubernetes API server in this process: for tests, demos and notebooks.

    It keeps one history of resourceVersions, so that a watch started where a list ended misses nothing, and it
    runs on trio's clock, so that tests with ``trio.testing.MockClock`` need no waiting::

        async with APIServer() as server:
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
                print((await client.get("/api/v1/configmaps")).json())

    Enter it once. The plain functions (``create``, ``list``, ...) work from the start; requests are answered between
    entering and leaving, and leaving ends every open answer. An exception raised inside the block comes out as
    it was raised, not inside an exception group.

    Args:
        aggregated_discovery: Whether ``/api`` and ``/apis`` offer the aggregated form; ``False`` imitates servers
            before 1.27 and proxies that drop the Accept header.
        watch_list: Whether watches may begin with the initial objects (``sendInitialEvents``, KEP-3157); ``False``
            imitates servers that refuse the parameter.
        bookmark_interval: Seconds between bookmarks of a quiet watch that asked for them.
        establish_delay: Seconds from the creation of a CustomResourceDefinition to its condition Established;
            ``math.inf`` for never.
        expired_watch: How a watch learns that its resourceVersion is gone: ``"event"`` by an ERROR event, as current
            servers tell it, or ``"status"`` by HTTP 410.
        history: How many of the latest changes can still be watched from.
        min_request_timeout: Least duration of a watch without ``timeoutSeconds``, in seconds; at most it lasts
            twice as long.
        managed_fields: Whether creates and updates are recorded in ``metadata.managedFields`` (applies always are);
            ``False`` saves a third of what an update costs, where nobody looks at them.
        garbage_collection: Whether dependents follow their owners by ``metadata.ownerReferences``, as in a cluster;
            ``False`` for a bare API server, where they stay and foreground deletion waits for ever.
        compaction_interval: Seconds between compactions of history: what was overwritten before the last but one
            cannot be listed or watched any more (410). By default never; clusters have 300.
        event_ttl: Seconds from the last write to an Event until it is removed.
        version: What ``/version`` says; by default the release whose built-in types the server has.
        token: Bearer token of the cluster's administrator.
        users: Who is who: users by their bearer tokens. Where there is neither a token nor a user, callers need none
            and are the administrator (:meth:`transport` can make them somebody else).
        rbac: Whether the stored roles and bindings decide who may do what, with the default roles of a cluster;
            otherwise everybody may do everything. :meth:`grant` is the short way to a role.
        max_inflight: How many requests are worked on at once before others get 429; watches count until they are
            open, probes never.
        audit_limit: How many requests are remembered in :attr:`audit`.
        now: The wall clock, for timestamps in objects. Large requests over TCP call it in another thread.
        random: Where UIDs, generated names and the spread of timeouts come from; seed one for equal runs.

    Raises:
        InvalidInput: An option is out of range; the message names it.
    """

    #: Base URL for clients that use :meth:`transport`. The name resolves nowhere; no network is involved.
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
        self._entrances = Entrances()
        self._discovery = Discovery(engine.registry)
        openapi = OpenAPI(self._discovery, version, options.now)
        self._access = Access(engine, users=check_users(users or {}), token=token, rbac=rbac)
        self._parts = Parts(
            resources=Resources(engine),
            others=NonResources(self._discovery, openapi, version=version, aggregated=aggregated_discovery),
            discovery=self._discovery,
            faults=self._faults,
            audit=self._audit,
            access=self._access,
            seats=Seats(max_inflight),
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
            raise InvalidInput(
                "APIServer is for programs and tests on trio, and another event loop runs here: "
                "serve_in_thread() serves one to everybody"
            )
        if self._manager is not None:
            raise ClosedError("this APIServer was entered before; make a new one for a new history")
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
                return False  # the block's own exception: let it out as it was raised
            raise

    def _running(self) -> trio.Nursery:
        if self._nursery is None:
            raise ClosedError(_NOT_RUNNING)
        return self._nursery

    def _spawn(self, task: Callable[[], Awaitable[None]], /) -> None:
        if self._nursery is None:
            raise httpx2.ConnectError(_NOT_RUNNING)
        self._entrances.check()
        self._nursery.start_soon(task)

    # ── how clients reach it ──────────────────────────────────────────────────────────────

    @property
    def app(self) -> ASGIApp:
        """The ASGI 3 application, for an ASGI server of your own. Works while the APIServer is entered."""
        return self._app

    def transport(self, user: User | str | None = None) -> httpx2.AsyncBaseTransport:
        """A new in-process connection pool for one httpx2 client; use it with the base URL :attr:`url`.

        Answers stream, virtual time works, and closing an answer ends its watch before ``aclose()`` returns.
        Closing the transport ends what was opened through it.

        Args:
            user: Whom requests without a token come from: a user, or the name of one
                (``"system:serviceaccount:NAMESPACE:NAME"`` is in the groups of service accounts).
        """
        if user is None:
            return InProcessTransport(self._entrances.inside(self._app), self._spawn)
        authenticator = self._access.authenticator(self._token).acting_as(as_user(user))
        return InProcessTransport(self._entrances.inside(App(self._parts, authenticator)), self._spawn)

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
        """Listen on TCP inside the block, for kubectl, other clients, notebooks. Needs the ``serve`` extra.

        May be used several times at once; all endpoints show the same objects. Leaving the block closes its
        connections. Do not use it under a clock that jumps: sockets are outside of virtual time.

        Where callers need no token, web pages are kept out: requests whose ``Host`` is neither loopback nor ``host``
        nor in ``accept_hosts``, and those of pages of another origin, get 403; writes without a Content-Type get 415.

        Args:
            host: Address to listen on. Everybody who reaches it may do everything, unless a token or users are set.
            port: ``0`` takes any free port.
            tls: Serve HTTPS with a certificate of a fresh authority (``Endpoint.ca_pem``).
            token: Bearer token for its kubeconfig; the server's own unless given. One of a user is that user, any
                other the cluster's administrator on this endpoint. kubectl sends tokens over HTTPS only.
            accept_hosts: Further hosts that requests may name where callers need no token: regular expressions (RE2),
                each for a whole name, without a port.

        Raises:
            ImportError: The ``serve`` extra is not installed.
            InvalidInput: The host or the port is not valid, or one of ``accept_hosts``.
            OSError: The address cannot be listened on.
            ClosedError: The APIServer is not entered.
        """
        token = self._token if token is None else token
        app = App(self._parts, self._access.authenticator(token), BrowserGuard(host, accept_hosts))
        door = self._entrances.door
        async with serve_tcp(app, self._running(), host=host, port=port, tls=tls, token=token, door=door) as endpoint:
            yield endpoint

    # ── what it serves ────────────────────────────────────────────────────────────────────

    def register(self, *kinds: Kind) -> None:
        """Serve more kinds that no CustomResourceDefinition defines, as an aggregated API.

        Each new group-version gets an APIService with a service, as the server behind it would have brought along.
        Deleting that APIService ends the API; creating one for the group-version brings it back.
        """
        self._engine.aggregate(*kinds)

    def unregister(self, resource: str | GVR) -> None:
        """Stop serving a registered kind in one version: its paths are 404 and its watches end. Objects stay.

        Raises:
            NoMatch: It is not served.
        """
        self._engine.unregister(self.kind(resource))

    def set_available(self, group_version: str, available: bool) -> None:
        """Put the server of an aggregated API out of order, or back: 503 on its paths, stale in discovery.

        Its APIService has the condition ``Available=False`` meanwhile.

        Args:
            group_version: Like ``"metrics.k8s.io/v1beta1"``.
            available: Whether it answers from now on.
        """
        self._engine.set_available(GroupVersion.parse(group_version), available)

    # ── state ─────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> Snapshot:
        """Everything this server holds, as an immutable value to restore later, here or elsewhere, or to save.

        It costs next to nothing: objects are shared with the server until they change.
        """
        return self._engine.snapshot()

    def restore(self, snapshot: Snapshot | str | os.PathLike[str], *, rewind: bool = False) -> None:
        """Hold exactly what ``snapshot`` has, and forget everything else: objects, UIDs, resourceVersions, CRDs.

        As after restoring an etcd, history begins here: open watches end, and lists and watches from older
        resourceVersions get 410. The count of resourceVersions goes on from the snapshot's, or from this server's own
        where that is higher already: it never goes back, so no client is left waiting for numbers it has seen.

        What every cluster has (initial namespaces, with ``rbac`` the default roles) is created where it is missing.

        Args:
            snapshot: From :meth:`snapshot`, or the path of a file written by ``Snapshot.save``.
            rewind: Let the count go back to the snapshot's, as an etcd does that was restored without
                ``--bump-revision``. Then lists and reads from resourceVersions that clients remember get 504 "Too large
                resource version", watches from there wait in silence for changes that are newer than that, and
                numbers that clients have seen come again for other changes.

        Raises:
            OSError: The file does not exist or cannot be read.
            InvalidInput: It is no saved state.
        """
        self._engine.restore(snapshot if isinstance(snapshot, Snapshot) else Snapshot.read(snapshot), rewind=rewind)
        self._access.complete()

    @property
    def revision(self) -> int:
        """The resourceVersion of the latest change."""
        return self._engine.revision
