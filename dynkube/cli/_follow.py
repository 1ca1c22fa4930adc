"""Following an informer: its states and its events, as they come, to whoever reports them."""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

import trio

from dynkube.informers import Informer, InformerStatistics, State
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured


class Reporter(Protocol):
    """Shows what an informer tells. It may wait for whoever reads; what comes meanwhile is coalesced, not lost."""

    async def state(self, state: State) -> None:
        """The informer is in another state."""

    async def event(self, event: InformerEvent) -> None:
        """An object came, changed or went."""


async def follow(informer: Informer, reporter: Reporter) -> None:
    """Report until cancelled, or until the informer is closed. States and events are each in order."""
    async with informer.events() as events, trio.open_nursery() as nursery:
        nursery.start_soon(_report_states, informer, reporter)
        async for event in events:
            await reporter.event(event)
        nursery.cancel_scope.cancel()


async def _report_states(informer: Informer, reporter: Reporter) -> None:
    async with aclosing(informer.states()) as states:
        async for state in states:
            await reporter.state(state)


def word(event: InformerEvent) -> str:
    """What happened, in the words of a watch."""
    return "ADDED" if isinstance(event, Added) else "DELETED" if isinstance(event, Deleted) else "MODIFIED"


def subject(event: InformerEvent) -> Unstructured:
    """The object it happened to, in its newest state."""
    return event.object if isinstance(event, Added | Deleted) else event.new


def counts(statistics: InformerStatistics) -> str:
    """What an informer asked of the server and got, as one line of ``name=number``."""
    names = ("lists", "watches", "events", "bookmarks", "failures", "objects")
    return " ".join(f"{name}={getattr(statistics, name)}" for name in names)
