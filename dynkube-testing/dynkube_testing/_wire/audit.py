"""Audit log of a server: the requests in order, and the open watches."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import msgspec
import trio

from dynkube.meta import GVR
from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.users import User
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._wire.http import HTTPRequest

# Limits for recorded bodies in bytes: for one request (enough for any object that etcd accepts), and for all requests
# together.
_MAX_BODY = 2 * 1024 * 1024
_MAX_BODIES = 64 * 1024 * 1024


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RequestRecord:
    """One request that the server received.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: Unquoted path, without the query.
        params: The query parameters; the first value of each name.
        user_agent: The User-Agent header; ``""`` if missing.
        headers: The headers by lower-case name. Credentials in ``authorization`` are redacted; its scheme is kept.
        time: Time of arrival, on trio's clock.
        audit_id: The ``Audit-ID`` header of the request, or a generated ID; the response has the same header.
        verb: The Kubernetes verb (``"list"``, ``"watch"``, ...); ``""`` for non-resource paths.
        resource: The resource; ``None`` for non-resource paths.
        namespace: Namespace in the path, or ``""``.
        name: Object name in the path, or ``""``.
        subresource: Subresource in the path, or ``""``.
        user: The authenticated user, or the user that they impersonate; ``None`` if authentication failed.
        impersonator: The authenticated user if they impersonate ``user``, else ``None``.
        status: The HTTP status of the response; ``None`` until the response starts.
        content: The body as received. ``b""`` for bodies over 2 MiB; if all bodies together exceed 64 MiB, also for
            the oldest ones.
        finished: Time on trio's clock when the response ended, whichever side ended it; ``None`` until then.
    """

    method: str
    path: str
    params: Mapping[str, str]
    user_agent: str
    headers: Mapping[str, str]
    time: float
    audit_id: str
    verb: str = ""
    resource: GVR | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: User | None = None
    impersonator: User | None = None
    status: int | None = None
    content: bytes = b""
    finished: float | None = None

    @property
    def content_type(self) -> str:
        """Media type of the body in lower case, without parameters.

        It is ``""`` without a Content-Type.
        """
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def body(self) -> Any:
        """The body decoded from JSON or YAML; ``None`` if it is empty or neither of them.

        It is decoded on each access. The type is ``Any`` so that tests can index it directly:
        ``record.body["spec"]["replicas"]``.
        """
        try:
            return msgspec.json.decode(self.content) if self.content else None
        except (ValueError, msgspec.DecodeError, RecursionError):  # a ValueError only since msgspec 0.21
            pass
        try:
            return yaml.load_document(self.content)
        except ValueError:
            return None

    @property
    def duration(self) -> float | None:
        """Seconds from arrival to the end of the response; ``None`` until then."""
        return None if self.finished is None else self.finished - self.time

    def __repr__(self) -> str:
        query = f"?{urlencode(self.params)}" if self.params else ""
        user = self.user.name if self.user is not None else "an unauthenticated user"
        acting = f" for {self.impersonator.name}" if self.impersonator is not None else ""
        outcome = "unanswered" if self.status is None else str(self.status)
        took = "" if self.duration is None else f" in {self.duration:.3f} s"
        return f"<{self.method} {self.path}{query} by {user}{acting}: {outcome}{took}>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenWatch:
    """A watch whose response has started and not ended.

    Attributes:
        resource: The watched resource.
        namespace: The watched namespace; ``""`` for all namespaces.
        params: The query parameters.
        user_agent: The User-Agent of the client.
        since: Time on trio's clock when the response started.
    """

    resource: GVR
    namespace: str
    params: Mapping[str, str]
    user_agent: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCount:
    """Number of watches of one client on one resource since the server started.

    Attributes:
        resource: The watched resource.
        user_agent: The User-Agent that identifies the client.
        opened: Total number of watches opened.
        open: Number of watches open now.
        most: Largest number of watches open at the same time.
    """

    resource: GVR
    user_agent: str
    opened: int = 0
    open: int = 0
    most: int = 0


class Audit:
    """Records requests and counts watches.

    Args:
        limit: Maximum number of requests to keep; older ones are discarded.
        new_id: Generates the audit IDs of requests that were sent without one.
    """

    def __init__(self, limit: int, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_id = new_id
        self._requests: deque[RequestRecord] = deque(maxlen=limit)
        self._with_body: deque[RequestRecord] = deque()
        self._body_bytes = 0
        self._watches: dict[RequestRecord, OpenWatch] = {}
        self._counts: dict[tuple[GVR, str], WatchCount] = {}
        self._changed = trio.Event()

    @property
    def requests(self) -> list[RequestRecord]:
        """The recorded requests as a new list, oldest first."""
        return list(self._requests)

    @property
    def open_watches(self) -> tuple[OpenWatch, ...]:
        """The open watches, oldest first."""
        return tuple(self._watches.values())

    @property
    def watch_counts(self) -> tuple[WatchCount, ...]:
        """Watch counts of each resource and client, in the order of their first watches."""
        return tuple(self._counts.values())

    async def wait_open_watches(self, count: int) -> None:
        """Wait until exactly ``count`` watches are open."""
        await trio.lowlevel.checkpoint()
        while len(self._watches) != count:
            await self._changed.wait()

    def forget_requests(self) -> None:
        """Discard all recorded requests."""
        self._requests.clear()
        self._with_body.clear()
        self._body_bytes = 0

    def received(self, request: HTTPRequest, facts: RequestFacts) -> RequestRecord:
        """Record ``request`` and return the record.

        The caller sets the fields that are not known yet, such as ``user`` and ``status``.
        """
        headers = dict(request.headers)
        if "authorization" in headers:
            scheme, space, _ = headers["authorization"].partition(" ")
            headers["authorization"] = f"{scheme} <redacted>" if space else "<redacted>"
        record = RequestRecord(
            method=request.method,
            path=request.path,
            params=request.params,
            user_agent=headers.get("user-agent", ""),
            headers=headers,
            time=trio.current_time(),
            audit_id=headers.get("audit-id") or self._new_id(),
            verb=facts.verb,
            resource=facts.resource,
            namespace=facts.namespace,
            name=facts.name,
            subresource=facts.subresource,
        )
        self._requests.append(record)
        return record

    def received_body(self, record: RequestRecord, content: bytes) -> None:
        """Record the body of a request.

        The oldest bodies are discarded if all bodies exceed the limit.
        """
        if not content or len(content) > _MAX_BODY:
            return
        record.content = content
        self._with_body.append(record)
        self._body_bytes += len(content)
        while self._body_bytes > _MAX_BODIES or len(self._with_body) > (self._requests.maxlen or 0):
            oldest = self._with_body.popleft()
            self._body_bytes -= len(oldest.content)
            oldest.content = b""

    def watch_began(self, record: RequestRecord) -> None:
        """Count the watch of ``record`` as open."""
        assert record.resource is not None, "a watch is always about a resource"
        watch = OpenWatch(
            resource=record.resource,
            namespace=record.namespace,
            params=record.params,
            user_agent=record.user_agent,
            since=trio.current_time(),
        )
        self._watches[record] = watch
        self._count(watch, 1)
        self._announce()

    def watch_ended(self, record: RequestRecord) -> None:
        """Count the watch of ``record`` as closed, if it is open."""
        if watch := self._watches.pop(record, None):
            self._count(watch, -1)
            self._announce()

    def _count(self, watch: OpenWatch, change: int) -> None:
        key = (watch.resource, watch.user_agent)
        count = self._counts.get(key) or WatchCount(resource=watch.resource, user_agent=watch.user_agent)
        now = count.open + change
        self._counts[key] = replace(count, opened=count.opened + max(change, 0), open=now, most=max(count.most, now))

    def _announce(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
