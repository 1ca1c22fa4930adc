"""What is asked, what is answered, and the numbers that bound both."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dynkube.errors import InvalidInput
from dynkube.meta import is_number, is_seconds
from dynkube.rest._redaction import Redactor

_MOST_HEADER_BYTES = 96 << 10  # httpcore2 has h11 refuse a head of 100 KiB
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API server, independent of the connection it will go over.

    The body is bytes, so it can be sent again as often as the server asks for.

    Attributes:
        method: ``GET``, ``POST``, ...; upper case.
        path: absolute and quoted already: ``/apis/apps/v1/deployments``; a path prefix of the server is put before it.
        params: query parameters, not quoted.
        body: what to send, or ``None``.
        content_type: of the body.
        accept: what may come back; HTML where this names JSON is an error.
        headers: further fields. The credential's and the impersonation's win over them.
        timeout: seconds for the whole request, retries included; ``None`` means the client's default. For a stream:
            seconds until the answer begins. ``math.inf`` means no deadline.
        obliging: come back by itself when the server says when (``Retry-After``). ``False`` suits callers with a pace
            of their own, which would otherwise ask ten times for each of theirs. Lost connections and 401 are
            repeated either way.

    Raises:
        InvalidInput: a field cannot be sent; the message names it.
    """

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    accept: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    obliging: bool = True

    def __post_init__(self) -> None:
        if not self.method.isalpha() or not self.method.isupper():
            raise InvalidInput(f"method {self.method!r} is not an HTTP method in upper case, like 'GET'")
        if not self.path.startswith("/") or not (self.path.isascii() and self.path.isprintable()):
            raise InvalidInput(f"path {self.path!r} must start with '/' and be quoted (urllib.parse.quote)")
        if any(character in self.path for character in "?# "):
            raise InvalidInput(f"path {self.path!r} must hold no '?', '#' or space: query parameters go into params")
        for name, value in {"Content-Type": self.content_type, "Accept": self.accept, **self.headers}.items():
            if _TOKEN.match(name) is None:
                raise InvalidInput(f"headers: {name!r} is not the name of a header field")
            if not value.isprintable():
                raise InvalidInput(f"headers: the value of {name} must be one line of printable text")
        if self.timeout is not None:
            check_seconds("timeout", self.timeout)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer with a 2xx status (or 304, if the request had an ``If-None-Match``).

    Attributes:
        status: the HTTP status code.
        headers: names in lower case; fields that came several times are joined by ``", "``.
        body: as it came, not decoded.
        warnings: texts of the server's ``Warning`` fields: deprecated versions, unknown fields.
        request: what was asked (``"GET /api/v1/pods"``), for messages.
        redact: takes the request's secrets out of an error that quotes the body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    warnings: tuple[str, ...]
    request: str
    redact: Redactor = field(default_factory=Redactor, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of everything a client uses, and takes: ``dynkube.connect(limits=dynkube.Limits(...))``.

    The defaults suit one program talking to one cluster: a list of 500 MB is an answer, an event of 3 MB is one too.
    What goes beyond is an error that names the setting. Nothing is ever decompressed, so sizes are those on the wire.

    Attributes:
        max_connections: of the pool for short requests; who finds none free waits, within the deadline.
            Streams have their own pool without a bound, since each holds a connection for as long as it lives.
        keepalive: seconds an idle connection is kept.
        connect_timeout: seconds to reach the server, name lookup and TLS handshake included.
        stream_opening_timeout: seconds until a stream's answer begins, where the request does not say. Longer than
            the API server's own 60 s for a list, so that its answer comes first.
        max_retries: how often a request is repeated because the server said ``Retry-After`` (client-go: 10).
        max_reconnects: how often a GET is repeated because the connection was refused or lost before an answer.
        max_response_bytes: of one answer, or of one page of a list; a larger one is given up as soon as that is known.
            A watch has no total.
        max_list_bytes: of all pages of one list together. A million objects of 4 KB are an answer.
        max_list_pages: of one list. In pages of 500 these are 10 million objects, more than fit into the 8 GiB that
            etcd recommends as its largest database.
        max_list_seconds: for all pages of one list together, where the call has no ``timeout``. kube-apiserver keeps
            the moment that pages show for 5 to 10 minutes (``--etcd-compaction-interval``). Of ``iterate()`` neither
            bytes nor seconds are bounded: its pages are not in memory together, and its user takes time.
        max_line_bytes: of one event of a watch. An object is some MB at most, as etcd takes 1.5 MB; aggregated API
            servers vary.
        max_header_bytes: of the head of an answer: its status and all header fields. At most 98304, since the HTTP
            parser itself holds to little more.
        qps: requests per second on average, or ``None`` for no throttle: API Priority and Fairness on the server
            does this better, so controller-runtime has turned it off as well. Watches are never throttled.
        burst: how many requests may go at once after a pause, where ``qps`` is set.

    Raises:
        InvalidInput: a number makes no sense; the message names it.
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
                raise InvalidInput(f"Limits.{name} must be a number, at least 1, not {given!r}")
        if self.max_header_bytes > _MOST_HEADER_BYTES:
            raise InvalidInput(f"Limits.max_header_bytes must be at most {_MOST_HEADER_BYTES}: more is not understood")
        for name in ("max_retries", "max_reconnects", "keepalive"):
            if not (is_number(given := getattr(self, name)) and given >= 0):
                raise InvalidInput(f"Limits.{name} must be a number that is not negative, not {given!r}")
        if self.qps is not None and not (is_number(self.qps) and 0 < self.qps < math.inf):
            raise InvalidInput(f"Limits.qps must be a positive number, or None for no throttle, not {self.qps!r}")


def check_seconds(name: str, value: object) -> None:
    """Raise InvalidInput unless ``value`` is a positive number of seconds (infinity is one)."""
    if not is_seconds(value):
        raise InvalidInput(f"{name} must be a positive number of seconds (math.inf for none), not {value!r}")
