"""The way between the program and the server: requests and events are counted, and perturbations applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final, Protocol

import msgspec
import trio

from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, wait_disconnect, without_header
from dynkube_testing._faults.endings import EndableAnswer
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._perturbation.recording import Recording, is_lease_write, is_write, name_of, write_of
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.requestinfo import facts_of

_BURST: Final = 50  # equal requests that are served at once, while a perturbation is active
_AFTERMATH: Final = 60.0  # seconds after its end in which a program may not have seen yet that it has ended


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the program.

    Attributes:
        facts: What it is.
        write: The number of the write, counted from 1; 0 for other requests.
        lease: The number of the write of a Lease, counted from 1; 0 for other requests.
    """

    facts: RequestFacts
    write: int
    lease: int


class Behaviour(Protocol):
    """A perturbation at work in one run."""

    #: Whether it has affected anything.
    applied: bool
    #: Virtual time at which it is over; infinite if it has begun and its end is not known yet.
    until: float

    async def serve(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by calling ``app``, or without it."""
        ...

    def arriving(self, resource: str, number: int) -> bool:
        """Notice that the n-th event of a resource is about to be sent; ``False`` ends the watch instead."""
        ...

    def held_until(self, resource: str) -> float:
        """Return the virtual time until which the events of a resource are held."""
        ...


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Event(msgspec.Struct):
    type: str = ""
    object: _Object = msgspec.field(default_factory=_Object)


class _Pace:
    """Slows a program down that sends the same request again and again while it cannot see the cluster as it is.

    A controller that does not see yet that an owner is gone creates its children again as soon as the garbage collector
    has deleted them. In a cluster each round takes some time, and there are few until the deletion is seen. In virtual
    time a round takes none, and there would be no end.
    """

    def __init__(self) -> None:
        self._due: dict[tuple[str, str], float] = {}

    def delay(self, method: str, path: str) -> float:
        """Return the seconds by which a request is late: none for a burst, then so that one a second is served."""
        now = trio.current_time()
        due = max(self._due.get((method, path), now), now) + 1.0
        self._due[method, path] = due
        return max(0.0, due - now - _BURST)


class Wire:
    """The ASGI application that the program's clients talk to.

    Args:
        app: The server.
        recording: Gets what happens.
        behaviours: The perturbations of the run; the first is next to the program.
        revision: Returns the server's current revision.
        too_many: Called when the program has sent more than ``most`` requests.
        most: See ``too_many``.
    """

    def __init__(
        self,
        app: ASGIApp,
        recording: Recording,
        behaviours: Sequence[Behaviour],
        *,
        revision: Callable[[], int],
        too_many: Callable[[], None],
        most: int,
    ) -> None:
        self._app = app
        self._recording = recording
        self._behaviours = behaviours
        self._revision = revision
        self._too_many = too_many
        self._most = most
        self._watches: dict[EndableAnswer, str] = {}
        self._pace = _Pace()
        self.used_since = inf
        """When the first request arrived; infinite before that."""

    def end_watches(self, resource: str) -> None:
        """End the program's watches of a resource."""
        for answer, watched in self._watches.items():
            if watched == resource:
                answer.end("clean")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the program."""
        self._recording.requests += 1
        self.used_since = min(self.used_since, trio.current_time())
        if self._recording.requests > self._most:
            self._too_many()
            await wait_disconnect(receive)
            return
        facts = facts_of(HTTPRequest.from_scope(scope))
        if self._perturbed and (delay := self._pace.delay(facts.method, facts.path)):
            await trio.sleep(delay)
        app: ASGIApp = partial(self._answer, facts)
        request = self._numbered(facts)
        for behaviour in reversed(self._behaviours):
            app = partial(behaviour.serve, request, app)
        if facts.verb != "watch":
            await app(scope, receive, send)
            return
        watch = EndableAnswer(scope, receive, send)
        self._watches[watch] = name_of(facts.resource)
        try:
            await watch.run(app)
        finally:
            del self._watches[watch]

    @property
    def _perturbed(self) -> bool:
        """Whether a perturbation is active, or was until recently."""
        now = trio.current_time()
        return any(each.applied and now < each.until + _AFTERMATH for each in self._behaviours)

    def _numbered(self, facts: RequestFacts) -> Request:
        recording = self._recording
        if is_lease_write(facts):
            recording.leases += 1
            return Request(facts, 0, recording.leases)
        if not is_write(facts):
            return Request(facts, 0, 0)
        recording.writes.append(write_of(facts))
        recording.last_write = trio.current_time()
        recording.revisions.append(self._revision())
        return Request(facts, len(recording.writes), 0)

    async def _answer(self, facts: RequestFacts, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the server, and its response to the program."""
        passing = _Passing(facts, self._recording, self._behaviours, send, self._watches_ended(facts))
        await self._app(without_header(scope, b"accept-encoding"), receive, passing.send)

    def _watches_ended(self, facts: RequestFacts) -> Callable[[], None]:
        return partial(self.end_watches, name_of(facts.resource))


class _Passing:
    """One response on its way to the program."""

    def __init__(
        self,
        facts: RequestFacts,
        recording: Recording,
        behaviours: Sequence[Behaviour],
        send: Send,
        end: Callable[[], None],
    ) -> None:
        self._facts = facts
        self._recording = recording
        self._behaviours = behaviours
        self._send = send
        self._end = end
        self._resource = name_of(facts.resource)
        self._status = 0
        self._rest = b""

    async def send(self, message: Message) -> None:
        """Send a part of the response, an event when its time has come."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            if self._facts.verb == "watch":
                self._recording.answered(self._facts, self._status)
        elif message["type"] == "http.response.body":
            if self._facts.verb == "watch" and self._status == 200:
                await self._send_events(message)
                return
            if self._facts.verb not in {"watch", "get", ""} and not message.get("more_body", False):
                generated = "" if self._facts.name else _name_in(message.get("body", b""))
                self._recording.answered(self._facts, self._status, generated)
        await self._send(message)

    async def _send_events(self, message: Message) -> None:
        *lines, self._rest = (self._rest + message.get("body", b"")).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line, type=_Event)
            if event.type in {"ADDED", "MODIFIED", "DELETED"} and not self._arrives():
                self._end()
                await trio.sleep_forever()  # until the watch has ended
            await self._held()
            if event.type != "BOOKMARK":
                metadata = event.object.metadata
                self._recording.note(
                    "program", f"sees {self._resource} {metadata.namespace}/{metadata.name}: {event.type}"
                )
            await self._send({**message, "body": line + b"\n", "more_body": True})
        if not message.get("more_body", False):
            await self._send({**message, "body": self._rest})

    async def _held(self) -> None:
        """Wait until no perturbation holds events back; one may begin while another one ends."""
        await trio.lowlevel.checkpoint()
        until = -inf
        while until < (latest := max((each.held_until(self._resource) for each in self._behaviours), default=-inf)):
            until = latest
            await trio.sleep_until(max(until, trio.current_time()))

    def _arrives(self) -> bool:
        self._recording.events[self._resource] += 1
        number = self._recording.events[self._resource]
        passing = [each.arriving(self._resource, number) for each in self._behaviours]  # each of them must notice
        return all(passing)


def _name_in(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Object).metadata.name
    except msgspec.DecodeError:
        return ""
