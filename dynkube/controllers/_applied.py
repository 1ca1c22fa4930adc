"""Remembers what a controller has applied, so that an apply that would change nothing is not sent.

A server-side apply without an effect still costs the API server a request. Whether it would have one follows from two
comparisons: with what was applied to the object before, and of the object in the cache with the one that the server
returned then. If neither has changed, no field of the apply has. Status and managedFields are not compared, as others
write them all the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import msgspec

from dynkube.meta import Unstructured

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_MOST: Final = 1000  # objects of one key; more are those of names that change, which are not applied again
_VOLATILE: Final = ("resourceVersion", "managedFields", "generation")


@dataclass(frozen=True, slots=True)
class _Last:
    uid: str
    applied: bytes
    """Digest of what was applied."""
    content: bytes
    """Digest of the object that the server returned."""
    version: str
    """Its resourceVersion."""


class AppliedBefore:
    """The last apply to each object, for one key that is reconciled."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[tuple[str, str, str], _Last] = {}

    def __len__(self) -> int:
        return len(self._last)

    def unchanged(self, kind: str, desired: Unstructured, cached: Unstructured | None) -> bool:
        """Return whether an apply would change nothing.

        Args:
            kind: names the resource.
            desired: what would be applied.
            cached: the object in the cache; ``None`` if it is not there.
        """
        last = self._last.get((kind, *desired.key))
        if cached is None or last is None or last.uid != cached.uid or last.applied != _digest(desired, whole=True):
            return False
        return cached.resource_version == last.version or last.content == _digest(cached, whole="status" in desired)

    def remember(self, kind: str, desired: Unstructured, stored: Unstructured) -> None:
        """Record an apply and what the server returned."""
        key = (kind, *desired.key)
        self._last.pop(key, None)
        if len(self._last) >= _MOST:
            del self._last[next(iter(self._last))]
        self._last[key] = _Last(
            stored.uid,
            _digest(desired, whole=True),
            _digest(stored, whole="status" in desired),
            stored.resource_version,
        )


def _digest(obj: Unstructured, *, whole: bool) -> bytes:
    """Return a digest of an object's content; ``whole`` if its status belongs to it."""
    content = obj.to_dict()
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        for field in _VOLATILE:
            metadata.pop(field, None)
    if not whole:
        content.pop("status", None)
    return blake2b(_ENCODER.encode(content), digest_size=16).digest()
