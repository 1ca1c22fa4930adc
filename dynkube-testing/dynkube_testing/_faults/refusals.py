"""Responses sent instead of the server's: a Status, or any other body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from dynkube.errors import APIError, InvalidInput, Status
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._faults.effects import check_seconds
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._store.documents import status_object

# Reason and message as kube-apiserver sends them in generic errors.
_TEXTS: Mapping[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "forbidden: refused by a scripted fault"),
    404: ("NotFound", "the server could not find the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "The resourceVersion for the provided watch is too old."),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: refused by a scripted fault"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}

# HTTP responses with these statuses have no body; ASGI servers raise an error if the application sends one.
_BODILESS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Refuse:
    """Respond with ``status``; the request does not reach the server.

    Args:
        status: HTTP status, 200 to 599.
        retry_after: The Retry-After header: seconds, or a string to send unchanged (an HTTP date).
        reason: ``reason`` of the Status object in the body; default: the usual one for ``status``.
        message: ``message`` of the Status object in the body; default: the usual one for ``status``.
        body: Response body instead of a Status object: a mapping is sent as JSON, a string or bytes unchanged. 204 and
            304 have no body.
        content_type: Content type of the body; default: JSON, or HTML for a string.

    Raises:
        InvalidInput: ``status`` is out of range; ``retry_after`` is negative; ``body`` is given together with
            ``reason`` or ``message``; or one of these three is given for 204 or 304.
    """

    status: int
    retry_after: float | str | None = None
    reason: str | None = None
    message: str | None = None
    body: Mapping[str, object] | str | bytes | None = None
    content_type: str | None = None

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 599:
            raise InvalidInput(f"status {self.status} is not a final HTTP status: pass one from 200 to 599")
        if self.body is not None and not (self.reason is None and self.message is None):
            raise InvalidInput("body is mutually exclusive with reason and message, the fields of a Status")
        if self.status in _BODILESS and any(given is not None for given in (self.body, self.reason, self.message)):
            raise InvalidInput(f"a response with status {self.status} has no body: leave out body, reason and message")
        if self.retry_after is not None and not isinstance(self.retry_after, str):
            check_seconds("retry_after", self.retry_after)

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        headers = [(b"cache-control", b"no-cache, private")]
        body = b""
        if self.status not in _BODILESS:
            body, content_type = self._content()
            headers += [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
        if self.retry_after is not None:
            headers.append((b"retry-after", _digits(self.retry_after).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _content(self) -> tuple[bytes, str]:
        match self.body:
            case None:
                return msgspec.json.encode(self._status()), self.content_type or "application/json"
            case str() as text:
                return text.encode(), self.content_type or "text/html; charset=utf-8"
            case bytes() as data:
                return data, self.content_type or "application/json"
        return msgspec.json.encode(self.body), self.content_type or "application/json"

    def _status(self) -> dict[str, object]:
        reason, message = _TEXTS.get(self.status, ("", f"refused by a scripted fault with status {self.status}"))
        seconds = self.retry_after if isinstance(self.retry_after, int | float) else None
        status = Status(
            code=self.status,
            reason=reason if self.reason is None else self.reason,
            message=message if self.message is None else self.message,
            retry_after=None if seconds is None else float(seconds),
        )
        return status_object(APIError.from_status(status))


def _digits(retry_after: float | str) -> str:
    """Return the Retry-After value.

    Whole seconds are an integer; a string is unchanged.
    """
    whole = isinstance(retry_after, float) and retry_after.is_integer()
    return str(int(retry_after) if whole else retry_after)
