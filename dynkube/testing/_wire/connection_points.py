"""Connections to a server, in-process and over TCP, and their outages."""

from __future__ import annotations

import socket
from typing import get_args

import httpx2

from dynkube.errors import InvalidInput
from dynkube.testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube.testing._faults.effects import Disconnect, Effect, Hang
from dynkube.testing._faults.endings import EndableAnswer
from dynkube.testing._faults.outages import Outage
from dynkube.testing._wire.http import HTTPRequest
from dynkube.testing._wire.listener import Drop, InterruptibleListener, Refusal
from dynkube.testing._wire.requestinfo import facts_of


class Entrances:
    """The TCP listeners and in-process requests of a server, with their outages.

    In-process clients have no connections, so each of their requests counts as a connection.
    """

    def __init__(self) -> None:
        self._refusals: dict[Outage, tuple[Refusal, list[Outage]]] = {}
        self._doors: list[InterruptibleListener] = []
        self._answers: dict[EndableAnswer, None] = {}

    # ── outages ───────────────────────────────────────────────────────────────────────────

    def refuse(self, how: Refusal) -> Outage:
        """Refuse new connections until the returned outage is removed; open ones continue.

        Raises:
            InvalidInput: ``how`` is not a :data:`Refusal`.
        """
        if how not in get_args(Refusal):
            raise InvalidInput(f"how is {how!r}; give one of {', '.join(map(repr, get_args(Refusal)))}")
        outage = Outage(f"refuse_connections({how!r})", self._admit)
        self._refusals[outage] = how, [door.refuse(how) for door in self._doors if not door.closed]
        return outage

    def _admit(self, outage: Outage) -> None:
        _, at_doors = self._refusals.pop(outage)
        for each in at_doors:
            each.remove()

    def drop(self, how: Drop) -> int:
        """Close all TCP connections, end all in-process requests, and return their number.

        Raises:
            InvalidInput: ``how`` is not a :data:`Drop`.
        """
        if how not in get_args(Drop):
            raise InvalidInput(f"how is {how!r}; give one of {', '.join(map(repr, get_args(Drop)))}")
        for answer in self._answers:
            answer.end(how)
        return len(self._answers) + sum(door.drop(how) for door in self._doors if not door.closed)

    # ── connections ───────────────────────────────────────────────────────────────────────

    def door(self, bound: socket.socket) -> Door:
        """Return a listener on a bound socket, to which present and future outages apply."""
        door = Door(bound)
        self._doors = [other for other in self._doors if not other.closed] + [door]
        for how, at_doors in self._refusals.values():
            at_doors.append(door.refuse(how))
        return door

    def check(self) -> None:
        """Check that an in-process client can connect.

        Raises:
            httpx2.ConnectError: New connections are refused.
        """
        if self._refusal == "refuse":
            raise httpx2.ConnectError("connection refused")

    def inside(self, app: ASGIApp) -> ASGIApp:
        """Return ``app`` wrapped so that outages apply to its in-process clients."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if (effect := self._obstacle()) is not None:
                await effect.apply(facts_of(HTTPRequest.from_scope(scope)), app, scope, receive, send)
                return
            answer = EndableAnswer(scope, receive, send)
            self._answers[answer] = None
            try:
                await answer.run(app)
            finally:
                del self._answers[answer]

        return serve

    @property
    def _refusal(self) -> Refusal | None:
        """How new connections are refused; ``None`` if they are accepted.

        The oldest outage determines it.
        """
        return next((how for how, _ in self._refusals.values()), None)

    def _obstacle(self) -> Effect | None:
        match self._refusal:
            case "silent":
                return Hang()
            case "reset" | "refuse":  # "refuse" began while this request was on its way
                return Disconnect("reset")
            case _:
                return None
