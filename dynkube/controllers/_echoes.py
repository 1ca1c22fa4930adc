"""What the informers show of a key's own writes, and how long a key waits that goes on writing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dynkube.controllers._rate_limits import ExponentialBackoff
from dynkube.controllers._watches import ObjectKey
from dynkube.meta import Unstructured

_INITIAL: Final = 0.005  # seconds before the second reconcile in a row that follows from nothing but own writes
_CAP: Final = 60.0
REMEMBERED: Final = 1000
"""Changes and own writes that are compared for one call. Others count as changes by others, which are never delayed."""


Change: TypeAlias = tuple[str, str]
"""A state of an object that was written, or that an informer shows: UID, and resourceVersion, ``""`` if deleted."""


def change_of(old: Unstructured | None, new: Unstructured | None) -> Change:
    """Return what an informer shows.

    Args:
        old: the object before; ``None`` if it was added.
        new: the object after; ``None`` if it was deleted.
    """
    if new is not None:
        return new.uid, new.resource_version
    return ("" if old is None else old.uid), ""


@dataclass(slots=True)
class _Writes:
    """What a key has written."""

    before: set[Change] = field(default_factory=set)  # in the call before
    now: set[Change] = field(default_factory=set)  # since its last call began


class Echoes:
    """The own writes of the keys of one controller.

    A reconcile is called again when the informer shows what it has written, and then should find nothing to write. One
    that writes each time, such as a time or a count, would be called without end: from the second such call in a row it
    waits 5 ms, and twice that each further time, up to a minute. What others change is not delayed, and ends the row.
    """

    def __init__(self) -> None:
        self._writes: dict[ObjectKey, _Writes] = {}
        self._backoff: ExponentialBackoff[ObjectKey] = ExponentialBackoff(_INITIAL, _CAP)
        self._delays: dict[ObjectKey, float] = {}

    def began(self, key: ObjectKey) -> None:
        """Begin a call."""
        if (writes := self._writes.get(key)) is not None:
            writes.before, writes.now = writes.now, set()

    def wrote(self, key: ObjectKey, obj: Unstructured) -> None:
        """Remember an object as the key has written it."""
        self._remember(key, (obj.uid, obj.resource_version))

    def deleted(self, key: ObjectKey, uid: str) -> None:
        """Remember an object that the key has deleted."""
        self._remember(key, (uid, ""))

    def _remember(self, key: ObjectKey, write: Change) -> None:
        now = self._writes.setdefault(key, _Writes()).now
        if len(now) < REMEMBERED:
            now.add(write)

    def ended(self, key: ObjectKey, *, by_change: bool) -> None:
        """End a call that did not fail.

        Args:
            key: its key.
            by_change: whether others have changed something; otherwise it was called because of its own writes, because
                it had failed, or at the time that it had said.
        """
        writes = self._writes.get(key)
        if writes is None or not writes.now:
            self.forget(key)
        elif not by_change:
            self._delays[key] = self._backoff.delay(key, 0.0)
        elif self._delays.pop(key, None) is not None:
            self._backoff.forget(key)

    def forget(self, key: ObjectKey) -> None:
        """Forget a key that is not needed any more."""
        self._writes.pop(key, None)
        self._delays.pop(key, None)
        self._backoff.forget(key)

    def has(self, key: ObjectKey, change: Change) -> bool:
        """Return whether a change is one that the key has made itself, as far as it has had the response."""
        writes = self._writes.get(key)
        return writes is not None and (change in writes.now or change in writes.before)

    def delay(self, key: ObjectKey) -> float:
        """Return the seconds for which a key waits after a change of its own."""
        return self._delays.get(key, 0.0)
