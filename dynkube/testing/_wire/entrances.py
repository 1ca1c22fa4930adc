"""All ways into a server, in its process and by TCP, and the outages that close them."""

from __future__ import annotations

import socket
from typing import get_args

import httpx2

from dynkube.errors import InvalidInput
from dynkube.testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube.testing._faults.effects import Disconnect, Effect, Hang
from dynkube.testing._faults.endings import EndableAnswer
from dynkube.testing._faults.outages import Outage
from dynkube.testing._wire.door import Door, Drop, Refusal
from dynkube.testing._wire.http import HTTPRequest
from dynkube.testing._wire.requestinfo import facts_of


class Entrances:
    """The doors of TCP, and what comes in without one.

    In the process there are no connections apart from requests, so each request counts as one.
    """

    def __init__(self) -> None:
        self._refusals: dict[Outage, tuple[Refusal, list[Outage]]] = {}
        self._doors: list[Door] = []
        self._answers: dict[EndableAnswer, None] = {}

    # ── outages ───────────────────────────────────────────────────────────────────────────

    def refuse(self, how: Refusal) -> Outage:
        """Keep new connections out; what is open goes on.

        Raises:
            InvalidInput: ``how`` is no such way.
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
        """End what is open; how much that was.

        Raises:
            InvalidInput: ``how`` is no such way.
        """
        if how not in get_args(Drop):
            raise InvalidInput(f"how is {how!r}; give one of {', '.join(map(repr, get_args(Drop)))}")
        for answer in self._answers:
            answer.end(how)
        return len(self._answers) + sum(door.drop(how) for door in self._doors if not door.closed)

    # ── what comes in ─────────────────────────────────────────────────────────────────────

    def door(self, bound: socket.socket) -> Door:
        """A door at a bound socket, closed by the outages there are."""
        door = Door(bound)
        self._doors = [other for other in self._doors if not other.closed] + [door]
        for how, at_doors in self._refusals.values():
            at_doors.append(door.refuse(how))
        return door

    def check(self) -> None:
        """Let a client in the process in.

        Raises:
            httpx2.ConnectError: Nobody listens.
        """
        if self._refusal == "refuse":
            raise httpx2.ConnectError("connection refused")

    def inside(self, app: ASGIApp) -> ASGIApp:
        """``app`` for clients in the process."""

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
        """What new connections meet: of several outages the oldest decides."""
        return next((how for how, _ in self._refusals.values()), None)

    def _obstacle(self) -> Effect | None:
        match self._refusal:
            case "silent":
                return Hang()
            case "reset" | "refuse":  # the latter began when this was on its way in
                return Disconnect("reset")
            case _:
                return None
