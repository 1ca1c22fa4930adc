"""What one subscriber has been shown, and what it is still to be shown.

Pure bookkeeping, no tasks. The mailbox is told what *should* be visible of a key now, and works out
the event from what it has *shown*, never from evaluating a filter on an old object. Hence events
alternate legally whatever races happen upstream: a delete that meets a deselect is one Deleted, a
late filter cannot resurrect an object. A key waits at most once: while it waits, newer states replace
older ones, so a subscriber that sleeps for an hour costs one entry per key, not one per event.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from dynkube.informers._store import same_state
from dynkube.meta import Added, Deleted, InformerEvent, Key, Unstructured, Updated


@final
class _Synced:
    """Type of :data:`SYNCED`."""

    def __repr__(self) -> str:
        return "SYNCED"


SYNCED: Final = _Synced()
"""What ``take`` gives when everything that was offered before ``mark_synced`` has been taken."""


class Mailbox:
    """The difference between what a subscriber was shown and what there is to see."""

    __slots__ = ("_order", "_pending", "_shown", "coalesced")

    def __init__(self) -> None:
        self.coalesced: int = 0
        """How many states of objects were replaced by newer ones while they waited."""
        self._shown: dict[Key, Unstructured] = {}
        self._pending: dict[Key, Unstructured | None] = {}
        self._order: deque[Key | _Synced] = deque()  # each pending key once, in order of arrival

    def offer(self, key: Key, visible: Unstructured | None) -> bool:
        """Say what is to be seen of ``key`` now; ``None`` for nothing. Returns whether that is news."""
        if key in self._pending:
            if self._pending[key] is not visible:
                self.coalesced += 1
            self._pending[key] = visible
            return False
        if self._shown.get(key) is visible:
            return False
        self._pending[key] = visible
        self._order.append(key)
        return True

    def mark_synced(self) -> None:
        """Have ``take`` give :data:`SYNCED` after all that was offered until now."""
        self._order.append(SYNCED)

    def take(self) -> tuple[InformerEvent, ...] | _Synced | None:
        """The next key's events, oldest first: none (it changed and changed back), one, or two (a new UID).

        ``None`` means that nothing waits.
        """
        if not self._order:
            return None
        key = self._order.popleft()
        if isinstance(key, _Synced):
            return key
        old, new = self._shown.get(key), self._pending.pop(key)
        if not self._pending:
            self._pending.clear()  # a dict that is emptied one by one keeps the room it once needed
        if new is None:
            if old is None:
                return ()
            del self._shown[key]
            return (Deleted(old),)
        self._shown[key] = new
        if old is None:
            return (Added(new),)
        if old is new or (same_state(old, new) and old == new):  # it went, unseen, and came back as it was
            return ()
        if old.uid != new.uid:  # deleted and made again, unseen
            return Deleted(old), Added(new)
        return (Updated(old, new),)

    def known_keys(self) -> set[Key]:
        """Every key that was shown or waits to be."""
        return self._shown.keys() | self._pending.keys()

    def __len__(self) -> int:
        """How many keys wait."""
        return len(self._pending)

    def __bool__(self) -> bool:
        """Whether ``take`` has something to give."""
        return bool(self._order)
