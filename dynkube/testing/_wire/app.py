"""The embedded server as an ASGI 3 application: who may ask, which part answers, how trouble is told."""

from __future__ import annotations

import hmac
import logging

from dynkube.errors import APIError
from dynkube.testing._faults import Faults
from dynkube.testing._wire import refusals
from dynkube.testing._wire.audit import Audit, RequestRecord
from dynkube.testing._wire.discovery import Discovery
from dynkube.testing._wire.http import Answer, ClientGone, HTTPRequest, Message, Receive, Scope, Send
from dynkube.testing._wire.negotiate import negotiate_error
from dynkube.testing._wire.nonresource import NonResources
from dynkube.testing._wire.refusals import answer_refusal
from dynkube.testing._wire.resources import Resources
from dynkube.testing._wire.routes import ResourcePath, asked_verb

_logger = logging.getLogger("dynkube.testing")

# What kube-apiserver shows to anybody (the system:public-info-viewer role).
_PUBLIC = {"healthz", "livez", "readyz", "version"}


class App:
    """ASGI 3: ``http`` and ``lifespan``.

    Args:
        resources: Answers requests to resources.
        others: Answers everything else.
        discovery: Knows which group-versions are out of order.
        faults: Answers in place of the parts above, where a test told it to.
        audit: Records every request.
        token: What callers have to bring as a bearer token; ``None`` lets everybody in.
    """

    def __init__(
        self,
        resources: Resources,
        others: NonResources,
        *,
        discovery: Discovery,
        faults: Faults,
        audit: Audit,
        token: str | None = None,
    ) -> None:
        self._resources = resources
        self._others = others
        self._discovery = discovery
        self._faults = faults
        self._audit = audit
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request, or the lifespan of an ASGI server."""
        match scope["type"]:
            case "http":
                await self._http(HTTPRequest.from_scope(scope), receive, send)
            case "lifespan":
                await serve_lifespan(receive, send)
            case other:
                raise ValueError(f"the embedded API server speaks HTTP, not {other!r}")

    async def _http(self, request: HTTPRequest, receive: Receive, send: Send) -> None:
        record = self._audit.received(request)

        async def noting_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        try:
            await self._serve(request, record, receive, noting_send)
        except APIError as error:
            await answer_refusal(error, negotiate_error(request)).write(noting_send)
        except ClientGone:
            pass  # nobody is left to answer
        except Exception as error:
            # A defect of this server. Clients get the 500 of a real one; whoever runs the server gets the error.
            _logger.exception("%s %s failed", request.method, request.path)
            if record.status is None:
                await answer_refusal(refusals.internal(error), negotiate_error(request)).write(noting_send)
            raise

    async def _serve(self, request: HTTPRequest, record: RequestRecord, receive: Receive, send: Send) -> None:
        path = ResourcePath.parse(request.segments)
        if path is not None:
            record.verb = asked_verb(request, path) or ""
            record.resource, record.namespace, record.name = path.gvr, path.namespace, path.name
        self._authenticate(request)
        fault = self._faults.take(verb=record.verb, resource=record.resource, path=request.path)
        if fault is not None:
            answer = Answer(
                status=fault.status, body=fault.body, content_type=fault.content_type, headers=fault.headers
            )
            await answer.write(send)
        elif path is None:
            await self._others.answer(request).write(send)
        elif path.gvr.group_version in self._discovery.unavailable:
            raise refusals.unavailable()
        else:
            await self._resources.serve(request, path, record, receive, send)

    def _authenticate(self, request: HTTPRequest) -> None:
        if self._token is None or (request.segments and request.segments[0] in _PUBLIC):
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token.encode()):
            raise refusals.unauthorized()


async def serve_lifespan(receive: Receive, send: Send) -> None:
    """Answer an ASGI server's lifespan messages."""
    # Nothing starts and nothing ends with a listener: the engine belongs to the APIServer.
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
