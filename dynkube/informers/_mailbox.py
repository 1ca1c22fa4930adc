"""What one subscriber has been shown, and what it is still to be shown.

Pure bookkeeping, no tasks. The mailbox is told what *should* be visible of a key now, and works out
the event from what it has *shown*, never from evaluating a filter on an old object. Hence events
alternate legally whatever races happen upstream: a delete that meets a deselect is one Deleted, a
late filter cannot resurrect an object. A key waits at most once: while it waits, newer states replace
older ones, and where the newest is what the subscriber was shown, the key waits no more. So a subscriber
that sleeps for an hour costs an entry for each object that is there or was shown, not for each event, and
nothing for objects that came and went meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
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

    __slots__ = ("_initial", "_pending", "_shown", "coalesced")

    def __init__(self) -> None:
        self.coalesced: int = 0
        """How many states of objects were replaced by newer ones while they waited."""
        self._initial = True  # until SYNCED was taken
        self._shown: dict[Key, Unstructured] = {}
        # In order of arrival. A plain dict would look through what was taken from its front at each step.
        self._pending: OrderedDict[Key | _Synced, Unstructured | None] = OrderedDict()

    def offer(self, key: Key, visible: Unstructured | None) -> bool:
        """Say what is to be seen of ``key`` now; ``None`` for nothing. Returns whether that is news."""
        pending = self._pending
        shown = self._shown.get(key)
        if key not in pending:
            if _alike(shown, visible):
                return False
            pending[key] = visible
            return True
        if pending[key] is not visible:
            self.coalesced += 1
        if _alike(shown, visible):
            del pending[key]  # it came and went, or went and came back as it was: there is nothing to tell
        else:
            pending[key] = visible
        return False

    def mark_synced(self) -> None:
        """Have ``take`` give :data:`SYNCED` after all that was offered until now."""
        self._pending[SYNCED] = None

    def take(self) -> tuple[InformerEvent, ...] | _Synced | None:
        """The next key's events, oldest first: one, or two (a new UID). ``None`` means that nothing waits."""
        if not self._pending:
            return None
        key, new = self._pending.popitem(last=False)
        if not self._pending:
            self._pending.clear()  # a dict that is emptied one by one keeps the room it once needed
        if isinstance(key, _Synced):
            self._initial = False
            return key
        old = self._shown.get(key)
        if new is None:
            del self._shown[key]
            assert old is not None  # else it would not wait
            return (Deleted(old),)
        self._shown[key] = new
        if old is None:
            return (Added(new, self._initial),)
        if old.uid != new.uid:  # deleted and made again, unseen
            return Deleted(old), Added(new, self._initial)
        return (Updated(old, new),)

    def known_keys(self) -> set[Key]:
        """Every key that was shown or waits to be."""
        return {key for key in self._shown.keys() | self._pending.keys() if not isinstance(key, _Synced)}

    def __len__(self) -> int:
        """How many keys wait."""
        return len(self._pending) - (SYNCED in self._pending)

    def __bool__(self) -> bool:
        """Whether ``take`` has something to give."""
        return bool(self._pending)


def _alike(shown: Unstructured | None, visible: Unstructured | None) -> bool:
    """Whether a subscriber that was shown the one has nothing to hear of the other."""
    if shown is visible:
        return True
    return shown is not None and visible is not None and same_state(shown, visible) and shown == visible
