"""Requests to resources: decode the body, call the engine, send the response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import trio

from dynkube.errors import APIError
from dynkube_testing._asgi import Receive, Send, wait_disconnect
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, Document, Undecodable, WatchStream
from dynkube_testing._calls.users import User
from dynkube_testing._engine import Engine
from dynkube_testing._store.documents import ListDocument, StoredDocument
from dynkube_testing._tables.catalog import printer_for
from dynkube_testing._tables.forms import Form, Include, Metadata, Objects, Table
from dynkube_testing._verbs.large_writes import LARGE, in_thread
from dynkube_testing._wire import bodies, refusals
from dynkube_testing._wire.compression import GzipSend
from dynkube_testing._wire.connect_options import CONNECTIONS, connect_options
from dynkube_testing._wire.duplicate_keys import repeated_fields, unknown_members
from dynkube_testing._wire.http import CHUNK, Answer, BodyTooLarge, HTTPRequest, read_body, send_chunk, start
from dynkube_testing._wire.layouts import JSON_TYPE, Layout
from dynkube_testing._wire.negotiate import WantedForm, accepts_gzip, check_streamed, negotiate, negotiate_error
from dynkube_testing._wire.routes import ResourcePath, asked_verb, route
from dynkube_testing._wire.sessions import SESSIONS, serve_session
from dynkube_testing._wire.warnings import warning_headers
from dynkube_testing._wire.webhooks import WebhookCaller

# Items that are encoded one by one (rows, YAML) are sent in groups, so that none of them blocks the loop for long.
_AT_ONCE = 16

_FEW_CAUSES = 100  # in an error response; more are encoded in a thread

_NO_BODY = {"get", "list", "watch"}
_WITH_OPTIONS = {"create", "update", "patch"}

_Respond = Callable[[Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Resources:
    """The resource API of one engine."""

    engine: Engine
    webhooks: WebhookCaller
    # Decoded, a body takes up to ten times its size. One large body at a time is decoded, handled and answered to;
    # clients that wait for that, or read their response slowly, have only bytes in memory.
    _large_bodies: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))

    async def serve(self, request: HTTPRequest, path: ResourcePath, user: User, receive: Receive, send: Send) -> None:
        """Handle one request of ``user`` to a resource.

        Raises:
            APIError: The error response to send; nothing has been sent yet.
            ClientGone: The client closed the connection before the request body was complete.
        """
        call = replace(
            route(path, asked_verb(request, path), self.engine.registry),
            params=request.params,
            content_type=request.content_type or JSON_TYPE,
            user=user,
            user_agent=request.headers.get("user-agent", ""),
        )
        custom = call.kind.crd_uid is not None
        if request.method == "HEAD" and not custom:
            # In a real server paths of built-in kinds are routed by method, and no route was registered for this one.
            raise refuse.method_not_allowed()
        if call.verb == "watch":
            await self._watch(call, negotiate(request, custom=custom), receive, send)
            return
        if call.subresource == "log":
            negotiate(request, custom=custom, tables=False)
            await self._log(call, receive, send)
            return
        if call.subresource in CONNECTIONS:
            await self.webhooks.admit_connection(call, connect_options(request, call))
        if call.subresource in SESSIONS and await serve_session(self.engine.connections, request, call, send):
            return
        # Resources that can only be created (reviews) or connected to have no table form.
        tables = "list" in call.kind.verbs and call.subresource in {"", "scale", "status"}
        wanted = negotiate(request, custom=custom, tables=tables)
        call, body = await _read_body(call, receive)
        threads = request.threads
        async with self._large_bodies if threads and _is_slow_to_decode(body) else nullcontext():
            call = await _with_body(call, body, threads=threads)
            respond = await self._response(call, wanted, negotiate_error(request), threads=threads)
        await respond(GzipSend(send) if accepts_gzip(request) else send)

    def _form(self, call: Call, wanted: WantedForm) -> Form:
        match wanted.conversion:
            case None:
                return Objects(call.kind)
            case "Table":
                printer = printer_for(call.kind, call.subresource)
                return Table(call.kind, printer, wanted.version, _include(call), self.engine.now)
            case conversion:
                return Metadata(call.kind, wanted.version, of_list=conversion == "PartialObjectMetadataList")

    async def _response(self, call: Call, wanted: WantedForm, errors: Layout, *, threads: bool) -> _Respond:
        """Handle ``call``, encode the result (an error by ``errors``), and return a function that sends it."""
        form, layout = self._form(call, wanted), wanted.layout
        try:
            result = await self.webhooks.handle(call, threads=threads)
        except APIError as error:
            refusing = partial(refusals.answer_refusal, error, errors)
            refusal = await in_thread(refusing) if threads and len(error.causes) > _FEW_CAUSES else refusing()
            warned = warning_headers((call.kind.warning, *call.warnings))
            return replace(refusal, headers=(*refusal.headers, *warned)).write
        document = result.document
        headers = warning_headers((call.kind.warning, *result.warnings))
        if isinstance(document, ListDocument):
            return partial(_write_list, document, form, layout, headers)
        encoding = partial(_encoded, document, form, layout)
        large = isinstance(document, StoredDocument) and document.version.size > LARGE
        body = await in_thread(encoding) if threads and large else encoding()
        return Answer(status=result.status, body=body, content_type=layout.content_type, headers=headers).write

    async def _log(self, call: Call, receive: Receive, send: Send) -> None:
        log = self.engine.connections.open_log(call)
        if log is None:
            await Answer(status=204, content_type="text/plain").write(send)
            return
        await start(send, 200, "text/plain")
        async with cancelled_when_client_goes(receive):
            await send_chunk(send, b"")  # the headers, before the first line
            while data := await log.receive():
                await send_chunk(send, data)
            await send_chunk(send, b"", last=True)

    async def _watch(self, call: Call, wanted: WantedForm, receive: Receive, send: Send) -> None:
        form = self._form(call, wanted)
        stream = await self.webhooks.open_watch(call)
        try:
            check_streamed(wanted)
            await start(send, 200, JSON_TYPE, warning_headers((call.kind.warning,)))
            complete = await _stream_events(stream, form, receive, send)
        finally:
            stream.close()
        if complete:
            await send_chunk(send, b"", last=True)


def _include(call: Call) -> Include:
    """Return the ``includeObject`` parameter: the content of rows besides cells.

    Raises:
        APIError: 400 for an invalid value.
    """
    match call.params.get("includeObject", ""):
        case "" | "Metadata":
            return "Metadata"
        case "None":
            return "None"
        case "Object":
            return "Object"
        case other:
            raise refuse.bad_request(
                f'Unable to convert to Table as requested: includeObject: Invalid value: "{other}": '
                "must be 'Metadata', 'Object', 'None', or empty"
            )


def _encoded(document: Document, form: Form, layout: Layout) -> bytes:
    """Return the encoded body of a response; ``b""`` if the document has none."""
    encoded = form.single(document)
    return layout.document(encoded) if encoded else b""


async def _write_list(
    document: ListDocument, form: Form, layout: Layout, headers: tuple[tuple[str, str], ...], send: Send
) -> None:
    """Encode and send a list.

    Long lists are sent in pieces, so that they do not block the event loop.

    The list is consistent even if objects change meanwhile, since stored versions are immutable.
    """
    items = (form.item(version) for version in document.versions)
    if isinstance(form, Metadata) and not document.versions:
        # The items of an empty metadata list are null (a nil slice in Go), unlike those of a list of whole objects.
        body = layout.document(msgspec.json.encode(form.head(document)))
        await Answer(body=body, content_type=layout.content_type, headers=headers).write(send)
        return
    groups = _groups(layout.items(form.head(document), form.list_key, items), plain=form.plain and layout.plain)
    group = next(groups)
    following = next(groups, None)
    if following is None:
        await Answer(body=group, content_type=layout.content_type, headers=headers).write(send)
        return
    await start(send, 200, layout.content_type, headers)
    while following is not None:
        await send_chunk(send, group)
        group, following = following, next(groups, None)
    await send_chunk(send, group, last=True)


def _groups(pieces: Iterator[bytes], *, plain: bool) -> Iterator[bytes]:
    """Join encoded pieces into chunks to send.

    A chunk has about :data:`CHUNK` bytes. Unless ``plain``, that is if the pieces are costly to encode, it also has at
    most :data:`_AT_ONCE` pieces.
    """
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= CHUNK or (not plain and len(parts) >= _AT_ONCE):
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


@asynccontextmanager
async def cancelled_when_client_goes(receive: Receive) -> AsyncGenerator[None]:
    """Cancel the block when the client closes its side."""
    async with trio.open_nursery() as nursery:

        async def wait() -> None:
            await wait_disconnect(receive)
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait)
        yield
        nursery.cancel_scope.cancel()


async def _stream_events(stream: WatchStream, form: Form, receive: Receive, send: Send) -> bool:
    """Send events until the server or the client ends the watch.

    Returns whether the server has ended it, so that the response must be completed.
    """
    async with cancelled_when_client_goes(receive):
        # An empty chunk makes the headers leave now: the client must see the watch open before its first event.
        await send_chunk(send, b"")
        async for events in stream:
            for group in _groups(map(form.event, events), plain=form.plain):
                await send_chunk(send, group)
        return True
    return False  # the client has closed its side


async def _read_body(call: Call, receive: Receive) -> tuple[Call, bytes]:
    """Return the call with its options, and the body."""
    if not _has_body(call):
        return call, b""
    try:
        data = await read_body(receive, bodies.MAX_BODY)
    except BodyTooLarge:
        raise refusals.body_too_large(bodies.MAX_BODY) from None
    # A real server checks the options before it decodes the body; creates and patches check the content type first.
    if call.verb in {"create", "patch"}:
        custom = call.kind.crd_uid is not None and not call.kind.subresource(call.subresource)
        bodies.check_media_type(call.verb, call.content_type, custom=custom)
    return call.with_options() if call.verb in _WITH_OPTIONS else call, data


def _has_body(call: Call) -> bool:
    subresource = call.kind.subresource(call.subresource)
    return call.verb not in _NO_BODY and not (subresource and subresource.connects)


async def _with_body(call: Call, data: bytes, *, threads: bool) -> Call:
    if not _has_body(call):
        return call
    subresource = call.kind.subresource(call.subresource)
    kind = subresource.gvk.kind if subresource else call.kind.kind
    custom = call.kind.crd_uid is not None and not subresource
    decoding = partial(_decoded, call, kind, data, custom=custom)
    body, repeated = await in_thread(decoding) if threads and _is_slow_to_decode(data) else decoding()
    return replace(call, size=len(data), body=body, repeated=repeated)


def _is_slow_to_decode(body: bytes) -> bool:
    """Return whether decoding may take long.

    This may be so for a large body, and for YAML with aliases, which can expand to a large object.
    """
    return len(body) > LARGE or (b"&" in body and b"*" in body)


def _decoded(call: Call, kind: str, data: bytes, *, custom: bool) -> tuple[object, tuple[str, ...]]:
    """Return the decoded body, and messages about duplicate and unknown fields.

    A malformed patch is returned as :class:`Undecodable` and not raised.
    """
    try:
        body = bodies.decode_body(call.verb, kind, call.content_type, data, custom=custom)
    except APIError as error:
        if call.verb != "patch":
            raise
        return Undecodable(error), ()
    if call.verb not in _WITH_OPTIONS:
        return body, ()
    return body, (*repeated_fields(call.content_type, data, body), *unknown_members(call.content_type, body))
