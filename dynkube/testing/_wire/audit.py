"""What the server has seen: every request in order, and the watches that are open now."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import msgspec
import trio

from dynkube.meta import GVR, yaml
from dynkube.testing._calls.users import User
from dynkube.testing._faults.facts import RequestFacts
from dynkube.testing._wire.http import HTTPRequest

# Enough for every object that etcd would take, and for all of the requests of a test.
_MAX_BODY = 2 * 1024 * 1024
_MAX_BODIES = 64 * 1024 * 1024


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RequestRecord:
    """One request the server received.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: As sent, unquoted, without the query.
        params: The query; the first value of each name.
        user_agent: As sent; ``""`` where there was none.
        headers: As sent, names in lower case; the value of ``authorization`` is replaced by its scheme.
        time: When it arrived, on trio's clock.
        audit_id: What the client sent as ``Audit-ID``, else an identifier of the server's; the answer has it too.
        verb: The Kubernetes verb (``"list"``, ``"watch"``, ...); ``""`` for paths that are no resources.
        resource: What it was about; ``None`` for paths that are no resources.
        namespace: From the path.
        name: From the path.
        subresource: From the path.
        user: Who asked, or whom they acted for; ``None`` for who could not say who they are.
        impersonator: Who acted for ``user``, if anybody did.
        status: The HTTP status it was answered with; ``None`` until the answer starts.
        content: The body as it was received. Bodies over 2 MiB are left out, and so are the oldest ones where all
            bodies together are over 64 MiB.
        finished: When the answer ended, on trio's clock, whichever side ended it; ``None`` until then.
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
        """Media type of the body, lower-case, without parameters; ``""`` where none was sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def body(self) -> Any:
        """The body decoded from JSON or YAML, afresh on each access; ``None`` where there is none, or it is neither.

        Annotated as ``Any`` because tests look into it right away: ``record.body["spec"]["replicas"]``.
        """
        try:
            return msgspec.json.decode(self.content) if self.content else None
        except (ValueError, RecursionError):
            pass
        try:
            return yaml.load_document(self.content)
        except ValueError:
            return None

    @property
    def duration(self) -> float | None:
        """Seconds from its arrival to the end of the answer; ``None`` until then."""
        return None if self.finished is None else self.finished - self.time

    def __repr__(self) -> str:
        query = f"?{urlencode(self.params)}" if self.params else ""
        who = self.user.name if self.user is not None else "nobody"
        acting = f" for {self.impersonator.name}" if self.impersonator is not None else ""
        outcome = "unanswered" if self.status is None else str(self.status)
        took = "" if self.duration is None else f" in {self.duration:.3f} s"
        return f"<{self.method} {self.path}{query} by {who}{acting}: {outcome}{took}>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenWatch:
    """A watch whose answer has started and not ended.

    Attributes:
        resource: What is watched.
        namespace: ``""`` for all namespaces.
        params: Its query.
        user_agent: Who watches.
        since: When its answer started, on trio's clock.
    """

    resource: GVR
    namespace: str
    params: Mapping[str, str]
    user_agent: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCount:
    """The watches that one client has had on one resource since the server began.

    Attributes:
        resource: What is watched.
        user_agent: Who watches.
        opened: How many there were in all.
        open: How many are open now.
        most: How many were open at once, at most.
    """

    resource: GVR
    user_agent: str
    opened: int = 0
    open: int = 0
    most: int = 0


class Audit:
    """Records requests and counts watches.

    Args:
        limit: How many requests are remembered.
        new_id: Makes the identifiers of requests whose clients sent none.
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
        """Oldest first; a new list."""
        return list(self._requests)

    @property
    def open_watches(self) -> tuple[OpenWatch, ...]:
        """Oldest first."""
        return tuple(self._watches.values())

    @property
    def watch_counts(self) -> tuple[WatchCount, ...]:
        """One for each resource and client, in the order in which they first watched."""
        return tuple(self._counts.values())

    async def wait_open_watches(self, count: int) -> None:
        """Return when exactly ``count`` watches are open."""
        await trio.lowlevel.checkpoint()
        while len(self._watches) != count:
            await self._changed.wait()

    def forget_requests(self) -> None:
        """Start with an empty record again."""
        self._requests.clear()
        self._with_body.clear()
        self._body_bytes = 0

    def received(self, request: HTTPRequest, facts: RequestFacts) -> RequestRecord:
        """Record ``request``; what is learnt about it later is set on the record."""
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
        """Record the body of a request, and let go of the oldest ones where they are too much together."""
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
        """Count the watch of ``record`` as open from now on."""
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
        """Count the watch of ``record``, if it is an open one, as open no more."""
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
