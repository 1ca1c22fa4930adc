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

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeAlias, final

import msgspec

from dynkube.informers._cache.store import same_state
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured, Updated
from dynkube.meta._object import Key

_SPLIT: Final = 512  # states; moving these takes 0.1 ms, and all handlers of an informer do so at the same object
_PARTS: Final = 128
_BLOCK: Final = 1024  # entries of the queue
_FREED: Final = 8  # blocks that are freed in one step
_WITHDRAWALS: Final = _BLOCK // 4  # after which withdrawn entries are removed from one block


@final
class _Synced:
    """Type of :data:`SYNCED`."""

    def __repr__(self) -> str:
        return "SYNCED"


SYNCED: Final = _Synced()
"""Returned by ``take`` once, after all events that were offered before ``mark_synced`` were taken."""


class _Pending(msgspec.Struct, gc=False, eq=False):
    """The state of a key that is pending; without garbage collection, as there may be a million."""

    namespace: str
    name: str
    delivered: Unstructured | None
    visible: Unstructured | None
    withdrawn: bool = False


_State: TypeAlias = Unstructured | _Pending
_Entry: TypeAlias = _Pending | _Synced


class _SameName(msgspec.Struct, gc=False, eq=False):
    """The states of several keys that have the same name, by namespace."""

    states: dict[str, _State]


_Part: TypeAlias = dict[str, "_State | _SameName"]  # by name


class _States:
    """The state of each key: the delivered one, or a pending entry.

    In ``_PARTS`` dicts once there are many: one dict would block the event loop for 0.1 s when it doubles to a million
    keys, and for as long when it is freed. Keys of the dicts are the name strings of the objects. With a tuple of
    namespace and name for each key it takes 60 bytes more, and the garbage collector visits the dicts. With the map of
    the cache one ``offer`` and ``take`` cost 2.3 us instead of 1.4.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: tuple[_Part, ...] = ({},)  # by hash; their number is a power of two

    def part(self, name: str) -> _Part:
        """Return the part that has the keys with this name."""
        parts = self._parts
        return parts[hash(name) & len(parts) - 1]

    def replace(self, entry: _Pending, state: Unstructured | None) -> None:
        """Make ``state`` the state of the key that has ``entry``; ``None`` removes the key."""
        name = entry.name
        part = self.part(name)
        found = part[name]
        if found is entry:
            if state is not None:
                part[name] = state
                return
        else:
            assert isinstance(found, _SameName)
            if state is not None:
                found.states[entry.namespace] = state
                return
            del found.states[entry.namespace]
            if found.states:
                return
        del part[name]
        if not part:
            part.clear()  # a dict emptied key by key does not free its memory

    def lists(self) -> Iterator[list[_State]]:
        """Iterate over all states, in lists of some thousand, each made when it is returned."""
        for part in self._parts:
            states: list[_State] = []
            for found in part.values():
                if isinstance(found, _SameName):
                    states.extend(found.states.values())
                else:
                    states.append(found)
            yield states

    def take_parts(self) -> list[_Part]:
        """Remove all states and return them, so that they can be freed part by part."""
        parts, self._parts = list(self._parts), ({},)
        return parts

    def divide(self) -> None:
        """Divide the states into parts; does nothing if they are divided already."""
        if len(self._parts) > 1:
            return
        parts: tuple[_Part, ...] = tuple({} for _ in range(_PARTS))
        for name, found in self._parts[0].items():
            parts[hash(name) & _PARTS - 1][name] = found
        self._parts = parts


def _of_namespace(found: _State | _SameName, namespace: str) -> _State | None:
    """Return the state of the key with this namespace, of what a part has for its name."""
    if isinstance(found, _SameName):
        return found.states.get(namespace)
    return found if found.namespace == namespace else None


def _add_same_name(part: _Part, entry: _Pending) -> None:
    """Add the entry of a key to a part that has keys of other namespaces with its name."""
    found = part[entry.name]
    if isinstance(found, _SameName):
        found.states[entry.namespace] = entry
    else:
        part[entry.name] = _SameName({found.namespace: found, entry.namespace: entry})


class _Queue:
    """The pending entries in order of arrival, and :data:`SYNCED` among them.

    In tuples of ``_BLOCK`` entries, which the garbage collector stops tracking. It visits all entries of a list, a
    deque or an ``OrderedDict``: 30 ms for each full collection with a backlog of 300,000 objects, for which an
    ``OrderedDict`` also blocks the event loop for 70 ms when it grows.

    An entry is withdrawn if its object is back in the delivered state, so that there is no event: it stays, and is
    skipped later. So that these do not accumulate, withdrawals remove them from one block after another.
    """

    __slots__ = ("_blocks", "_cursor", "_first", "_last", "_withdrawals")

    def __init__(self) -> None:
        self._first: list[_Entry] = []  # in reverse order
        self._blocks: deque[tuple[_Entry, ...]] = deque()
        self._last: list[_Entry] = []
        self._cursor = 0  # the block from which withdrawn entries are removed next
        self._withdrawals = 0

    def append(self, entry: _Entry) -> None:
        """Add an entry at the end."""
        self._last.append(entry)
        if len(self._last) == _BLOCK:
            self._blocks.append(tuple(self._last))
            self._last = []

    def pop(self) -> _Entry | None:
        """Remove and return the first entry that was not withdrawn, or ``None`` if the queue has no such entry."""
        while self._first or self._advance():
            entry = self._first.pop()
            if not _is_withdrawn(entry):
                return entry
        return None

    def _advance(self) -> bool:
        if self._blocks:
            self._first = list(self._blocks.popleft())
            self._cursor = max(0, self._cursor - 1)
        else:
            self._first, self._last = self._last, []
        self._first.reverse()
        return bool(self._first)

    def withdraw(self, entry: _Pending) -> None:
        """Have ``pop`` skip ``entry``."""
        entry.withdrawn = True
        self._withdrawals += 1
        if self._withdrawals % _WITHDRAWALS or not self._blocks:
            return
        self._cursor %= len(self._blocks)
        live = tuple(each for each in self._blocks[self._cursor] if not _is_withdrawn(each))
        if live:
            self._blocks[self._cursor] = live
            self._cursor += 1
        else:
            del self._blocks[self._cursor]

    def free(self) -> Iterator[None]:
        """Return an iterator that frees all entries in short steps."""
        while self._blocks:
            for _ in range(min(_FREED, len(self._blocks))):
                self._blocks.pop()
            yield


def _is_withdrawn(entry: _Entry) -> bool:
    return isinstance(entry, _Pending) and entry.withdrawn


def _freed(parts: list[_Part], queue: _Queue) -> Iterator[None]:
    while parts:
        parts.pop()
        yield
    yield from queue.free()


class Mailbox:
    """The difference between the delivered and the visible states of objects."""

    __slots__ = ("_initial", "_marked", "_pending", "_queue", "_states", "coalesced")

    def __init__(self) -> None:
        self.coalesced: int = 0
        """The number of pending states that were replaced by newer ones."""
        self._initial = True  # becomes False when SYNCED was taken
        self._marked = False  # whether SYNCED is in the queue
        self._pending = 0  # keys
        self._states = _States()
        self._queue = _Queue()

    def offer(self, key: Key, visible: Unstructured | None) -> bool:
        """Set the visible state of ``key``; ``None`` if it is not visible.

        Returns:
            Whether the key was not pending before and is now.
        """
        namespace, name = key
        part = self._states.part(name)
        found = part.get(name)
        state = None if found is None else _of_namespace(found, namespace)
        if isinstance(state, _Pending):
            if state.visible is not visible:
                self.coalesced += 1
            state.visible = visible
            if _alike(state.delivered, visible):
                self._withdraw(state)
            return False
        if _alike(state, visible):
            return False
        entry = _Pending(namespace, name, state, visible)
        if found is state:  # no key of another namespace has this name
            part[name] = entry
            if len(part) == _SPLIT:
                self._states.divide()
        else:
            _add_same_name(part, entry)
        self._queue.append(entry)
        self._pending += 1
        return True

    def _withdraw(self, entry: _Pending) -> None:
        """Cause no event for ``entry``, as its key is back in the delivered state."""
        self._states.replace(entry, entry.delivered)
        self._queue.withdraw(entry)
        self._pending -= 1

    def mark_synced(self) -> None:
        """Have ``take`` return :data:`SYNCED` after everything offered so far."""
        if not self._marked:
            self._marked = True
            self._queue.append(SYNCED)

    def take(self) -> tuple[InformerEvent, ...] | _Synced | None:
        """Return the events of the next pending key; ``None`` if nothing is pending.

        This is one event; if the UID changed there are two, ``Deleted`` and ``Added``.
        """
        entry = self._queue.pop()
        if entry is None:
            return None
        if isinstance(entry, _Synced):
            self._initial = self._marked = False
            return entry
        old, new = entry.delivered, entry.visible
        self._states.replace(entry, new)
        self._pending -= 1
        if new is None:
            assert old is not None  # a key that is neither delivered nor visible is not pending
            return (Deleted(old),)
        if old is None:
            return (Added(new, self._initial),)
        if old.uid != new.uid:  # deleted and created again
            return Deleted(old), Added(new, self._initial)
        return (Updated(old, new),)

    def known_keys(self) -> Iterator[list[Key]]:
        """Iterate over every key that was delivered or is pending, in lists of some thousand.

        The mailbox may change between two lists. Later lists may or may not contain keys added since.
        """
        for states in self._states.lists():
            yield [(state.namespace, state.name) for state in states]

    def get(self, key: Key) -> Unstructured | None:
        """Return the delivered state of a key, or ``None``."""
        namespace, name = key
        found = self._states.part(name).get(name)
        state = None if found is None else _of_namespace(found, namespace)
        return state.delivered if isinstance(state, _Pending) else state

    def release(self) -> Iterator[None]:
        """Remove everything, and return an iterator that frees it in short steps; few states are freed at once."""
        parts, queue = self._states.take_parts(), self._queue
        self._queue, self._pending, self._marked = _Queue(), 0, False
        return _freed(parts, queue) if len(parts) > 1 else iter(())

    def __len__(self) -> int:
        """The number of pending keys."""
        return self._pending

    def __bool__(self) -> bool:
        """Whether ``take`` returns something."""
        return self._pending > 0 or self._marked


def _alike(shown: Unstructured | None, visible: Unstructured | None) -> bool:
    """Return whether the two states are equal, so that no event is needed."""
    if shown is visible:
        return True
    return shown is not None and visible is not None and same_state(shown, visible) and shown == visible
