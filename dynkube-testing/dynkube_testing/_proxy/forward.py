"""ASGI application that forwards requests to another server.

Responses are streamed. If the upstream cannot be reached or disconnects, the client's connection is closed too, so that
a truncated response never looks complete. Requests are sent by httpcore2, the transport of httpx2, which does not
decode bodies, follow redirects or add headers. Connections are not upgraded, so the upstream rejects ``exec``,
``attach`` and ``port-forward``.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from typing import cast

import httpcore2
import trio

from dynkube_testing._asgi import Receive, Scope, Send
from dynkube_testing._proxy.upstream import FAILURES, Upstream
from dynkube_testing._wire.endpoint import PLACEHOLDER
from dynkube_testing._wire.http import BodyTooLarge, ClientGone, read_body, send_chunk
from dynkube_testing._wire.layouts import JSON
from dynkube_testing._wire.refusals import answer_refusal, body_too_large

_logger = logging.getLogger("dynkube_testing.proxy")

# Several times the limit of kube-apiserver, so that the error for a body that is too large is that of kube-apiserver.
_MAX_BODY = 16 * 1024 * 1024

# Header fields that apply to a single connection; a proxy must not forward them (RFC 9110, 7.6.1).
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_PLACEHOLDER = f"Bearer {PLACEHOLDER}".encode()
_REPLACED = frozenset({b"host", b"content-length", b"expect"})

Fields = list[tuple[bytes, bytes]]


class Forward:
    """Forwards ``http`` requests to ``upstream``."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._reached = self._told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        If the response of the upstream is incomplete, this returns without completing the response, so that the ASGI
        server closes the connection.
        """
        try:
            body = await read_body(receive, _MAX_BODY)
        except ClientGone:
            return
        except BodyTooLarge:
            await answer_refusal(body_too_large(_MAX_BODY), JSON()).write(send)
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, receive, nursery.cancel_scope)
            await self._exchange(scope, body, send)
            nursery.cancel_scope.cancel()

    async def _exchange(self, scope: Scope, body: bytes, send: Send) -> None:
        query: bytes = scope["query_string"]
        target: bytes = scope["raw_path"] + (b"?" + query if query else b"")
        try:
            response = await self._upstream.send(
                scope["method"].encode("ascii"), target, self._forwarded_headers(scope, body), body
            )
            self._reached = True
            try:
                await _pass_back(response, send)
            finally:
                with trio.CancelScope(shield=True):
                    await response.aclose()
        except FAILURES as error:
            self._log_failure(error, scope)

    def _log_failure(self, error: Exception, scope: Scope) -> None:
        """Log a failure of the upstream.

        The first one is logged as a warning if the upstream was never reached: then the configuration is probably
        wrong, and clients see only a closed connection.
        """
        if not self._reached and not self._told and isinstance(error, httpcore2.ConnectError):
            self._told = True
            where = self._upstream.authority.decode("ascii")
            _logger.warning("the API server at %s cannot be reached: %s; check its address and ca_pem", where, error)
        else:
            _logger.info("%s %s: upstream: %r", scope["method"], scope["path"], error)

    def _forwarded_headers(self, scope: Scope, body: bytes) -> Fields:
        """Return the header fields of the forwarded request."""
        given = [field for field in scope["headers"] if not _is_placeholder(*field)]
        fields = [(b"host", self._upstream.authority), *_end_to_end(given, besides=_REPLACED)]
        if body or any(name.lower() in {b"content-length", b"transfer-encoding"} for name, _ in scope["headers"]):
            fields.append((b"content-length", b"%d" % len(body)))
        return fields


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    """Cancel ``scope`` when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _pass_back(response: httpcore2.Response, send: Send) -> None:
    """Forward the response to the client, each chunk as it arrives.

    Raises:
        Exception: One of :data:`FAILURES` if the response is incomplete.
    """
    fields = [(name.lower(), value) for name, value in _end_to_end(response.headers)]
    await send({"type": "http.response.start", "status": response.status, "headers": fields})
    await send_chunk(send, b"")  # send the headers now: the first event of a watch may come much later
    # The body of httpcore2's response is an async generator, which must be closed before the response.
    chunks = cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterable[bytes]", response.stream)))
    async with aclosing(chunks):
        async for chunk in chunks:
            await send_chunk(send, chunk)
    await send_chunk(send, b"", last=True)


def _is_placeholder(name: bytes, value: bytes) -> bool:
    return name.lower() == b"authorization" and value == _PLACEHOLDER


def _end_to_end(fields: Fields, *, besides: frozenset[bytes] = frozenset()) -> Fields:
    """Return ``fields`` without hop-by-hop fields and those named in ``besides``."""
    named = {
        option.strip().lower()
        for name, value in fields
        if name.lower() == b"connection"
        for option in value.split(b",")
    }
    left_out = _HOP_BY_HOP | besides | named
    return [(name, value) for name, value in fields if name.lower() not in left_out]
