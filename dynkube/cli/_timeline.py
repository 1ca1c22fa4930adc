"""A record of handler calls and states with their times."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

import trio

from dynkube.cli._lines import describe, title
from dynkube.informers import Informer, Phase
from dynkube.meta import Unstructured


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A state of the informer, or a handler call.

    Attributes:
        after: seconds since the start.
        word: a phase, or ``added``, ``updated``, ``deleted``.
        text: the reason of the state, or the object.
    """

    after: float
    word: str
    text: str

    @property
    def is_state(self) -> bool:
        """Whether it is a state."""
        return self.word in Phase.__members__

    def __str__(self) -> str:
        return f"{self.word} {self.text}"


class Timeline:
    """Records handler calls and states, until :meth:`take` returns and clears them."""

    def __init__(self) -> None:
        self._began = trio.current_time()
        self._entries: list[TimelineEntry] = []
        self._changed = trio.Event()

    # ── handlers ─────────────────────────────────────────────────────────────────────────────

    def added(self, obj: Unstructured) -> None:
        """Record an added object; the ``on_add`` function."""
        self._record("added", title(obj))

    def updated(self, old: Unstructured, new: Unstructured) -> None:
        """Record an updated object; the ``on_update`` function."""
        self._record("updated", title(new))

    def deleted(self, obj: Unstructured) -> None:
        """Record a deleted object; the ``on_delete`` function."""
        self._record("deleted", title(obj))

    async def follow_states(self, informer: Informer) -> None:
        """Record each state of ``informer``, until cancelled."""
        async with aclosing(informer.states()) as states:
            async for state in states:
                self._record(state.phase, describe(state))

    def _record(self, word: str, text: str) -> None:
        self._entries.append(TimelineEntry(trio.current_time() - self._began, word, text))
        self._changed.set()
        self._changed = trio.Event()

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    @property
    def events(self) -> list[str]:
        """The recorded handler calls, sorted as text, since calls for different objects have no defined order."""
        return sorted(str(entry) for entry in self._entries if not entry.is_state)

    async def wait_for(self, events: Sequence[str], phase: Phase) -> None:
        """Wait for as many handler calls as in ``events``, and until the last recorded state, if any, is ``phase``."""
        while len(self.events) < len(events) or self._last_phase not in (None, phase):
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    @property
    def _last_phase(self) -> str | None:
        return next((entry.word for entry in reversed(self._entries) if entry.is_state), None)

    def take(self) -> list[TimelineEntry]:
        """Return the recorded entries in order, and clear the record."""
        chapter, self._entries = self._entries, []
        return chapter
