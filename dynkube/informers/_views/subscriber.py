"""One subscriber of an informer: its mailbox, and waiting for events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import trio

from dynkube._bound import Bound
from dynkube.errors import ClosedError
from dynkube.informers._views.mailbox import SYNCED, Mailbox
from dynkube.meta import InformerEvent, Unstructured
from dynkube.meta._object import Key


class Subscriber(Bound):
    """A queue of events, filled by the informer's task and emptied by a consumer.

    Both run in one event loop, so it needs no locks.

    Args:
        on_settled: called when the subscriber has synced or was closed, so that waiting for its sync can end.
    """

    counts_for_sync = True
    """Whether the informer's ``has_synced`` waits for this subscriber."""

    def __init__(self, on_settled: Callable[[Subscriber], None]) -> None:
        self.marked: bool = False
        """Whether the end of the initial objects was put into the mailbox."""
        self._mailbox = Mailbox()
        self._on_settled = on_settled
        self._delivered: Iterator[None] = iter(())  # frees the delivered states, once closed
        self._closed = False
        self._synced = False
        self._settled = trio.Event()  # set when the subscriber has synced, or was closed before that
        self._wake = trio.Event()

    # ── the informer's side ──────────────────────────────────────────────────────────────────

    def offer(self, key: Key, visible: Unstructured | None) -> None:
        """Set the visible state of ``key``: the object, or ``None`` if it is not visible."""
        if not self._closed and self._mailbox.offer(key, visible):
            self._wake.set()

    def mark_synced(self) -> None:
        """Mark everything offered so far as the initial list."""
        if not self.marked:
            self.marked = True
            self._mailbox.mark_synced()
            self._wake.set()

    def known_keys(self) -> Iterator[list[Key]]:
        """Iterate over every key that was delivered or is pending, in lists of some thousand."""
        return self._mailbox.known_keys()

    def close(self) -> None:
        """Drop pending events, deliver no more, and release all objects.

        What was delivered is released in steps if it is much: by the handler's task, when that ends.
        """
        if self._closed:
            return
        self._closed = True
        self._delivered = self._mailbox.release()
        self._mailbox = Mailbox()  # so that a reference to a closed subscriber keeps no objects alive
        self._wake.set()
        self._settled.set()
        self._on_settled(self)

    # ── the consumer's side ──────────────────────────────────────────────────────────────────

    @property
    def closed(self) -> bool:
        """Whether the subscriber was closed, so that no more events are delivered."""
        return self._closed

    @property
    def backlog(self) -> int:
        """The number of objects with a pending event."""
        return len(self._mailbox)

    @property
    def coalesced(self) -> int:
        """The number of pending states that were replaced by newer ones."""
        return self._mailbox.coalesced

    @property
    def has_synced(self) -> bool:
        """Whether the initial objects have been handled. Once true, stays true."""
        return self._synced

    async def wait_synced(self) -> None:
        """Wait until the initial objects have been handled.

        Cancellation only stops the waiting.

        Raises:
            ClosedError: the subscriber was removed, or the informer closed, before that.
        """
        await self._settled.wait()
        if not self._synced:
            raise ClosedError("the subscriber was removed before its initial sync")

    def get(self, key: Key) -> Unstructured | None:
        """Return the object with this key as last delivered, or ``None``; ``None`` if closed."""
        return self._mailbox.get(key)

    def take_nowait(self) -> tuple[InformerEvent, ...]:
        """Return the events of the next key; ``()`` if nothing is pending, or if closed."""
        while not self._closed:
            events = self._mailbox.take()
            if events is None or isinstance(events, tuple):
                return events or ()
            assert events is SYNCED
            self._synced = True
            self._settled.set()
            self._on_settled(self)
        return ()

    async def take(self) -> tuple[InformerEvent, ...] | None:
        """Wait for the events of the next key, at least one; ``None`` once closed."""
        while not self._closed:
            if events := self.take_nowait():
                return events
            if not (self.closed or self._mailbox):
                if self._wake.is_set():  # if not, another consumer of the same stream waits for this event already
                    self._wake = trio.Event()
                await self._wake.wait()
        return None
