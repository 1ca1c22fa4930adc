"""The one boundary where an HTTP answer that is not what was asked for becomes an exception. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import msgspec

from dynkube._server_text import sanitized
from dynkube.errors import APIError, ProtocolError, Status
from dynkube.meta import failed_status
from dynkube.rest._messages import Request
from dynkube.rest._redaction import Redactor

MOST_STATUS = 600
"""Above all HTTP status codes: valid ones are 100 to 599 (RFC 9110, 15)."""
_NO_SECRETS = Redactor()
_MAX_ERROR_BYTES = 1 << 20  # of any error page
# A conflict takes about 170 bytes a field, and the largest objects that etcd holds have some 100,000 fields.
_MAX_STATUS_BYTES = 16 << 20
_EXCERPT = 200
_LOOKED_AT = 64 << 10  # bytes of a body, for what it begins with
_DEFINITE = frozenset({404, 410})  # what clients take for the last word on whether something exists
_INVISIBLE = re.compile(rb"<(script|style|head)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"<[^>]*>?")
_HTML_START = re.compile(rb"\s*<(!doctype html|html)\b", re.IGNORECASE)


def most_of_error(headers: Mapping[str, str]) -> int:
    """How many bytes of an answer that says no are read: of JSON, which may be a Status, more than of any page."""
    return _MAX_STATUS_BYTES if is_json(headers) else _MAX_ERROR_BYTES


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether an answer says that it is JSON."""
    return _media_type(headers) == "application/json"


def error_from(
    code: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: str,
    retry_after: float | None = None,
    redact: Redactor = _NO_SECRETS,
) -> APIError | ProtocolError:
    """The exception for an answer that says no.

    Args:
        code: the HTTP status, 400 or above.
        headers: with names in lower case.
        body: what came of it; may be cut, see :func:`most_of_error`.
        request: what was asked, for the message.
        retry_after: what ``Retry-After`` said; used where the Status has no ``retryAfterSeconds``.
        redact: takes the request's secrets out of its texts, in case whatever answered echoes the request.

    Returns:
        By the Status if the body is one. Anything else (an error page of a proxy, ``404 page not found`` of an API
        server without the group, nothing at all) gives the class of the code and an excerpt as message. But a page
        does not know what the API server has: HTML with 404 or 410 is a ProtocolError, lest a load balancer that
        lost its backend makes resources look absent.
    """
    status = _status(code, body)
    if status is None:
        described = redact(_describe(headers, body, redact))
        if code in _DEFINITE and _is_html(headers, body):
            return ProtocolError(f"{request}: HTTP {code} with {described}")
        status = Status(code=code, message=described)
    status = redact.status(status)
    if status.retry_after is None and retry_after is not None:
        status = dataclasses.replace(status, retry_after=retry_after)
    return APIError.from_status(status, request=request)


def failure_in(body: bytes, request: Request, *, text: str, redact: Redactor = _NO_SECRETS) -> APIError | None:
    """The error that a body is which came with a status below 400: a Status that reports a failure."""
    if not _wants_json(request):
        return None
    status = failed_status(body)
    return None if status is None else APIError.from_status(redact.status(status), request=text)


def check_head(code: int, headers: Mapping[str, str], request: Request, *, text: str) -> None:
    """Refuse an answer below 400 that cannot be what was asked for.

    Raises:
        ProtocolError: a redirect, another status that is no success, a compressed body, HTML where JSON was asked for.
    """
    if 300 <= code < 400 and not is_not_modified(code, request):
        raise ProtocolError(f"{text}: {_redirect(code, headers)}")
    if not 200 <= code < MOST_STATUS:
        raise ProtocolError(
            f"{text}: answered with {code} as HTTP status, which is none of a response (200 to {MOST_STATUS - 1}): "
            "this is not the Kubernetes API, check server and proxy-url"
        )
    if encoding := _encoding(headers):
        raise ProtocolError(
            f"{text}: the answer is compressed ({encoding}) although none was asked for: "
            "something between dynkube and the API server does that; turn it off there"
        )
    if _media_type(headers) == "text/html" and _wants_json(request):
        raise ProtocolError(f"{text}: {_html_answer(code)}")


def check_body(code: int, headers: Mapping[str, str], body: bytes, request: Request, *, text: str) -> None:
    """Refuse HTML that does not say it is, where JSON was asked for.

    Raises:
        ProtocolError: it looks like HTML.
    """
    if not _media_type(headers) and _wants_json(request) and _HTML_START.match(body):
        raise ProtocolError(f"{text}: {_html_answer(code)}")


def is_not_modified(code: int, request: Request) -> bool:
    """Whether this is the 304 that a request with an ``If-None-Match`` or ``If-Modified-Since`` hopes for."""
    return code == 304 and any(name.lower() in {"if-none-match", "if-modified-since"} for name in request.headers)


def _status(code: int, body: bytes) -> Status | None:
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(decoded, dict) or decoded.get("kind") != "Status":
        return None
    return Status.from_mapping(decoded, code=code)


def _describe(headers: Mapping[str, str], body: bytes, redact: Redactor) -> str:
    if not body.strip():
        return "the answer has no body"
    if encoding := _encoding(headers):
        return f"the explanation is compressed ({encoding}), although that was not asked for"
    excerpt = _excerpt(body, redact)
    if _is_html(headers, body):
        return f"an HTML page instead of a Status, so from a proxy or load balancer before the API server: {excerpt!r}"
    return excerpt


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    return _media_type(headers) == "text/html" or _HTML_START.match(body) is not None


def _excerpt(body: bytes, redact: Redactor) -> str:
    """One line of at most 200 characters, with no markup and no control characters."""
    body = body[:_LOOKED_AT]
    title = _TITLE.search(body)
    visible = _TAG.sub(b" ", _INVISIBLE.sub(b" ", body)) if _HTML_START.match(body) else body
    text = redact(visible.decode("utf-8", "replace"))
    if title is not None and title[1].strip() not in visible:
        text = f"{title[1].decode('utf-8', 'replace')}: {text}"
    return sanitized(" ".join(text.split()), _EXCERPT)


def _redirect(code: int, headers: Mapping[str, str]) -> str:
    # The query of a login page's address carries state and tokens; the address is what helps.
    target = re.sub(r"//[^/]*@", "//", re.split(r"[?#]", headers.get("location", ""))[0])
    where = f"to {sanitized(target, _EXCERPT)!r}" if target else "without saying where to"
    return (
        f"redirected (HTTP {code}) {where}, which is not followed, so that credentials go to no other server: "
        "if that is the API server, use its address as server; a login page means a proxy wants authentication"
    )


def _html_answer(code: int) -> str:
    return (
        f"answered (HTTP {code}) with an HTML page where JSON was asked for: this is not the Kubernetes API, "
        "more likely a proxy or a login page; check server and proxy-url"
    )


def _encoding(headers: Mapping[str, str]) -> str:
    """How the body is compressed; ``""`` if it is not. Nothing here unpacks anything, so no bomb goes off."""
    encoding = headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding[:40]


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _wants_json(request: Request) -> bool:
    return "json" in request.accept
