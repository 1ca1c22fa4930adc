"""Answers of earlier: what a cache in between, or a server that lags behind, says again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.testing._asgi import ASGIApp, Message, Receive, Scope, Send
from dynkube.testing._faults.facts import RequestFacts
from dynkube.testing._faults.headers import header, without_header

_Key: TypeAlias = tuple[str, str, bytes, str]

# With these the answer would depend on what the client knows already, and not be one for everybody.
_CONDITIONS = (b"if-none-match", b"if-modified-since")


@dataclass(frozen=True, slots=True, eq=False)
class Freeze:
    """The first complete answer of 200 to each request is kept, and given again for as long as the fault is there.

    Discovery that is stale, for one: ``inject(Freeze(), path_prefix="/apis")`` before the client first asks. Requests
    are the same where method, path, query and the Accept header are. Watches, which have no complete
    answer, pass. What is kept belongs to this ``Freeze``: a new one starts with nothing.
    """

    _kept: dict[_Key, tuple[Message, ...]] = field(default_factory=dict, init=False, repr=False)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the answer kept, or pass on the first and keep it."""
        if request.verb == "watch":
            await app(scope, receive, send)
            return
        key = (request.method, request.path, scope["query_string"], header(scope, b"accept"))
        if key in self._kept:
            for message in self._kept[key]:
                await send(message)
            return
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            if complete and messages[0]["status"] == 200:
                self._kept[key] = tuple(messages)
            await send(message)

        for name in (*_CONDITIONS, b"accept-encoding"):
            scope = without_header(scope, name)
        await app(scope, receive, keep)
