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

_SPLIT: Final = 8192  # states; moving these into parts takes 2 ms
_PARTS: Final = 128
_BLOCK: Final = 1024  # entries of the queue
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


class _States:
    """The state of each key: the delivered one, or a pending entry.

    By namespace, and those of a large namespace in ``_PARTS`` dicts. One dict would block the event loop for 0.1 s when
    it doubles to a million keys, and for as long when it is freed. Keys are strings, which the objects have anyway:
    with tuples as keys it takes 70 bytes more for each object, and the garbage collector visits the dicts. With the map
    of the cache one ``offer`` and ``take`` cost 2.3 us instead of 1.0.
    """

    __slots__ = ("_namespaces",)

    def __init__(self) -> None:
        self._namespaces: dict[str, _Part | tuple[_Part, ...]] = {}

    def get(self, namespace: str, name: str) -> _State | None:
        """Return the state of a key; ``None`` if it has none."""
        part = self._namespaces.get(namespace)
        if part is None:
            return None
        return part.get(name) if isinstance(part, dict) else part[hash(name) & _PARTS - 1].get(name)

    def put(self, namespace: str, name: str, state: _State) -> None:
        """Set the state of a key."""
        part = self._namespaces.get(namespace)
        if part is None:
            self._namespaces[namespace] = {name: state}
        elif isinstance(part, dict):
            part[name] = state
            if len(part) > _SPLIT:
                self._namespaces[namespace] = _divided(part)
        else:
            part[hash(name) & _PARTS - 1][name] = state

    def remove(self, namespace: str, name: str) -> None:
        """Remove the state of a key, which must have one."""
        part = self._namespaces[namespace]
        if isinstance(part, dict):
            del part[name]
            if not part:
                del self._namespaces[namespace]
        else:
            del part[hash(name) & _PARTS - 1][name]

    def parts(self) -> Iterator[tuple[str, list[tuple[str, _State]]]]:
        """Iterate over all states, by namespace and in lists of some thousand, each made when it is returned."""
        for namespace, part in list(self._namespaces.items()):
            for some in (part,) if isinstance(part, dict) else part:
                yield namespace, list(some.items())

    def take_parts(self) -> list[_Part]:
        """Remove all states and return them, so that they can be freed part by part."""
        namespaces, self._namespaces = self._namespaces, {}
        return [some for part in namespaces.values() for some in ((part,) if isinstance(part, dict) else part)]


_Part: TypeAlias = dict[str, _State]  # by name


def _divided(whole: _Part) -> tuple[_Part, ...]:
    parts: tuple[_Part, ...] = tuple({} for _ in range(_PARTS))
    for name, state in whole.items():
        parts[hash(name) & _PARTS - 1][name] = state
    return parts


class _Queue:
    """The pending entries in order of arrival, and :data:`SYNCED` among them.

    In tuples of ``_BLOCK`` entries, which the garbage collector stops tracking. It visits all entries of a list, a
    deque or an ``OrderedDict``: 30 ms for each full collection with a backlog of 300,000 objects, for which an
    ``OrderedDict`` also blocks the event loop for 70 ms when it grows.

    An entry that is withdrawn stays and is skipped later. So that these do not accumulate, withdrawals remove them from
    one block after another.
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
        """Remove and return the first entry that was not withdrawn; ``None`` if there is none."""
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
            self._blocks.pop()
            yield

    def __len__(self) -> int:
        """The number of entries, with those that were withdrawn and not removed yet."""
        return len(self._first) + sum(map(len, self._blocks)) + len(self._last)


def _is_withdrawn(entry: _Entry) -> bool:
    return isinstance(entry, _Pending) and entry.withdrawn


def _freed(parts: list[_Part], queue: _Queue) -> Iterator[None]:
    while len(parts) > 1:
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
        state = self._states.get(namespace, name)
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
        self._states.put(namespace, name, entry)
        self._queue.append(entry)
        self._pending += 1
        return True

    def _withdraw(self, entry: _Pending) -> None:
        """Cause no event for ``entry``, as its key is back in the delivered state."""
        self._deliver(entry, entry.delivered)
        self._queue.withdraw(entry)

    def _deliver(self, entry: _Pending, state: Unstructured | None) -> None:
        """Replace a pending entry by the delivered state."""
        self._pending -= 1
        if state is None:
            self._states.remove(entry.namespace, entry.name)
        else:
            self._states.put(entry.namespace, entry.name, state)

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
        self._deliver(entry, new)
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

        The mailbox may change between two lists. The next ones may have keys that are new since, or lack them.
        """
        for namespace, part in self._states.parts():
            yield [(namespace, name) for name, _ in part]

    def delivered(self) -> Iterator[Unstructured]:
        """Iterate over the delivered states, in no particular order; until the next ``take``."""
        for _, part in self._states.parts():
            for _, state in part:
                delivered = state.delivered if isinstance(state, _Pending) else state
                if delivered is not None:
                    yield delivered

    def release(self) -> Iterator[None]:
        """Return an iterator that frees all states in short steps; few are freed at once.

        The mailbox has none any more, and nothing pending.
        """
        queue, self._queue, self._pending, self._marked = self._queue, _Queue(), 0, False
        return _freed(self._states.take_parts(), queue)

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
