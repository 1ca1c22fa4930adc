"""One subscriber of an informer: its mailbox, and the waiting that goes with it."""

from __future__ import annotations

from collections.abc import Callable

import trio

from dynkube._bound import Bound
from dynkube.errors import ClosedError
from dynkube.informers._mailbox import SYNCED, Mailbox
from dynkube.meta import InformerEvent, Key, Unstructured


class Subscriber(Bound):
    """What the informer's task fills and a consumer empties; both live in one event loop, so no locks.

    ``on_settled`` is called when it has synced, or was closed: nobody needs to wait for it any more.
    """

    counts_for_sync = True
    """Whether the informer's ``has_synced`` waits for this one."""

    def __init__(self, on_settled: Callable[[Subscriber], None]) -> None:
        self.marked: bool = False
        """Whether the end of the initial objects has been put into the mailbox."""
        self._mailbox = Mailbox()
        self._on_settled = on_settled
        self._closed = False
        self._synced = False
        self._settled = trio.Event()  # it has synced, or was closed and never will
        self._wake = trio.Event()

    # ── the informer's side ──────────────────────────────────────────────────────────────────

    def offer(self, key: Key, visible: Unstructured | None) -> None:
        """Say what this subscriber should see of ``key`` from now on."""
        if not self._closed and self._mailbox.offer(key, visible):
            self._wake.set()

    def mark_synced(self) -> None:
        """Everything offered so far is the initial state."""
        if not self.marked:
            self.marked = True
            self._mailbox.mark_synced()
            self._wake.set()

    def known_keys(self) -> set[Key]:
        """Every key that was shown, or is about to be."""
        return self._mailbox.known_keys()

    def close(self) -> None:
        """No events from now on; what waits is dropped, and what was shown is forgotten."""
        self._closed = True
        self._mailbox = Mailbox()  # whoever keeps the subscriber keeps no objects
        self._wake.set()
        self._settled.set()
        self._on_settled(self)

    # ── the consumer's side ──────────────────────────────────────────────────────────────────

    @property
    def closed(self) -> bool:
        """Whether it gets no more events."""
        return self._closed

    @property
    def backlog(self) -> int:
        """How many objects wait to be shown."""
        return len(self._mailbox)

    @property
    def coalesced(self) -> int:
        """How many states of objects it was not shown, as newer ones came while they waited."""
        return self._mailbox.coalesced

    @property
    def has_synced(self) -> bool:
        """Whether the initial objects have been handled. Once true, stays true."""
        return self._synced

    async def wait_synced(self) -> None:
        """Wait until the initial objects have been handled; cancelling stops the waiting alone.

        Raises:
            ClosedError: it was removed, or the informer closed, before that.
        """
        await self._settled.wait()
        if not self._synced:
            raise ClosedError("it was removed before it had synced, and never will have")

    def take_nowait(self) -> tuple[InformerEvent, ...]:
        """The next key's events; none if nothing waits, or it is closed."""
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
        """The next key's events, never empty; ``None`` once closed. Waits only if there are none."""
        while not self._closed:
            if events := self.take_nowait():
                return events
            if not (self.closed or self._mailbox):
                if self._wake.is_set():  # else another consumer of the same stream waits for it already
                    self._wake = trio.Event()
                await self._wake.wait()
        return None
