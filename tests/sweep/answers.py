"""The transient answers: errors and discovery documents that say nothing about the object that is requested."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dynkube_testing import Effect, Refuse, RequestFacts, Rewrite, rewrites
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, without_header
from dynkube_testing._faults.rewriting import Rewriter

_HTML: Final = "<html><head><title>{0}</title></head><body><center><h1>{0}</h1></center><hr>nginx</body></html>"
_DISCOVERY: Final = re.compile(r"/api(/v1)?|/apis(/[^/]+){0,2}")
GROUPS: Final = ("apps", "example.com", "metrics.k8s.io", "coordination.k8s.io", "events.k8s.io")
"""The groups whose resources the scenarios use, besides the core group."""


class Requested(Protocol):
    """What of a request says which answers it can get."""

    @property
    def path(self) -> str:
        """The path, without the query."""


def is_discovery(request: Requested) -> bool:
    """Return whether the request is for a discovery document."""
    return _DISCOVERY.fullmatch(request.path) is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """One kind of transient answer.

    Attributes:
        title: its name, in the table.
        effect: gives the answer.
        only: the requests that can get it; ``None`` for all.
    """

    title: str
    effect: Effect
    only: Callable[[Requested], bool] | None = None

    def fits(self, request: Requested) -> bool:
        """Return whether the request can get this answer."""
        return self.only is None or self.only(request)


class Denied:
    """Responds as the authorizer does: a Status that names what was requested."""

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        await Refuse(403, body=_forbidden(request)).apply(request, app, scope, receive, send)


@dataclass(frozen=True, slots=True)
class Document:
    """Responds with another discovery document, which has an ETag of its own."""

    rewriter: Rewriter

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = without_header(message, b"etag")
                message = {**message, "headers": [*message["headers"], (b"etag", b'"another"')]}
            await send(message)

        asked = without_header(scope, b"if-none-match")
        await Rewrite(self.rewriter).apply(request, app, asked, receive, send_on)


def _forbidden(request: RequestFacts) -> dict[str, Any]:
    details: dict[str, Any] = {}
    message = f'forbidden: User "alice" cannot {request.method.lower()} path "{request.path}"'
    if (resource := request.resource) is not None:
        details = {"group": resource.group, "kind": resource.resource, "name": request.name}
        named = f' "{request.name}"' if request.name else ""
        message = (
            f'{resource.resource}{named} is forbidden: User "alice" cannot {request.verb} resource '
            f'"{resource.resource}" in API group "{resource.group}" in the namespace "{request.namespace}"'
        )
    return _failure(403, "Forbidden", message, details)


def _failure(code: int, reason: str, message: str, details: dict[str, Any]) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**status, "message": message, "reason": reason, "details": details, "code": code}


def _empty(document: dict[str, Any]) -> dict[str, Any]:
    """Return a discovery document without any content."""
    return {key: [] if isinstance(value, list) else value for key, value in document.items()}


def _without_groups(document: dict[str, Any]) -> dict[str, Any]:
    for group in (*GROUPS, ""):
        document = _rewritten(rewrites.without_group(group), document)
    return document


def _rewritten(rewriter: Rewriter, document: dict[str, Any]) -> dict[str, Any]:
    result = rewriter(document)
    assert isinstance(result, dict)
    return result


def _names_groups(request: Requested) -> bool:
    return request.path in {"/api", "/apis"}


ANSWERS: Final = (
    Answer("404 without a name", Refuse(404)),
    Answer("404 page of Go", Refuse(404, body="404 page not found\n", content_type="text/plain; charset=utf-8")),
    Answer("404 HTML", Refuse(404, body=_HTML.format("404 Not Found"))),
    Answer("403 HTML", Refuse(403, body=_HTML.format("403 Forbidden"))),
    Answer("403 Status", Denied()),
    Answer("503", Refuse(503)),
    Answer(
        "200 with a Status", Refuse(200, body=_failure(404, "NotFound", "could not find the requested resource", {}))
    ),
    Answer("empty discovery", Document(_empty), is_discovery),
    Answer("discovery without the group", Document(_without_groups), _names_groups),
)
"""All kinds, in the order of the table."""
