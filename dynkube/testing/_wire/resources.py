"""Requests to resources: decode, hand to the engine, write what comes back, whole or as a stream of events."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import trio

from dynkube.testing._access.reviews import answer_review, is_review
from dynkube.testing._calls.api import Call, StreamCut, WatchStream
from dynkube.testing._engine import Engine
from dynkube.testing._store.documents import ListDocument
from dynkube.testing._wire import bodies, refusals, yaml
from dynkube.testing._wire.audit import Audit, RequestRecord
from dynkube.testing._wire.http import (
    CHUNK,
    Answer,
    BodyTooLarge,
    HTTPRequest,
    Receive,
    Send,
    read_body,
    send_chunk,
    start,
)
from dynkube.testing._wire.negotiate import Form, negotiate
from dynkube.testing._wire.routes import ResourcePath, Target, asked_verb, route

# Lists of more objects than this are encoded while they are sent.
_LONG_LIST = 500

_NO_BODY = {"get", "list", "watch"}


@dataclass(frozen=True, slots=True)
class Resources:
    """The resource API of one engine."""

    engine: Engine
    audit: Audit

    async def serve(
        self, request: HTTPRequest, path: ResourcePath, record: RequestRecord, receive: Receive, send: Send
    ) -> None:
        """Answer one request to a resource.

        Raises:
            APIError: The request is refused; nothing was sent.
            ClientGone: The client closed the connection before its body was complete.
        """
        target = route(path, asked_verb(request, path), self.engine.registry)
        form = negotiate(request.headers.get("accept"))
        call = await _call(request, target, receive)
        if target.verb != "watch":
            await self._answer(call, form, send)
            return
        if form is not Form.JSON:
            raise refusals.not_acceptable([Form.JSON.value])
        await self._watch(call, record, receive, send)

    async def _answer(self, call: Call, form: Form, send: Send) -> None:
        if is_review(call.kind):
            await Answer(status=201, body=msgspec.json.encode(answer_review(call))).write(send)
            return
        result = self.engine.handle(call)
        document = result.document
        headers = _warning_headers((call.kind.warning, *result.warnings))
        if form is Form.JSON and isinstance(document, ListDocument) and len(document.versions) > _LONG_LIST:
            await _write_long_list(document, headers, send)
            return
        body = yaml.dump(document.data) if form is Form.YAML else document.json
        await Answer(status=result.status, body=body, content_type=form.value, headers=headers).write(send)

    async def _watch(self, call: Call, record: RequestRecord, receive: Receive, send: Send) -> None:
        stream = self.engine.open_watch(call)
        try:
            with self.audit.watching(record):
                await start(send, 200, Form.JSON.value, _warning_headers((call.kind.warning,)))
                complete = await _stream_events(stream, receive, send)
        finally:
            stream.close()
        if complete:
            await send_chunk(send, b"", last=True)


async def _write_long_list(document: ListDocument, headers: tuple[tuple[str, str], ...], send: Send) -> None:
    """Encode and send a list piece by piece: encoded at once, 20,000 objects would hold the loop for long.

    The list is one snapshot all the same, since stored versions never change.
    """
    await start(send, 200, Form.JSON.value, headers)
    parts = [replace(document, versions=()).json.removesuffix(b"]}")]
    size = 0
    for index, version in enumerate(document.versions):
        item = version.encode_item(document.kind)
        parts.append(b"," + item if index else item)
        size += len(item)
        if size >= CHUNK:
            await send_chunk(send, b"".join(parts))
            parts, size = [], 0
    await send_chunk(send, b"".join([*parts, b"]}"]), last=True)


async def _stream_events(stream: WatchStream, receive: Receive, send: Send) -> bool:
    """Send events until the server or the client ends the watch; whether the answer is to be ended properly."""
    complete = False
    async with trio.open_nursery() as nursery:

        async def notice_the_client_going() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        nursery.start_soon(notice_the_client_going)
        try:
            # An empty piece makes the headers leave now: a watch without events is open nevertheless.
            await send_chunk(send, b"")
            async for events in stream:
                await send_chunk(send, b"".join(event.line for event in events))
            complete = True
        except StreamCut:
            pass  # returning without the last piece is how ASGI says "connection lost"
        nursery.cancel_scope.cancel()
    return complete


async def _call(request: HTTPRequest, target: Target, receive: Receive) -> Call:
    body: object = None
    subresource = target.kind.subresource(target.subresource)
    if target.verb not in _NO_BODY and not (subresource and subresource.connects):
        try:
            data = await read_body(receive, bodies.MAX_BODY)
        except BodyTooLarge:
            raise refusals.body_too_large(bodies.MAX_BODY) from None
        expected = subresource.gvk.kind if subresource else target.kind.kind
        body = bodies.decode_body(target.verb, expected, request.content_type, data)
    return Call(
        verb=target.verb,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        params=request.params,
        body=body,
        content_type=request.content_type or bodies.JSON_TYPE,
        user=request.headers.get("impersonate-user", "system:admin"),
        user_agent=request.headers.get("user-agent", ""),
    )


def _warning_headers(warnings: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Warning headers as RFC 7234 has them and kubectl prints them; each text once."""
    texts = (" ".join(text.split()) for text in dict.fromkeys(warnings) if text)
    return tuple(("Warning", '299 - "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"') for text in texts)
