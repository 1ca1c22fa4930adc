"""Conversion of unexpected HTTP responses to exceptions. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from urllib.parse import unquote

import msgspec

from dynkube._server_text import sanitized
from dynkube.config import Credential
from dynkube.errors import APIError, ProtocolError, Status, Unauthorized
from dynkube.meta._wire.status import failed_status
from dynkube.rest._messages import Request
from dynkube.rest._redaction import Redactor

MOST_STATUS = 600
"""Greater than all valid HTTP status codes, which are 100 to 599 (RFC 9110, 15)."""
SWITCHING_PROTOCOLS = 101
_NO_SECRETS = Redactor()
_MAX_ERROR_BYTES = 1 << 20  # maximum size of an error page
# Maximum size of a Status: a cause of a conflict takes about 170 bytes, and the largest objects that etcd can store
# have some 100,000 fields.
_MAX_STATUS_BYTES = 16 << 20
_EXCERPT = 200
_LOOKED_AT = 64 << 10  # bytes of a body that are searched for an excerpt
_DEFINITE = frozenset({404, 410})  # codes that clients take as proof that something does not exist
_INVISIBLE = re.compile(rb"<(script|style|head)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(rb"<[^>]*>?")
_HTML_START = re.compile(rb"\s*<(!doctype html|html)\b", re.IGNORECASE)


def most_of_error(headers: Mapping[str, str]) -> int:
    """Return the maximum number of bytes of an error response to read.

    The maximum is larger for JSON, which may be a Status, than for an error page.
    """
    return _MAX_STATUS_BYTES if is_json(headers) else _MAX_ERROR_BYTES


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether the response's content type is JSON."""
    return _media_type(headers) == "application/json"


def error_from(
    code: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: str,
    retry_after: float | None = None,
    hint: str = "",
    redact: Redactor = _NO_SECRETS,
) -> APIError | ProtocolError:
    """Return the exception for an error response.

    Args:
        code: the HTTP status, 400 or above.
        headers: with names in lower case.
        body: the body as far as it was read; may be truncated, see :func:`most_of_error`.
        request: the request line, for the message.
        retry_after: the value of ``Retry-After`` in seconds; used where the Status has no ``retryAfterSeconds``.
        hint: why the credentials may be rejected, for the message of a 401.
        redact: removes the request's secrets from strings, in case the response echoes the request.

    Returns:
        The exception for the Status, if the body is one. For any other body (an error page of a proxy, ``404 page not
        found`` of an API server without the group, no body) the class follows from the code, and the message has an
        excerpt of the body. But HTML with 404 or 410 is a ProtocolError: it does not come from the API server, and the
        error page of a load balancer without a backend must not make resources look absent.
    """
    status = _status(code, body)
    if status is None:
        described = redact(_describe(headers, body, redact))
        if code in _DEFINITE and _is_html(headers, body):
            return ProtocolError(f"{request}: HTTP {code} with {described}")
        status = Status(code=code, message=described)
    status = _redacted(status, redact, request)
    if status.retry_after is None and retry_after is not None:
        status = dataclasses.replace(status, retry_after=retry_after)
    error = APIError.from_status(status, request=request)
    return Unauthorized(status, request=request, hint=hint) if isinstance(error, Unauthorized) else error


def hint_about(credential: Credential, source: str) -> str:
    """Return the hint of an error 401.

    Args:
        credential: the credential that was sent; may be empty.
        source: where the configuration came from, or ``""``.
    """
    where = f" (from {source})" if source else ""
    if credential.headers or credential.certificate:
        return f"these credentials{where} are not valid for this server, or have expired: renew them"
    return f"no credentials were sent: pass token=, or a kubeconfig with a user that has some{where}"


def failure_in(body: bytes, request: Request, *, text: str, redact: Redactor = _NO_SECRETS) -> APIError | None:
    """Return the failure Status in a response below 400 as an error.

    Returns ``None`` if the body is anything else.
    """
    if not _wants_json(request):
        return None
    status = failed_status(body)
    return None if status is None else APIError.from_status(_redacted(status, redact, text), request=text)


def check_head(code: int, headers: Mapping[str, str], request: Request, *, text: str) -> None:
    """Reject a response below 400 that cannot be the expected one.

    Raises:
        ProtocolError: the response is a redirect or has another non-2xx status, or its body is compressed, or is HTML
            although JSON was requested.
    """
    if 300 <= code < 400 and not is_not_modified(code, request):
        raise ProtocolError(f"{text}: {_redirect(code, headers)}")
    if not 200 <= code < MOST_STATUS:
        raise ProtocolError(
            f"{text}: invalid HTTP status {code} (expected 200 to {MOST_STATUS - 1}): "
            "this is not the Kubernetes API, check server and proxy-url"
        )
    if encoding := _encoding(headers):
        raise ProtocolError(
            f"{text}: the response is compressed ({encoding}), which was not requested: "
            "disable compression in the proxy or load balancer before the API server"
        )
    if _media_type(headers) == "text/html" and _wants_json(request):
        raise ProtocolError(f"{text}: {_html_answer(code)}")


def check_body(code: int, headers: Mapping[str, str], body: bytes, request: Request, *, text: str) -> None:
    """Reject HTML without a content type if JSON was requested.

    Raises:
        ProtocolError: the body looks like HTML.
    """
    if not _media_type(headers) and _wants_json(request) and _HTML_START.match(body):
        raise ProtocolError(f"{text}: {_html_answer(code)}")


def is_not_modified(code: int, request: Request) -> bool:
    """Whether this is a 304 for a conditional request.

    A conditional request has a header ``If-None-Match`` or ``If-Modified-Since``.
    """
    return code == 304 and any(name.lower() in {"if-none-match", "if-modified-since"} for name in request.headers)


def _status(code: int, body: bytes) -> Status | None:
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(decoded, dict) or decoded.get("kind") != "Status":
        return None
    return Status.from_mapping(decoded, code=code)


def _redacted(status: Status, redact: Redactor, request: str) -> Status:
    """Return a Status without secrets.

    It still names the object that the request names, which is no secret: else a 404 would prove nothing about it.
    """
    path = request.partition(" ")[2].partition(" ")[0]
    named = status.name != "" and status.name in map(unquote, path.split("/"))
    shown = redact.status(status)
    return dataclasses.replace(shown, name=status.name) if named else shown


def _describe(headers: Mapping[str, str], body: bytes, redact: Redactor) -> str:
    if not body.strip():
        return "the response has no body"
    if encoding := _encoding(headers):
        return f"the error response is compressed ({encoding}), which was not requested"
    excerpt = _excerpt(body, redact)
    if _is_html(headers, body):
        return f"an HTML page instead of a Status, probably from a proxy or a load balancer: {excerpt!r}"
    return excerpt


def _is_html(headers: Mapping[str, str], body: bytes) -> bool:
    return _media_type(headers) == "text/html" or _HTML_START.match(body) is not None


def _excerpt(body: bytes, redact: Redactor) -> str:
    """Return one line of at most 200 characters.

    Without markup and control characters.
    """
    body = body[:_LOOKED_AT]
    title = _TITLE.search(body)
    visible = _TAG.sub(b" ", _INVISIBLE.sub(b" ", body)) if _HTML_START.match(body) else body
    text = redact(visible.decode("utf-8", "replace"))
    if title is not None and title[1].strip() not in visible:
        text = f"{title[1].decode('utf-8', 'replace')}: {text}"
    return sanitized(" ".join(text.split()), _EXCERPT)


def _redirect(code: int, headers: Mapping[str, str]) -> str:
    # The query of a login page's URL has state and tokens; the rest of the URL is enough to diagnose it.
    target = re.sub(r"//[^/]*@", "//", re.split(r"[?#]", headers.get("location", ""))[0])
    where = f"to {sanitized(target, _EXCERPT)!r}" if target else "without a location"
    return (
        f"redirected (HTTP {code}) {where}, which is not followed, as it would send credentials to another server: "
        "if that is the API server, use its address as server; a login page means that a proxy requires authentication"
    )


def _html_answer(code: int) -> str:
    return (
        f"expected JSON, received an HTML page (HTTP {code}): this is not the Kubernetes API, "
        "probably a proxy or a login page; check server and proxy-url"
    )


def _encoding(headers: Mapping[str, str]) -> str:
    """Return the content coding of the body; ``""`` if there is none.

    There is none where the client accepts gzip, and has decompressed the body.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding[:40]


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _wants_json(request: Request) -> bool:
    return "json" in request.accept
