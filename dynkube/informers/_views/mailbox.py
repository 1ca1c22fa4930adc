"""The pending events of one subscriber, computed from what was delivered to it.

No tasks. The mailbox gets the state of a key that *should* be visible, and computes the event from the state that was
*delivered*, never by evaluating a filter on an old object. So the events of an object alternate legally whatever races
happen upstream: a delete and a filter change at once cause one ``Deleted``, and a late filter result cannot bring an
object back. A key is pending at most once: newer states replace older ones, and if the newest equals the delivered one
the key is not pending any more. So a subscriber that sleeps for an hour takes memory per object that exists or was
delivered, not per event, and none for objects that were created and deleted meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, final

from dynkube.informers._cache.store import same_state
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key


@final
class _Synced:
    """Type of :data:`SYNCED`."""

    def __repr__(self) -> str:
        return "SYNCED"


SYNCED: Final = _Synced()
"""Returned by ``take`` when everything offered before ``mark_synced`` was taken."""


class Mailbox:
    """The difference between the delivered and the visible states of objects."""

    __slots__ = ("_initial", "_pending", "_shown", "coalesced")

    def __init__(self) -> None:
        self.coalesced: int = 0
        """The number of pending states that were replaced by newer ones."""
        self._initial = True  # until SYNCED was taken
        self._shown: dict[Key, Unstructured] = {}
        # In order of arrival. Taking the first item of a plain dict skips all removed ones at each step.
        self._pending: OrderedDict[Key | _Synced, Unstructured | None] = OrderedDict()

    def offer(self, key: Key, visible: Unstructured | None) -> bool:
        """Set the visible state of ``key``; ``None`` if it is not visible.

        Returns:
            Whether the key was not pending before and is now.
        """
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
            del pending[key]  # back to the delivered state: no event
        else:
            pending[key] = visible
        return False

    def mark_synced(self) -> None:
        """Have ``take`` return :data:`SYNCED` after everything offered so far."""
        self._pending[SYNCED] = None

    def take(self) -> tuple[InformerEvent, ...] | _Synced | None:
        """Return the next key's events; ``None`` if nothing is pending.

        There is one, or two for a new UID: ``Deleted`` and ``Added``.
        """
        if not self._pending:
            return None
        key, new = self._pending.popitem(last=False)
        if not self._pending:
            self._pending.clear()  # a dict emptied item by item does not free its memory
        if isinstance(key, _Synced):
            self._initial = False
            return key
        old = self._shown.get(key)
        if new is None:
            del self._shown[key]
            assert old is not None  # else the key would not be pending
            return (Deleted(old),)
        self._shown[key] = new
        if old is None:
            return (Added(new, self._initial),)
        if old.uid != new.uid:  # deleted and created again
            return Deleted(old), Added(new, self._initial)
        return (Updated(old, new),)

    def known_keys(self) -> set[Key]:
        """Return every key that was delivered or is pending."""
        return {key for key in self._shown.keys() | self._pending.keys() if not isinstance(key, _Synced)}

    def __len__(self) -> int:
        """The number of pending keys."""
        return len(self._pending) - (SYNCED in self._pending)

    def __bool__(self) -> bool:
        """Whether ``take`` returns something."""
        return bool(self._pending)


def _alike(shown: Unstructured | None, visible: Unstructured | None) -> bool:
    """Return whether no event is needed from one state to the other."""
    if shown is visible:
        return True
    return shown is not None and visible is not None and same_state(shown, visible) and shown == visible
