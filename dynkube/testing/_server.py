"""The embedded API server: an engine, its wire, and the lifetime of both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from random import Random
from types import TracebackType
from typing import Self

import httpx2
import trio

from dynkube.errors import ClosedError, InvalidInput, NoMatch
from dynkube.meta import GVR, GroupVersion, ResourceArg
from dynkube.testing._access.access import Access
from dynkube.testing._access.attributes import PolicyRule
from dynkube.testing._access.authentication import as_user, check_users
from dynkube.testing._access.grants import check_verbs
from dynkube.testing._access.seats import Seats
from dynkube.testing._calls.users import User
from dynkube.testing._direct import DirectAccess
from dynkube.testing._engine import Engine, EngineOptions, ExpiredWatch
from dynkube.testing._faults import Fault
from dynkube.testing._kinds.builtin import builtin_kinds
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.snapshots import Snapshot
from dynkube.testing._store.watching import EndMode
from dynkube.testing._wire.app import App, Parts
from dynkube.testing._wire.audit import Audit, OpenWatch, RequestRecord, WatchCount
from dynkube.testing._wire.discovery import Discovery
from dynkube.testing._wire.http import ASGIApp
from dynkube.testing._wire.nonresource import DEFAULT_VERSION, NonResources
from dynkube.testing._wire.openapi.answers import OpenAPI
from dynkube.testing._wire.resources import Resources
from dynkube.testing._wire.tcp import Endpoint, serve_tcp
from dynkube.testing._wire.transport import InProcessTransport

_NOT_RUNNING = "the embedded API server is not running: use it inside 'async with APIServer() as server:'"


class APIServer(DirectAccess):
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
        version: What ``/version`` says; by default the release whose built-in types the server has.
        token: Bearer token of the cluster's administrator.
        users: Who is who: users by their bearer tokens. Where there is neither a token nor a user, callers need none
            and are the administrator (:meth:`transport` can make them somebody else).
        rbac: Whether the stored roles and bindings decide who may do what, with the default roles of a cluster;
            otherwise everybody may do everything. :meth:`grant` is the short way to a role.
        max_inflight: How many requests are worked on at once before others get 429; watches count until they are
            open, probes never.
        audit_limit: How many requests are remembered in :attr:`audit`.
        now: The wall clock, for timestamps in objects.
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
        )
        if now is not None:
            options = replace(options, now=now)
        if random is not None:
            options = replace(options, random=random)
        engine = Engine(options)
        super().__init__(engine)
        engine.register(*builtin_kinds())
        self._audit = Audit(audit_limit)
        self._discovery = Discovery(engine.registry)
        openapi = OpenAPI(self._discovery, version, options.now)
        self._access = Access(engine, users=check_users(users or {}), rbac=rbac)
        self._parts = Parts(
            resources=Resources(engine, self._audit),
            others=NonResources(self._discovery, openapi, version=version, aggregated=aggregated_discovery),
            discovery=self._discovery,
            faults=engine.faults,
            audit=self._audit,
            access=self._access,
            seats=Seats(max_inflight),
        )
        self._token = token
        self._app = App(self._parts, self._access.authenticator(token))
        self._manager: AbstractAsyncContextManager[trio.Nursery, bool | None] | None = None
        self._nursery: trio.Nursery | None = None

    # ── lifetime ──────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
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
            return InProcessTransport(self._app, self._spawn)
        authenticator = self._access.authenticator(self._token).acting_as(as_user(user))
        return InProcessTransport(App(self._parts, authenticator), self._spawn)

    @asynccontextmanager
    async def serve(
        self, *, host: str = "127.0.0.1", port: int = 0, tls: bool = False, token: str | None = None
    ) -> AsyncIterator[Endpoint]:
        """Listen on TCP inside the block, for kubectl, other clients, notebooks. Needs the ``serve`` extra.

        May be used several times at once; all endpoints show the same objects. Leaving the block closes its
        connections. Do not use it under a clock that jumps: sockets are outside of virtual time.

        Args:
            host: Address to listen on. Everybody who reaches it may do everything, unless a token or users are set.
            port: ``0`` takes any free port.
            tls: Serve HTTPS with a certificate of a fresh authority (``Endpoint.ca_pem``).
            token: Bearer token for its kubeconfig; the server's own unless given. One of a user is that user, any
                other the cluster's administrator on this endpoint.

        Raises:
            ImportError: The ``serve`` extra is not installed.
            InvalidInput: The host or the port is none.
            OSError: The address cannot be listened on.
            ClosedError: The APIServer is not entered.
        """
        token = self._token if token is None else token
        app = self._app if token == self._token else App(self._parts, self._access.authenticator(token))
        async with serve_tcp(app, self._running(), host=host, port=port, tls=tls, token=token) as endpoint:
            yield endpoint

    # ── who may do what ───────────────────────────────────────────────────────────────────

    def grant(
        self,
        user: str,
        *,
        verbs: Iterable[str],
        resource: str | GVR,
        namespace: str | None = None,
        names: Iterable[str] = (),
    ) -> None:
        """Let ``user`` do something from the next request on, by a role and a binding as an administrator writes them.

        Grants for one resource add up. Needs ``rbac=True``.

        Args:
            user: A user name, also of a service account (``"system:serviceaccount:NAMESPACE:NAME"``).
            verbs: Like ``["get", "list", "watch"]``, or ``["*"]``.
            resource: As kubectl names it (``"pods"``, ``"deployments.apps"``), with a subresource where it is about one
                (``"pods/log"``), a GVR, or ``"*"`` for all of every group.
            namespace: Where; ``None`` for everywhere.
            names: Only these objects; all unless given.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and named without its group.
            NotFound: There is no such namespace.
        """
        group, plural = self._granted(resource)
        rule = PolicyRule(check_verbs(verbs), (group,), (plural,), tuple(names))
        self._access.grants.grant(user, rule, namespace or "")

    def revoke(self, user: str, resource: str | GVR | None = None, namespace: str | None = None) -> int:
        """Take back what :meth:`grant` gave; how many roles went. Open watches go on, as in a real server.

        Args:
            user: From whom.
            resource: For which resource, as it was granted; all of them unless given.
            namespace: Where, as it was granted.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and named without its group.
        """
        group, plural = self._granted(resource) if resource is not None else ("", "")
        return self._access.grants.revoke(user, plural, group, namespace or "")

    def _granted(self, resource: str | GVR) -> tuple[str, str]:
        """Group and plural (with subresource) of what a grant is about."""
        if not self._access.rbac:
            raise InvalidInput("this server allows everybody everything; grants need APIServer(rbac=True)")
        if resource == "*":
            return "*", "*"
        base, slash, subresource = str(resource).partition("/") if isinstance(resource, str) else (resource, "", "")
        try:
            gvr = self.kind(base).gvr
        except NoMatch:
            # Rules may be about what is not served yet, as long as it is clear what they mean.
            arg = ResourceArg.parse(base) if isinstance(base, str) else ResourceArg(base.resource, None, base.group)
            if arg.group is None:
                raise
            return arg.group, f"{arg.name}{slash}{subresource}"
        return gvr.group, f"{gvr.resource}{slash}{subresource}"

    # ── what it has seen ──────────────────────────────────────────────────────────────────

    @property
    def audit(self) -> list[RequestRecord]:
        """Every request received so far, oldest first (the last ``audit_limit`` of them); a new list.

        Each says who asked for what, with which body, how it was answered and how long that took.
        """
        return self._audit.requests

    @property
    def requests(self) -> list[RequestRecord]:
        """The same as :attr:`audit`."""
        return self._audit.requests

    def forget_requests(self) -> None:
        """Empty :attr:`audit`, so that a test can look at one phase alone."""
        self._audit.forget_requests()

    @property
    def open_watches(self) -> tuple[OpenWatch, ...]:
        """The watches that are open now, oldest first: from their 200 until either side closed them."""
        return self._audit.open_watches

    @property
    def watch_counts(self) -> tuple[WatchCount, ...]:
        """How many watches each client has had on each resource, in all and at once, since the server began."""
        return self._audit.watch_counts

    async def wait_open_watches(self, count: int) -> None:
        """Return when exactly ``count`` watches are open. Waits without polling; put a timeout of yours around it."""
        await self._audit.wait_open_watches(count)

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

    # ── trouble ───────────────────────────────────────────────────────────────────────────

    def fail(
        self,
        *,
        status: int,
        verb: str | None = None,
        resource: str | GVR | None = None,
        path_prefix: str = "",
        retry_after: float | str | None = None,
        times: int | None = None,
        body: Mapping[str, object] | str | bytes | None = None,
        content_type: str | None = None,
    ) -> Fault:
        """Answer matching requests with ``status`` from now on; the plain functions here are not affected.

        Args:
            status: The HTTP status, 200 to 599.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for paths that are no resources).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; served or not.
            path_prefix: Only paths that begin so (``"/apis"`` for discovery).
            retry_after: The Retry-After header: seconds, or text as it is to be sent (an HTTP date).
            times: How often; ``None`` until the fault is removed.
            body: What to send: a mapping as JSON, text or bytes as they are; a fitting Status if not given.
            content_type: Of the body; JSON, or HTML for text, unless given.

        Returns:
            The fault: ``hits`` counts how often it struck, ``remove()`` ends it.

        Raises:
            InvalidInput: An argument is out of range.
        """
        return self._engine.faults.fail(
            status=status,
            verb=verb,
            resource=resource,
            path_prefix=path_prefix,
            retry_after=retry_after,
            times=times,
            body=body,
            content_type=content_type,
        )

    def end_watches(self, resource: str | GVR | None = None, how: EndMode = "clean") -> int:
        """End open watches from the server's side; how many there were.

        Args:
            resource: Only those of this resource (any version of it); all by default.
            how: ``"clean"`` ends the answer properly after the events so far; ``"cut"`` drops the connection;
                ``"silent"`` leaves it open and never sends anything again, bookmarks included.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: An argument is malformed.
        """
        return self._engine.end_watches(resource, how)

    def compact(self, revision: int | None = None) -> None:
        """Forget history up to ``revision`` (all by default): older watches and continue tokens get 410."""
        self._engine.compact(revision)

    # ── state ─────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> Snapshot:
        """Everything this server holds, as an immutable value to restore later, here or elsewhere, or to save.

        It costs next to nothing: objects are shared with the server until they change.
        """
        return self._engine.snapshot()

    def restore(self, snapshot: Snapshot | str | os.PathLike[str]) -> None:
        """Hold exactly what ``snapshot`` has, and forget everything else: objects, UIDs, resourceVersions, CRDs.

        As after restoring an etcd, history begins here: open watches end, and lists and watches from older
        resourceVersions get 410. The count of resourceVersions goes on from the snapshot's, or from this server's own
        where that is higher already: it never goes back, so no client is left waiting for numbers it has seen.

        Args:
            snapshot: From :meth:`snapshot`, or the path of a file written by ``Snapshot.save``.

        Raises:
            OSError: The file does not exist or cannot be read.
            InvalidInput: It is no saved state.
        """
        self._engine.restore(snapshot if isinstance(snapshot, Snapshot) else Snapshot.read(snapshot))

    @property
    def revision(self) -> int:
        """The resourceVersion of the latest change."""
        return self._engine.revision
