"""State shared by the objects of one cache: apiVersion, kind, decoded bodies."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, Protocol


class _Decoded(Protocol):
    """An object that keeps its decoded body."""

    _body: Any


class BodyCache:
    """Keeps at most ``limit`` decoded bodies of a cache's objects.

    The oldest bodies are evicted. It has weak references, so it keeps no object alive. Without a limit, one loop over
    a large cache would leave every body decoded, at five times the memory of the JSON. Thread-safe: if two threads
    decode the same object at the same time, one of the results is dropped.
    """

    __slots__ = ("_limit", "_recent")

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        # Weak references, so that objects deleted from the cluster do not stay in memory because they were read once.
        # Not created on first use, as two threads could then each create a deque.
        self._recent: deque[weakref.ref[_Decoded]] = deque()

    def keep(self, obj: _Decoded) -> None:
        """Record that ``obj`` was just decoded; drop the oldest bodies beyond the limit."""
        recent = self._recent
        recent.append(weakref.ref(obj))
        while len(recent) > self._limit:
            try:
                oldest = recent.popleft()()
            except IndexError:  # another thread emptied it
                return
            if oldest is not None:
                oldest._body = None  # private access is deliberate: both classes implement the cache together


class Common:
    """Fields stored once for all objects of a cache."""

    __slots__ = ("api_version", "bodies", "kind")

    def __init__(self, api_version: str | None, kind: str | None, bodies: BodyCache | None = None) -> None:
        self.api_version: str = api_version or ""
        self.kind: str = kind or ""
        self.bodies: BodyCache | None = bodies
