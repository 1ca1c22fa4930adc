"""Requests, responses, and the client's limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import is_number, is_seconds
from dynkube.rest._redaction import Redactor

_MOST_HEADER_BYTES = 96 << 10  # httpcore2 configures h11 to reject a head of 100 KiB
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API server, independent of the connection it is sent on.

    The body is bytes, so that it can be resent for retries.

    Attributes:
        method: ``GET``, ``POST``, ...; upper case.
        path: absolute and percent-encoded: ``/apis/apps/v1/deployments``; a path prefix of the server is prepended.
        params: query parameters, not encoded; a list or tuple for a parameter that is repeated.
        body: the request body, or ``None``.
        content_type: media type of the body.
        accept: acceptable media types; if they include JSON, an HTML response is an error.
        headers: additional headers. The headers for the credential and for impersonation take precedence.
        timeout: seconds for the whole request, retries included; ``None`` means the client's default. For a stream:
            seconds until the response head. ``math.inf`` means no deadline.
        honor_retry_after: retry on ``Retry-After``. ``False`` is for callers with a retry loop of their own; otherwise
            each of their attempts would be sent up to ten times. Lost connections and 401 are retried either way.

    Raises:
        InvalidInput: a field is invalid; the message names it.
    """

    method: str
    path: str
    params: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    honor_retry_after: bool = True

    def __post_init__(self) -> None:
        if not self.method.isalpha() or not self.method.isupper():
            raise InvalidInput(f"method {self.method!r} is not an uppercase HTTP method like 'GET'")
        if not self.path.startswith("/") or not (self.path.isascii() and self.path.isprintable()):
            raise InvalidInput(f"path {self.path!r} must start with '/' and be percent-encoded (urllib.parse.quote)")
        if any(character in self.path for character in "?# "):
            raise InvalidInput(
                f"path {self.path!r} must not contain '?', '#' or spaces: pass query parameters as params"
            )
        for name, given in self.params.items():
            if given is None:  # callers are not always type-checked, and it would be sent as "None"
                raise InvalidInput(f"params: {name} is None: leave it out")
        for name, value in {"Content-Type": self.content_type, "Accept": self.accept, **self.headers}.items():
            if _TOKEN.match(name) is None:
                raise InvalidInput(f"headers: {name!r} is not a valid header name")
            if not value.isprintable():
                raise InvalidInput(f"headers: the value of {name} must be a printable string without line breaks")
        if self.timeout is not None:
            check_seconds("timeout", self.timeout)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response with a 2xx status.

    Or with 304, if the request had an ``If-None-Match``.

    Attributes:
        status: the HTTP status code.
        headers: names in lower case; repeated headers are joined by ``", "``.
        body: as received, not decoded.
        warnings: texts of the server's ``Warning`` headers: deprecated versions, unknown fields.
        request: the request line (``"GET /api/v1/pods"``), for messages.
        redact: removes the request's secrets from an error that quotes the body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    warnings: tuple[str, ...]
    request: str
    redact: Redactor = field(default_factory=Redactor, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on a client's connections, retries, response sizes and request rate.

    Pass them as ``dynkube.connect(limits=dynkube.Limits(...))``. The defaults suit one program that uses one cluster: a
    list of 500 MB or an event of 3 MB is accepted. Exceeding a limit is an error that names the setting. Sizes of
    compressed responses are those after decompression.

    Attributes:
        max_connections: pool size for short requests; further requests wait, within their deadline. Streams have a
            separate unlimited pool, since each stream uses a connection for its lifetime.
        keepalive: seconds an idle connection is kept.
        connect_timeout: seconds for DNS and TCP, and as many again for the TLS handshake.
        stream_opening_timeout: default seconds until a stream's response head. Longer than the API server's own 60 s
            for a list, so that its response arrives first.
        max_retries: how often a request is retried because of ``Retry-After`` (client-go: 10).
        max_reconnects: how often a GET is retried because the connection was refused, or lost before a response.
        max_response_bytes: maximum bytes of one response, or one page of a list; a larger one is aborted as soon as its
            size is known. A watch has no total limit.
        max_list_bytes: maximum bytes of all pages of one list together. A million objects of 4 KB are accepted.
        max_list_pages: maximum pages of one list. With pages of 500 objects the default is 10 million objects, more
            than fit into the 8 GiB that etcd recommends as its largest database.
        max_list_seconds: maximum seconds for all pages of one list together, where the call has no ``timeout``.
            kube-apiserver keeps the snapshot of a paged list for 5 to 10 minutes (``--etcd-compaction-interval``).
            ``max_list_bytes`` and this limit do not apply to ``iterate()``, whose pages are not in memory together, and
            whose caller processes them meanwhile.
        max_line_bytes: maximum bytes of one watch event. Objects have some MB at most, as etcd accepts 1.5 MB;
            aggregated API servers vary.
        max_header_bytes: maximum bytes of a response head: status line and all headers. At most 98304, since the HTTP
            parser accepts little more.
        qps: requests per second on average. ``None`` (the default) means no client-side throttling, as API Priority and
            Fairness on the server works better; controller-runtime has turned off throttling as well. Watches are never
            throttled.
        burst: how many requests may be sent at once after a pause, if ``qps`` is set.

    Raises:
        InvalidInput: a value is out of range; the message names it.
    """

    max_connections: int = 100
    keepalive: float = 90.0
    connect_timeout: float = 10.0
    stream_opening_timeout: float = 75.0
    max_retries: int = 10
    max_reconnects: int = 3
    max_response_bytes: int = 1 << 30
    max_list_bytes: int = 4 << 30
    max_list_pages: int = 20_000
    max_list_seconds: float = 600.0
    max_line_bytes: int = 64 << 20
    max_header_bytes: int = 64 << 10
    qps: float | None = None
    burst: int = 10

    def __post_init__(self) -> None:
        for name in ("connect_timeout", "stream_opening_timeout", "max_list_seconds"):
            check_seconds(f"Limits.{name}", getattr(self, name))
        for name in (
            "max_connections",
            "max_response_bytes",
            "max_list_bytes",
            "max_list_pages",
            "max_line_bytes",
            "max_header_bytes",
            "burst",
        ):
            if not (is_number(given := getattr(self, name)) and given >= 1):
                raise InvalidInput(f"Limits.{name} must be a number >= 1, not {given!r}")
        if self.max_header_bytes > _MOST_HEADER_BYTES:
            raise InvalidInput(
                f"Limits.max_header_bytes must be at most {_MOST_HEADER_BYTES}, the limit of the HTTP parser"
            )
        for name in ("max_retries", "max_reconnects", "keepalive"):
            if not (is_number(given := getattr(self, name)) and given >= 0):
                raise InvalidInput(f"Limits.{name} must be a number >= 0, not {given!r}")
        if self.qps is not None and not (is_number(self.qps) and 0 < self.qps < math.inf):
            raise InvalidInput(f"Limits.qps must be a positive number, or None for no limit, not {self.qps!r}")


def check_seconds(name: str, value: object) -> None:
    """Raise InvalidInput unless ``value`` is a number of seconds > 0.

    Infinity is allowed.
    """
    if not is_seconds(value):
        raise InvalidInput(f"{name} must be a positive number of seconds (math.inf for none), not {value!r}")
