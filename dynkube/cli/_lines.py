"""The line output of ``dynkube watch``: text, JSON, or names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import msgspec

from dynkube._text.tables import printable
from dynkube.cli._arguments import kubectl_name
from dynkube.cli._changes import changed_fields, summary
from dynkube.cli._flags import in_flags
from dynkube.cli._follow import subject, word
from dynkube.informers import State
from dynkube.meta import InformerEvent, Unstructured, Updated


class LineOutput(Protocol):
    """Where lines are written."""

    async def line(self, text: str | bytes) -> None:
        """Write one line; it is not buffered when this returns."""


class Lines:
    """One line per state and per event: time, event type, object, and changed fields."""

    def __init__(self, out: LineOutput, now: Callable[[], datetime] = datetime.now) -> None:
        self._out = out
        self._now = now

    async def state(self, state: State) -> None:
        """``12:00:01  ABSENT    CRDNotFound: no CRD ... is installed``."""
        await self._line(state.phase, describe(state))

    async def event(self, event: InformerEvent) -> None:
        """``12:00:01  MODIFIED  shop/web  spec.hostnames``."""
        await self._line(word(event), title(subject(event)), what_changed(event))

    async def _line(self, happened: str, *details: str) -> None:
        parts = (f"{self._now():%H:%M:%S}", f"{happened:<8}", *details)
        await self._out.line(printable("  ".join(part for part in parts if part)).rstrip())


class JSONLines:
    """One ``{"type": "ADDED", "object": {...}}`` per event, as in a watch response.

    States go to ``notes``, so that the output contains events only.
    """

    def __init__(self, out: LineOutput, notes: Lines) -> None:
        self._out = out
        self._notes = notes

    async def state(self, state: State) -> None:
        """To the notes."""
        await self._notes.state(state)

    async def event(self, event: InformerEvent) -> None:
        """Write the object's JSON as received, without ``managedFields``."""
        await self._out.line(b'{"type":"%b","object":%b}' % (word(event).encode(), _one_line(subject(event).json)))


class Names:
    """One ``httproute.gateway.networking.k8s.io/web`` per event, as ``kubectl -o name``; states go to ``notes``."""

    def __init__(self, out: LineOutput, notes: Lines) -> None:
        self._out = out
        self._notes = notes

    async def state(self, state: State) -> None:
        """To the notes."""
        await self._notes.state(state)

    async def event(self, event: InformerEvent) -> None:
        """Write the object's name; the same for all event types."""
        await self._out.line(printable(kubectl_name(subject(event))))


def describe(state: State) -> str:
    """Return the reason and message of a state."""
    return ": ".join(part for part in (state.reason, in_flags(state.message)) if part)


def title(obj: Unstructured) -> str:
    """Return ``namespace/name``, or the name of a cluster-scoped object."""
    return "/".join(part for part in obj.key if part)


def what_changed(event: InformerEvent) -> str:
    """Return a summary of the fields that an update changed; ``""`` for other events."""
    return summary(changed_fields(event.old, event.new)) if isinstance(event, Updated) else ""


def _one_line(raw: bytes) -> bytes:
    return msgspec.json.format(raw, indent=-1) if b"\n" in raw else raw
