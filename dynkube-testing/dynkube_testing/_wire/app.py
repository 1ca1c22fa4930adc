"""The embedded server as an ASGI 3 application: checks, dispatch and errors."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import trio

from dynkube.errors import APIError
from dynkube.meta import GroupVersion
from dynkube_testing._access.access import Access
from dynkube_testing._access.authentication import Authenticator
from dynkube_testing._access.inflight_limits import InflightLimit, Seat
from dynkube_testing._asgi import Message, Receive, Scope, Send
from dynkube_testing._calls import refuse
from dynkube_testing._calls.users import User
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._faults.faults import Faults
from dynkube_testing._wire import refusals
from dynkube_testing._wire.audit import Audit, RequestRecord
from dynkube_testing._wire.browser_guard import BrowserGuard
from dynkube_testing._wire.discovery import Discovery
from dynkube_testing._wire.http import ClientGone, HTTPRequest
from dynkube_testing._wire.negotiate import negotiate_error
from dynkube_testing._wire.nonresource import NonResources
from dynkube_testing._wire.refusals import answer_refusal
from dynkube_testing._wire.requestinfo import attributes_of, facts_of
from dynkube_testing._wire.resources import Resources
from dynkube_testing._wire.routes import ResourcePath

_logger = logging.getLogger("dynkube_testing")

# First path segments that kube-apiserver serves without authentication (the role system:public-info-viewer).
_PUBLIC = {"healthz", "livez", "readyz", "version"}
# Exempt from the limit on concurrent requests, because probes must get a response even under overload.
_PROBES = {"healthz", "livez", "readyz"}
# Exempt because they last as long as the client wants.
_LONG_RUNNING = {"attach", "exec", "log", "portforward", "proxy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Request handlers and server-wide state, shared by all applications of a server.

    Attributes:
        resources: Handles requests to resources.
        others: Handles all other requests.
        discovery: Discovery documents, and the set of unavailable group-versions.
        faults: Faults injected by a test. They are applied before all checks and handlers.
        audit: Records every request.
        access: Authorization and impersonation.
        seats: Limit on concurrent requests.
    """

    resources: Resources
    others: NonResources
    discovery: Discovery
    faults: Faults
    audit: Audit
    access: Access
    seats: InflightLimit


class App:
    """ASGI 3 application for ``http`` and ``lifespan`` scopes.

    Requests are checked in the order of a real server: authentication, impersonation, the limit on concurrent requests,
    authorization, and only then whether the path exists.

    Args:
        parts: The request handlers and server-wide state.
        authenticator: Authenticates the sender of a request.
        guard: Rejects requests that web pages may have sent. It is used only if requests without credentials are
            accepted (the authenticator has a default user), because web pages have no token.
    """

    def __init__(self, parts: Parts, authenticator: Authenticator, guard: BrowserGuard | None = None) -> None:
        self._parts = parts
        self._authenticator = authenticator
        self._guard = guard if authenticator.default is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of an ASGI server."""
        match scope["type"]:
            case "http":
                await self._http(HTTPRequest.from_scope(scope), scope, receive, send)
            case "lifespan":
                await serve_lifespan(receive, send)
            case other:
                raise ValueError(f"the embedded API server supports HTTP, not {other!r}")

    async def _http(self, request: HTTPRequest, scope: Scope, receive: Receive, send: Send) -> None:
        facts = facts_of(request)
        exchange = Exchange(self._parts.audit, request, facts, receive, send)

        async def answer(passed: Scope, receive: Receive, send: Send) -> None:
            # An effect may have passed a changed scope, which must be parsed again.
            await self._answer(request if passed is scope else HTTPRequest.from_scope(passed), exchange, receive, send)

        try:
            await self._parts.faults.serve(facts, answer, scope, exchange.receive, exchange.send)
        except Exception as error:
            # A bug in this server. The client gets status 500, as from a real server; the error is logged and raised.
            _logger.exception("%s %s failed", request.method, request.path)
            if exchange.record.status is None:
                why = f"Internal error occurred: {type(error).__name__}: {error}"
                bug = refuse.plain(500, "InternalError", why)
                await answer_refusal(bug, negotiate_error(request)).write(exchange.send)
            raise
        finally:
            exchange.finish()

    async def _answer(self, request: HTTPRequest, exchange: Exchange, receive: Receive, send: Send) -> None:
        try:
            await self._serve(request, exchange, receive, send)
        except APIError as error:
            await answer_refusal(error, negotiate_error(request)).write(send)
        except ClientGone:
            pass  # the client has disconnected

    async def _serve(self, request: HTTPRequest, exchange: Exchange, receive: Receive, send: Send) -> None:
        if self._guard is not None:
            self._guard.check(request)
        parts, path = self._parts, ResourcePath.parse(request.segments)
        user = self._identify(request, exchange)
        probe = bool(request.segments) and request.segments[0] in _PROBES
        if not probe and exchange.record.subresource not in _LONG_RUNNING:
            exchange.seat = parts.seats.take()
        parts.access.authorize(attributes_of(request, user))
        if _group_version(request, path) in parts.discovery.unavailable:
            await refusals.unavailable().write(send)
        elif path is None:
            await (await parts.others.answer(request)).write(send)
        else:
            await parts.resources.serve(request, path, user, receive, send)

    def _identify(self, request: HTTPRequest, exchange: Exchange) -> User:
        """Return the authenticated user, or the user that they impersonate.

        Both are recorded.
        """
        public = bool(request.segments) and request.segments[0] in _PUBLIC
        sender = self._authenticator.identify(request.headers.get("authorization"), public=public)
        exchange.record.user = sender
        user = self._parts.access.acting_user(attributes_of(request, sender), request.fields)
        if user is not sender:
            exchange.record.user, exchange.record.impersonator = user, sender
        return user


def _group_version(request: HTTPRequest, path: ResourcePath | None) -> GroupVersion | None:
    """Return the group-version of a resource path or its discovery path.

    ``None`` for all other paths.
    """
    if path is not None:
        return path.gvr.group_version
    match request.segments:
        case ("apis", group, version):
            return GroupVersion(group, version)
        case ("api", version):
            return GroupVersion("", version)
    return None


class Exchange:
    """One request in progress, with its audit record and its seat.

    A seat counts the request towards the limit on concurrent requests.
    """

    def __init__(self, audit: Audit, request: HTTPRequest, facts: RequestFacts, receive: Receive, send: Send) -> None:
        self.record: RequestRecord = audit.received(request, facts)
        self.seat: Seat | None = None
        self._audit = audit
        self._body: list[bytes] = []
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        """Receive the next ASGI message from the client, and record the body."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._body.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._audit.received_body(self.record, b"".join(self._body))
        return message

    async def send(self, message: Message) -> None:
        """Send an ASGI message, and record the start and the end of the response."""
        if message["type"] == "http.response.start":
            message = self._started(message)
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self._audit.watch_ended(self.record)
        await self._send(message)

    def finish(self) -> None:
        """Record the end of the request, whichever side ended it, and release its seat."""
        self.record.finished = trio.current_time()
        self._audit.watch_ended(self.record)
        if self.seat is not None:
            self.seat.release()

    def _started(self, message: Message) -> Message:
        self.record.status = message["status"]
        if self.record.verb == "watch":
            if self.seat is not None:
                # As in a real server, a watch has a seat only until it is open, not while it waits for events.
                self.seat.release()
            if self.record.status == 200:
                self._audit.watch_began(self.record)
        audit_id = (b"audit-id", self.record.audit_id.encode("latin-1"))
        return {**message, "headers": [audit_id, *message["headers"]]}


async def serve_lifespan(receive: Receive, send: Send) -> None:
    """Respond to the lifespan messages of an ASGI server."""
    # Nothing is started or stopped here, because APIServer starts and stops the engine.
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
