"""The pending events of one subscriber, computed from the states delivered to it.

No tasks. For each key the mailbox gets the *visible* state: the object, or ``None`` if it does not exist or is hidden
by the filter. It computes an event from the state that was last *delivered* to the visible state, and never evaluates a
filter on an old object. So the events of an object always come in the order added, updated, deleted, despite races: a
deletion and a filter change at the same time cause one ``Deleted``, and a late filter result cannot bring an object
back. A key is pending at most once: newer states replace older ones, and if the newest state equals the delivered one,
the key is not pending any more. So a subscriber that sleeps for an hour takes memory per object that exists or was
delivered, not per event, and none for objects that were created and deleted meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import chain
from typing import Final, final

from dynkube.informers._cache.store import same_state
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key

_SPLIT: Final = 8192  # delivered states; moving these into parts takes 2 ms
_PARTS: Final = 128


@final
class _Synced:
    """Type of :data:`SYNCED`."""

    def __repr__(self) -> str:
        return "SYNCED"


SYNCED: Final = _Synced()
"""Returned by ``take`` once, after all events that were offered before ``mark_synced`` were taken."""


class _Delivered:
    """The states that were delivered, by key.

    Not one dict, which blocks the event loop for 0.1 s when it doubles to a million keys, and for as long when it is
    freed. Nor the map of the cache, with which one ``offer`` and ``take`` cost 2.3 us instead of 1.3.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: tuple[dict[Key, Unstructured], ...] = ({},)  # by hash; their number is a power of two

    def get(self, key: Key) -> Unstructured | None:
        """Return the state of ``key``; ``None`` if it has none."""
        parts = self._parts
        return parts[hash(key) & len(parts) - 1].get(key)

    def put(self, key: Key, obj: Unstructured) -> None:
        """Set the state of ``key``."""
        parts = self._parts
        part = parts[hash(key) & len(parts) - 1]
        part[key] = obj
        if len(part) > _SPLIT and len(parts) == 1:
            self._split(part)

    def remove(self, key: Key) -> None:
        """Remove the state of ``key``, which must have one."""
        parts = self._parts
        del parts[hash(key) & len(parts) - 1][key]

    def keys(self) -> set[Key]:
        """Return all keys."""
        return set().union(*self._parts)

    def values(self) -> Iterator[Unstructured]:
        """Iterate over all states, which must not change meanwhile."""
        return chain.from_iterable(part.values() for part in self._parts)

    def release(self) -> Iterator[None]:
        """Return an iterator that frees the states in short steps; few are freed at once."""
        parts, self._parts = list(self._parts), ({},)
        return _dropped(parts) if len(parts) > 1 else iter(())

    def _split(self, whole: dict[Key, Unstructured]) -> None:
        parts: list[dict[Key, Unstructured]] = [{} for _ in range(_PARTS)]
        for key, obj in whole.items():
            parts[hash(key) & _PARTS - 1][key] = obj
        self._parts = tuple(parts)


def _dropped(parts: list[dict[Key, Unstructured]]) -> Iterator[None]:
    while parts:
        parts.pop()
        yield


class Mailbox:
    """The difference between the delivered and the visible states of objects."""

    __slots__ = ("_initial", "_pending", "_shown", "coalesced")

    def __init__(self) -> None:
        self.coalesced: int = 0
        """The number of pending states that were replaced by newer ones."""
        self._initial = True  # becomes False when SYNCED was taken
        self._shown = _Delivered()
        # In order of arrival. Taking the first item of a plain dict would skip all removed items each time.
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
        """Return the events of the next pending key; ``None`` if nothing is pending.

        This is one event; if the UID changed there are two, ``Deleted`` and ``Added``.
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
            self._shown.remove(key)
            assert old is not None  # a key that is neither delivered nor visible is not pending
            return (Deleted(old),)
        self._shown.put(key, new)
        if old is None:
            return (Added(new, self._initial),)
        if old.uid != new.uid:  # deleted and created again
            return Deleted(old), Added(new, self._initial)
        return (Updated(old, new),)

    def known_keys(self) -> set[Key]:
        """Return every key that was delivered or is pending."""
        return {key for key in self._shown.keys() | self._pending.keys() if not isinstance(key, _Synced)}

    def delivered(self) -> Iterator[Unstructured]:
        """Iterate over the delivered states, in no particular order; until the next ``take``."""
        return self._shown.values()

    def release(self) -> Iterator[None]:
        """Return an iterator that frees the delivered states in short steps; the mailbox is not used any more."""
        return self._shown.release()

    def __len__(self) -> int:
        """The number of pending keys."""
        return len(self._pending) - (SYNCED in self._pending)

    def __bool__(self) -> bool:
        """Whether ``take`` returns something."""
        return bool(self._pending)


def _alike(shown: Unstructured | None, visible: Unstructured | None) -> bool:
    """Return whether the two states are equal, so that no event is needed."""
    if shown is visible:
        return True
    return shown is not None and visible is not None and same_state(shown, visible) and shown == visible
