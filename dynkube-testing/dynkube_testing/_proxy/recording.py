"""Recording of the requests to a proxy."""

from __future__ import annotations

from typing import Self

import trio

from dynkube_testing._asgi import Message, Receive, Send
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._wire.audit import Audit, RequestRecord
from dynkube_testing._wire.http import HTTPRequest


class Recording:
    """Records one request and its response in ``audit``.

    The end of the ``with`` block is the end of the request.

    It must be outside of all faults, so that it records the response that the client receives.
    """

    def __init__(self, audit: Audit, request: HTTPRequest, facts: RequestFacts, receive: Receive, send: Send) -> None:
        self.record: RequestRecord = audit.received(request, facts)
        self._audit = audit
        self._receive = receive
        self._send = send
        self._body: list[bytes] = []
        self._left: int | None = None  # remaining bytes of a response with content-length

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._finish()

    def _finish(self) -> None:
        if self.record.finished is None:
            self.record.finished = trio.current_time()
            self._audit.watch_ended(self.record)

    async def receive(self) -> Message:
        """Receive the next ASGI message from the client, and record the body."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._body.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._audit.received_body(self.record, b"".join(self._body))
                self._body.clear()
        return message

    async def send(self, message: Message) -> None:
        """Send an ASGI message, and record the status and the end of the response."""
        if message["type"] == "http.response.start":
            self.record.status = message["status"]
            for name, value in message.get("headers", ()):
                if name == b"audit-id":
                    self.record.audit_id = value.decode("latin-1")
                elif name == b"content-length":
                    self._left = int(value)
            if self.record.verb == "watch" and message["status"] == 200:
                self._audit.watch_began(self.record)
        elif message["type"] == "http.response.body":
            if self._left is not None:
                self._left -= len(message.get("body", b""))
            if self._left == 0 or not message.get("more_body", False):
                self._finish()  # before sending: a client may read the record as soon as it has the response
        await self._send(message)
