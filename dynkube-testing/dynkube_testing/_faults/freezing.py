"""Stale responses, as from a caching proxy or a server that lags behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, header, without_header
from dynkube_testing._faults.facts import RequestFacts

_Key: TypeAlias = tuple[str, str, bytes, str]

# Removed from requests: with these headers the response would depend on the client's cache, and could not be reused for
# other requests.
_CONDITIONS = (b"if-none-match", b"if-modified-since")


@dataclass(frozen=True, slots=True, eq=False)
class Freeze:
    """Store the first complete 200 response to a request, and repeat it.

    It is repeated for each request with equal method, path, query and Accept header. Watches are not affected. Each
    ``Freeze`` instance has its own stored responses. For example, to simulate stale discovery, call
    ``inject(Freeze(), path_prefix="/apis")`` before the client's first request.
    """

    _kept: dict[_Key, tuple[Message, ...]] = field(default_factory=dict, init=False, repr=False)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stored response, or forward and store the first one."""
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
