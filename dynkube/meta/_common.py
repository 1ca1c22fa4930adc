"""State shared by the objects of one cache: apiVersion, kind, decoded bodies, and in which form they are stored."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from dynkube.meta._frozen import FrozenDict

if TYPE_CHECKING:
    from dynkube.meta._compact import BodyCodec


class BodyCache:
    """Keeps at most ``limit`` decoded bodies of a cache's objects.

    The oldest bodies are evicted, and those of deleted objects like others. Without a limit, one loop over a large
    cache would leave every body decoded, at five times the memory of the JSON. It refers to bytes and bodies and not to
    objects, since these refer to it: the garbage collector, which does not track them, would never find such a cycle.
    Thread-safe: if two threads decode the same object at the same time, one of the results is dropped.
    """

    __slots__ = ("_bodies", "_limit")

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        # By the identity of the bytes, which each entry keeps alive. Every operation on it is atomic.
        self._bodies: OrderedDict[int, tuple[bytes, FrozenDict]] = OrderedDict()

    def get(self, raw: bytes) -> FrozenDict | None:
        """Return the body decoded from ``raw``; ``None`` if it is not kept."""
        entry = self._bodies.get(id(raw))
        return None if entry is None else entry[1]

    def keep(self, raw: bytes, body: FrozenDict) -> None:
        """Keep the body decoded from ``raw``; drop the oldest bodies beyond the limit."""
        bodies = self._bodies
        bodies[id(raw)] = (raw, body)
        while len(bodies) > self._limit:
            try:
                bodies.popitem(last=False)
            except KeyError:  # another thread emptied it
                return


class Common:
    """Fields stored once for all objects of a cache."""

    __slots__ = ("api_version", "bodies", "codec", "kind", "metadata_only")

    def __init__(
        self,
        api_version: str | None,
        kind: str | None,
        bodies: BodyCache | None = None,
        codec: BodyCodec | None = None,
        *,
        metadata_only: bool = False,
    ) -> None:
        self.api_version: str = api_version or ""
        self.kind: str = kind or ""
        self.bodies: BodyCache | None = bodies
        self.codec: BodyCodec | None = codec
        """Decompresses the bytes that these objects store; ``None`` if they store JSON."""
        self.metadata_only: bool = metadata_only
        """Whether everything but apiVersion, kind and metadata was left out."""
