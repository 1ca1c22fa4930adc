"""Kubernetes attributes (verb, GVR, ...), hooks and counters of request attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

import trio

from dynkube.meta import GVR
from dynkube.rest._messages import Request
from dynkube.telemetry import Observers, RequestInfo, RequestOutcome

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NO_ANSWER = 0


@dataclass(slots=True)
class Counters:
    """The mutable counters behind :class:`RESTStatistics`."""

    requests: int = 0
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    retries: int = 0
    refreshes: int = 0
    throttled: int = 0
    throttled_seconds: float = 0.0
    received: int = 0
    warnings: int = 0
    open_requests: int = 0
    open_streams: int = 0
    open_watches: int = 0
    last_error: str = ""


class Subject(NamedTuple):
    """Kubernetes attributes parsed from a request.

    Fields as in :class:`~dynkube.telemetry.RequestInfo`.
    """

    verb: str
    template: str
    gvr: GVR | None = None
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @classmethod
    def of(cls, request: Request) -> Subject:
        """Parse a request as the API server does.

        See ``k8s.io/apiserver/pkg/endpoints/request``.
        """
        parts = request.path.strip("/").split("/")
        if parts[0] == "api":
            group, rest, start = "", parts[1:], "/api"
        elif parts[0] == "apis" and len(parts) > 1:
            group, rest, start = parts[1], parts[2:], f"/apis/{parts[1]}"
        else:
            return cls(request.method.lower(), request.path)
        if len(rest) < 2:
            return cls(request.method.lower(), request.path)
        version, *rest = rest
        template = f"{start}/{version}"
        namespace = ""
        # A Namespace object is at namespaces/NAME, and its subresources are below it.
        if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
            template += "/namespaces/{namespace}"
        resource, name, subresource = (*rest, "", "")[:3]
        parts = [template, resource, "{name}" if name else "", subresource, "{path}" if len(rest) > 3 else ""]
        return cls(
            _verb(request, single=bool(name)),
            "/".join(filter(None, parts)),
            GVR(group, version, resource),
            subresource,
            unquote(namespace),
            unquote(name),
        )


def _verb(request: Request, *, single: bool) -> str:
    if any(name.lower() == "upgrade" for name in request.headers):
        return "connect"
    if request.method in ("GET", "HEAD"):
        if request.params.get("watch") in ("true", "1"):
            return "watch"
        return "get" if single else "list"
    if request.method == "DELETE" and not single:
        return "deletecollection"
    return _VERBS.get(request.method, request.method.lower())


class Attempts:
    """Creates an :class:`Attempt` for each try of a request.

    Args:
        host: ``host:port`` of the API server, as in its URL.
        counters: updated for each attempt.
        observers: hooks called for each attempt.
    """

    def __init__(self, host: str, counters: Counters, observers: Observers) -> None:
        self.host = host
        self.counters = counters
        self.observers = observers

    def begin(self, request: Request, subject: Subject, *, url: str, number: int, throttled: float | None) -> Attempt:
        """Record that an attempt is about to be sent.

        Calls the ``request_started`` hooks.
        """
        self.counters.requests += 1
        observers = self.observers
        if not (observers.request_started or observers.request_finished):
            return Attempt(self, subject, None, {})
        info = RequestInfo(
            method=request.method,
            url=url,
            template=subject.template,
            verb=subject.verb,
            gvr=subject.gvr,
            subresource=subject.subresource,
            namespace=subject.namespace,
            name=subject.name,
            host=self.host,
            attempt=number,
            body_bytes=len(request.body or b""),
            throttled=throttled,
        )
        headers: dict[str, str] = {}
        for hook in observers.request_started:
            headers.update(hook(info) or {})
        return Attempt(self, subject, info, headers)


class Attempt:
    """One try of a request; it ends exactly once."""

    __slots__ = ("_attempts", "_info", "_started", "_subject", "headers")

    def __init__(
        self, attempts: Attempts, subject: Subject, info: RequestInfo | None, headers: Mapping[str, str]
    ) -> None:
        self._attempts: Attempts | None = attempts
        self._subject = subject
        self._info = info
        self._started = trio.current_time()
        self.headers: Mapping[str, str] = headers
        """Headers that observers add to the request."""

    def end(self, *, code: int | None = None, received: int = 0, error: BaseException | None = None) -> None:
        """Record the end, and call the ``request_finished`` hooks.

        Further calls have no effect.
        """
        attempts, self._attempts = self._attempts, None
        if attempts is None:
            return
        attempts.counters.answers[self._subject.verb, code or _NO_ANSWER] += 1
        if self._info is not None:
            seconds = trio.current_time() - self._started
            outcome = RequestOutcome(code=code, seconds=seconds, received=received, error=error)
            for hook in attempts.observers.request_finished:
                hook(self._info, outcome)
