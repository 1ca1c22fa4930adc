"""What the server has seen: every request in order, and the watches that are open now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import trio

from dynkube.meta import GVR
from dynkube.testing._wire.http import HTTPRequest


@dataclass(slots=True, kw_only=True, eq=False)
class RequestRecord:
    """One request the server received.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: As sent, unquoted, without the query.
        params: The query; the last value of each name.
        user_agent: As sent; ``""`` where there was none.
        headers: As sent, names in lower case; the value of ``authorization`` is replaced by its scheme.
        time: When it arrived, on trio's clock.
        verb: The Kubernetes verb (``"list"``, ``"watch"``, ...); ``""`` for paths that are no resources.
        resource: What it was about; ``None`` for paths that are no resources.
        namespace: From the path.
        name: From the path.
        status: The HTTP status it was answered with; ``None`` until the answer starts.
    """

    method: str
    path: str
    params: Mapping[str, str]
    user_agent: str
    headers: Mapping[str, str] = field(repr=False)
    time: float
    verb: str = ""
    resource: GVR | None = None
    namespace: str = ""
    name: str = ""
    status: int | None = None


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
    """Records requests (the last ``limit`` of them) and counts watches."""

    def __init__(self, limit: int) -> None:
        self._requests: deque[RequestRecord] = deque(maxlen=limit)
        self._watches: dict[int, OpenWatch] = {}
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

    def received(self, request: HTTPRequest) -> RequestRecord:
        """Record ``request``; what is learnt about it later is set on the record."""
        headers = dict(request.headers)
        if "authorization" in headers:
            headers["authorization"] = f"{headers['authorization'].partition(' ')[0]} <redacted>"
        record = RequestRecord(
            method=request.method,
            path=request.path,
            params=request.params,
            user_agent=headers.get("user-agent", ""),
            headers=headers,
            time=trio.current_time(),
        )
        self._requests.append(record)
        return record

    @contextmanager
    def watching(self, record: RequestRecord) -> Iterator[None]:
        """Count the watch of ``record`` as open inside the block."""
        assert record.resource is not None, "a watch is always about a resource"
        watch = OpenWatch(
            resource=record.resource,
            namespace=record.namespace,
            params=record.params,
            user_agent=record.user_agent,
            since=trio.current_time(),
        )
        self._watches[id(watch)] = watch
        self._count(watch, 1)
        self._announce()
        try:
            yield
        finally:
            del self._watches[id(watch)]
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
