"""Connections to a server, in-process and over TCP, and their outages."""

from __future__ import annotations

import socket

import httpx2

from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._faults.effects import Disconnect, Effect, Hang
from dynkube_testing._faults.endings import EndableAnswer, check_how
from dynkube_testing._faults.outages import Outage
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.listener import Drop, InterruptibleListener, Refusal
from dynkube_testing._wire.requestinfo import facts_of


class ConnectionPoints:
    """The TCP listeners of a server and its in-process clients, with the outages that affect both.

    In-process clients have no connections, so each of their requests counts as a connection.
    """

    def __init__(self) -> None:
        self._refusals: dict[Outage, tuple[Refusal, list[Outage]]] = {}
        self._listeners: list[InterruptibleListener] = []
        self._answers: dict[EndableAnswer, None] = {}

    # ── outages ───────────────────────────────────────────────────────────────────────────

    def refuse(self, how: Refusal) -> Outage:
        """Refuse new connections; open ones continue.

        Raises:
            InvalidInput: ``how`` is not a known way to refuse.
        """
        check_how(how, Refusal)
        outage = Outage(f"refuse_connections({how!r})", self._admit)
        self._refusals[outage] = how, [listener.refuse(how) for listener in self._listeners if not listener.closed]
        return outage

    def _admit(self, outage: Outage) -> None:
        _, undo = self._refusals.pop(outage)
        for each in undo:
            each.remove()

    def drop(self, how: Drop) -> int:
        """End all open connections and requests, and return their number.

        Raises:
            InvalidInput: ``how`` is not a known way to end a connection.
        """
        check_how(how, Drop)
        for answer in self._answers:
            answer.end(how)
        return len(self._answers) + sum(listener.drop(how) for listener in self._listeners if not listener.closed)

    # ── what comes in ─────────────────────────────────────────────────────────────────────

    def make_listener(self, bound: socket.socket) -> InterruptibleListener:
        """Return a listener on a bound socket, subject to current and future outages."""
        listener = InterruptibleListener(bound)
        self._listeners = [other for other in self._listeners if not other.closed] + [listener]
        for how, undo in self._refusals.values():
            undo.append(listener.refuse(how))
        return listener

    def check(self) -> None:
        """Check that an in-process client can connect.

        Raises:
            httpx2.ConnectError: The server does not listen.
        """
        if self._refusal == "refuse":
            raise httpx2.ConnectError("connection refused")

    def inside(self, app: ASGIApp) -> ASGIApp:
        """Return ``app`` wrapped for in-process clients, so that outages apply."""

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
        """How new connections are refused; if there are several outages, the oldest decides."""
        return next((how for how, _ in self._refusals.values()), None)

    def _obstacle(self) -> Effect | None:
        match self._refusal:
            case "silent":
                return Hang()
            case "reset" | "refuse":  # "refuse" began while this request was on its way
                return Disconnect("reset")
            case _:
                return None
