"""What an informer told, with the moment at which it did: the record that ``dynkube demo`` checks and prints."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

import trio

from dynkube.cli._lines import describe, title
from dynkube.informers import Informer, Phase
from dynkube.meta import Unstructured


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was told: a state, or what happened to an object.

    Attributes:
        after: seconds since the beginning.
        word: a phase, or ``added``, ``updated``, ``deleted``.
        text: the reason of a state, or the object.
    """

    after: float
    word: str
    text: str

    @property
    def is_state(self) -> bool:
        """Whether it is about the informer, not about an object."""
        return self.word in Phase.__members__

    def __str__(self) -> str:
        return f"{self.word} {self.text}"


class Timeline:
    """Records from handlers and states. One chapter at a time: :meth:`take` begins the next."""

    def __init__(self) -> None:
        self._began = trio.current_time()
        self._entries: list[Entry] = []
        self._changed = trio.Event()

    # ── handlers ─────────────────────────────────────────────────────────────────────────────

    def added(self, obj: Unstructured) -> None:
        """For ``on_add``."""
        self._record("added", title(obj))

    def updated(self, old: Unstructured, new: Unstructured) -> None:
        """For ``on_update``."""
        self._record("updated", title(new))

    def deleted(self, obj: Unstructured) -> None:
        """For ``on_delete``."""
        self._record("deleted", title(obj))

    async def follow_states(self, informer: Informer) -> None:
        """Record each state of ``informer``, until cancelled."""
        async with aclosing(informer.states()) as states:
            async for state in states:
                self._record(state.phase, describe(state))

    def _record(self, word: str, text: str) -> None:
        self._entries.append(Entry(trio.current_time() - self._began, word, text))
        self._changed.set()
        self._changed = trio.Event()

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    @property
    def events(self) -> list[str]:
        """What happened to objects in this chapter, sorted: between objects there is no order."""
        return sorted(str(entry) for entry in self._entries if not entry.is_state)

    async def wait_for(self, events: Sequence[str], phase: Phase) -> None:
        """Wait until as many events were told as are expected, and ``phase`` is the last state told of, if any."""
        while len(self.events) < len(events) or self._last_phase not in (None, phase):
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    @property
    def _last_phase(self) -> str | None:
        return next((entry.word for entry in reversed(self._entries) if entry.is_state), None)

    def take(self) -> list[Entry]:
        """This chapter, in the order in which it was told; the next one begins."""
        chapter, self._entries = self._entries, []
        return chapter
