"""What the objects of one cache have in common: kind, apiVersion, and room for a few decoded bodies."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynkube.meta._object import Unstructured


class BodyCache:
    """Keeps the last ``limit`` decoded bodies of a cache's objects, and lets older ones go; keeps no object alive.

    Without a bound, one loop over a large cache would leave every body decoded for ever, at five
    times the memory of the JSON. Safe to use from several threads: losing a race costs a decode.
    """

    __slots__ = ("_limit", "_recent")

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        # Weak, or objects that are long gone from the cluster would stay because somebody once read them. Made at
        # once: two threads that made it when they first need it would each keep bodies in one of their own.
        self._recent: deque[weakref.ref[Unstructured]] = deque()

    def keep(self, obj: Unstructured) -> None:
        """Note that ``obj`` was decoded just now."""
        recent = self._recent
        recent.append(weakref.ref(obj))
        while len(recent) > self._limit:
            try:
                oldest = recent.popleft()()
            except IndexError:  # another thread was faster
                return
            if oldest is not None:
                oldest._body = None  # the two classes are one mechanism


class Common:
    """What the objects of one cache have in common: stored once, and not with each of them."""

    __slots__ = ("api_version", "bodies", "kind")

    def __init__(self, api_version: str | None, kind: str | None, bodies: BodyCache | None = None) -> None:
        self.api_version: str = api_version or ""
        self.kind: str = kind or ""
        self.bodies: BodyCache | None = bodies
