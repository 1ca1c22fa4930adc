"""Passes the states and events of an informer to a reporter."""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

import trio

from dynkube.informers import Informer, InformerStatistics, State
from dynkube.meta import Added, Deleted, InformerEvent, Unstructured


class Reporter(Protocol):
    """Shows the states and events of an informer to the user.

    Its methods may block while the output is read slowly, as through a pipe. Meanwhile the informer merges successive
    events of the same object, so the latest state of each object is still shown.
    """

    async def state(self, state: State) -> None:
        """The state of the informer has changed."""

    async def event(self, event: InformerEvent) -> None:
        """An object was added, updated or deleted."""


async def follow(informer: Informer, reporter: Reporter) -> None:
    """Report until cancelled or the informer is closed.

    States are in order, and so are events.
    """
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
    """Return the watch event type: ADDED, MODIFIED or DELETED."""
    return "ADDED" if isinstance(event, Added) else "DELETED" if isinstance(event, Deleted) else "MODIFIED"


def subject(event: InformerEvent) -> Unstructured:
    """Return the newest state of the event's object."""
    return event.object if isinstance(event, Added | Deleted) else event.new


def counts(statistics: InformerStatistics) -> str:
    """Return the numbers of requests, events and failures of an informer as one line of ``name=number``."""
    names = ("lists", "watches", "events", "bookmarks", "failures", "objects")
    return " ".join(f"{name}={getattr(statistics, name)}" for name in names)
