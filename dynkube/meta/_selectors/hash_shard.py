"""Shards by hash ranges, as the ``shardSelector`` of list and watch requests (KEP-5866, alpha in Kubernetes 1.36).

The hash, the ranges and the notation are those of ``k8s.io/apimachinery/pkg/sharding`` v0.36 and of
``k8s.io/apiserver/pkg/sharding/parser.go``. The server can also hash the namespace, which is not offered here: FNV-1a
mixes the last characters of a string into its low bits only, so that ``team-1`` to ``team-9`` are in one range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dynkube.errors import InvalidInput
from dynkube.meta._object import Unstructured

_HASHES: Final = 1 << 64  # all are less than this
_OFFSET_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3


@dataclass(frozen=True, slots=True)
class HashShard:
    """One of several equal parts of a collection, by a hash of each object's UID.

    The parts of one ``count`` are disjoint, and together they are everything. An object stays in its part as long as it
    exists; one that is created again under the same name has another UID. ``str()`` is the value of the query parameter
    ``shardSelector``.

    Attributes:
        index: of this part, from 0.
        count: how many parts there are. If it changes, most objects get another index.

    Raises:
        InvalidInput: not ``0 <= index < count``.
    """

    index: int
    count: int
    _start: int = field(init=False, repr=False, compare=False)
    _end: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("index", "count"):
            value: object = getattr(self, name)  # callers are not always type-checked
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidInput(f"{name}={value!r}: pass an integer")
        if not 0 <= self.index < self.count <= _HASHES:
            raise InvalidInput(
                f"index={self.index}, count={self.count}: pass a count of 1 or more, and 0 <= index < count"
            )
        object.__setattr__(self, "_start", self.index * _HASHES // self.count)
        object.__setattr__(self, "_end", (self.index + 1) * _HASHES // self.count)

    def matches(self, obj: Unstructured) -> bool:
        """Return whether an object is in this part. Does not decode its body.

        Objects without a UID, as some aggregated APIs have, are all in the same part, as on the server.
        """
        return self._start <= fnv1a_64(obj.uid) < self._end

    def __str__(self) -> str:
        # The server requires 16 digits; only the end of the last part has 17.
        return f"shardRange(object.metadata.uid, '{self._start:#018x}', '{self._end:#018x}')"


def shard_text(shard: HashShard | None) -> str:
    """Return a shard in words, for messages and tables; ``""`` for ``None``."""
    return "" if shard is None else f"shard {shard.index} of {shard.count}"


def fnv1a_64(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a string in UTF-8 (Go's ``fnv.New64a``).

    About 10 µs for a UID. The packages that have this hash are the same loop, with more calls.
    """
    value = _OFFSET_BASIS
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return value
