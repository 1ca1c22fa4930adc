"""What each family of perturbations does to the requests and events of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Final
from urllib.parse import parse_qsl, urlencode

import trio

from dynkube.errors import APIError, NoMatch
from dynkube_testing._asgi import ASGIApp, Message, Receive, Scope, Send, outlive_client, wait_disconnect
from dynkube_testing._faults.effects import Disconnect
from dynkube_testing._faults.refusals import Refuse
from dynkube_testing._perturbation.backup import Backup
from dynkube_testing._perturbation.plans import Perturbation
from dynkube_testing._perturbation.recording import Recording, name_of
from dynkube_testing._perturbation.states import TOUCHED
from dynkube_testing._perturbation.wire import Request
from dynkube_testing._server import APIServer

_OTHER_HOLDER: Final = "another-holder"
_INSTANT: Final = 0.01  # seconds of virtual time between two looks at a CRD that comes or goes
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


@dataclass(slots=True)
class Surroundings:
    """What behaviours can reach.

    Attributes:
        server: The server, behind all perturbations.
        recording: The record of the run.
        crash: Ends the program at once, and starts it again after this many seconds.
        start_soon: Starts a task of the run.
    """

    server: APIServer
    recording: Recording
    crash: Callable[[float], None]
    start_soon: Callable[..., None]

    def note(self, perturbation: Perturbation, text: str = "") -> None:
        """Add the beginning of a perturbation to the timeline."""
        self.recording.note("fault", f"{perturbation}{f': {text}' if text else ''}")


class _Quiet:
    """A behaviour that does nothing."""

    def __init__(self, perturbation: Perturbation, around: Surroundings) -> None:
        self._perturbation = perturbation
        self._around = around
        self.applied = False
        self.until = -inf

    async def serve(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)

    def arriving(self, resource: str, number: int) -> bool:
        return True

    def held_until(self, resource: str) -> float:
        return -inf

    def _begin(self, text: str = "") -> None:
        self.applied = True
        self.until = trio.current_time() + self._perturbation.seconds
        self._around.note(self._perturbation, text)

    @property
    def _active(self) -> bool:
        return self.applied and trio.current_time() < self.until


class _AtWrite(_Quiet):
    """A behaviour that begins with the n-th write."""

    async def serve(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if request.write == self._perturbation.at and not self.applied:
            self._begin()
            await self.strike(request, app, scope, receive, send)
        else:
            await self.later(request, app, scope, receive, send)

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the write at which it begins."""
        await self.later(request, app, scope, receive, send)

    async def later(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer any other request."""
        await app(scope, receive, send)


class _Crash(_AtWrite):
    """The program is killed at its n-th write, before the server has it or before the response, and started again."""

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if self._perturbation.how == "processed":
            await app(scope, receive, _discard)
        self._around.crash(self._perturbation.seconds)
        await wait_disconnect(receive)


class _Stale(_AtWrite):
    """The program is killed at its n-th write, and then reads from a server that is behind for some time."""

    _revision = 0

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._revision = self._around.recording.revisions[max(0, request.write - self._perturbation.back)]
        await app(scope, receive, _discard)
        self._around.crash(1.0)
        self.until = trio.current_time() + 1.0 + self._perturbation.seconds
        await wait_disconnect(receive)

    async def later(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        facts = request.facts
        if self._active and facts.verb == "list" and facts.params.get("resourceVersion") == "0":
            query = dict(parse_qsl(scope["query_string"].decode()))
            query |= {"resourceVersion": str(self._revision), "resourceVersionMatch": "Exact"}
            scope = {**scope, "query_string": urlencode(query).encode()}
        await app(scope, receive, send)

    def held_until(self, resource: str) -> float:
        return self.until if self.applied else -inf


class _Lag(_Quiet):
    """From its n-th event on, the watches of a resource are late by some seconds."""

    def arriving(self, resource: str, number: int) -> bool:
        if resource == self._perturbation.resource and number == self._perturbation.at and not self.applied:
            self._begin()
        return True

    def held_until(self, resource: str) -> float:
        return self.until if self.applied and resource == self._perturbation.resource else -inf


class _Unobserved(_Quiet):
    """From its n-th event on a resource cannot be read for some seconds, and then has to be listed again."""

    _expired = False

    def arriving(self, resource: str, number: int) -> bool:
        if resource != self._perturbation.resource or number != self._perturbation.at or self.applied:
            return True
        self._begin()
        self._expired = True
        return False

    async def serve(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        facts = request.facts
        if self.applied and name_of(facts.resource) == self._perturbation.resource and facts.verb in {"list", "watch"}:
            await trio.sleep_until(max(self.until, trio.current_time()))
            if facts.verb == "watch" and self._expired:
                self._expired = False
                await Refuse(410).apply(facts, app, scope, receive, send)
                return
        await app(scope, receive, send)


class _Conflict(_AtWrite):
    """Another client changes an object just before the program does."""

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        facts, server = request.facts, self._around.server
        if facts.resource is not None and facts.name:
            with suppress(APIError):  # it may have been deleted
                obj = server.get(facts.resource, facts.name, facts.namespace or None)
                annotations = obj["metadata"].get("annotations") or {}
                obj["metadata"]["annotations"] = {**annotations, TOUCHED: str(self._perturbation.at)}
                server.update(obj)
        await app(scope, receive, send)


class _Refuse(_AtWrite):
    """The n-th write, and with a duration all requests after it, get an error response."""

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        status = int(self._perturbation.how)
        await Refuse(status, retry_after=1 if status == 429 else None).apply(request.facts, app, scope, receive, send)

    async def later(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if self._active:
            await self.strike(request, app, scope, receive, send)
        else:
            await app(scope, receive, send)


class _LostAnswer(_AtWrite):
    """The n-th write is processed, and the connection breaks before the response."""

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, _discard)
        await Disconnect("reset").apply(request.facts, app, scope, _nothing_left, send)


class _Partition(_AtWrite):
    """From the n-th write on nothing arrives in either direction, and then everything."""

    async def later(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        if self._active:
            if request.facts.verb != "watch":
                outlive_client(scope)
            await trio.sleep_until(self.until)
        await app(scope, receive, send)

    def held_until(self, resource: str) -> float:
        return self.until if self.applied else -inf


class _LostLease(_Quiet):
    """At its n-th renewal the program's Lease is taken by another holder, who gives it back later."""

    async def serve(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        facts = request.facts
        if request.lease == self._perturbation.at and facts.name and not self.applied:
            self._begin()
            self._hold(facts.name, facts.namespace, _OTHER_HOLDER)
            self._around.start_soon(self._give_back, facts.name, facts.namespace)
        await app(scope, receive, send)

    async def _give_back(self, name: str, namespace: str) -> None:
        await trio.sleep(self._perturbation.seconds)
        self._hold(name, namespace, "")

    def _hold(self, name: str, namespace: str, holder: str) -> None:
        server = self._around.server
        with suppress(APIError):
            lease = server.get("leases", name, namespace)
            lease["spec"]["holderIdentity"] = holder
            server.update(lease)


class _Definition(_AtWrite):
    """A CRD is deleted with its objects at the n-th write, and later they are created again, as from a backup."""

    async def strike(self, request: Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self.until = inf
        self._around.start_soon(self._replace)
        await app(scope, receive, send)

    async def _replace(self) -> None:
        server, resource = self._around.server, self._perturbation.resource
        try:
            backup = Backup(server, self._around.recording, resource)
            definition = server.get(_DEFINITIONS, resource)
            server.delete(_DEFINITIONS, resource)
        except (APIError, NoMatch):  # it is deleted already, by another perturbation or by the scenario
            self.until = trio.current_time()
            return
        with backup.collecting():
            await self._wait_deleted()
            await trio.sleep(self._perturbation.seconds)
            with suppress(APIError):  # it is back already
                server.create(_as_new(definition))
            while not self._served():  # noqa: ASYNC110  # nothing announces that
                await trio.sleep(_INSTANT)
        for obj in backup.objects():
            with suppress(APIError):
                server.create(obj)
        self._around.note(self._perturbation, "it is back")
        self.until = trio.current_time()

    async def _wait_deleted(self) -> None:
        """Give controllers some time to remove their finalizers, then remove them, and wait until the CRD is gone."""
        with trio.move_on_after(self._perturbation.seconds):
            while self._served():  # noqa: ASYNC110  # nothing announces that
                await trio.sleep(_INSTANT)
        while self._served():
            self._release()
            await trio.sleep(_INSTANT)

    def _served(self) -> bool:
        try:
            self._around.server.kind(self._perturbation.resource)
        except NoMatch:
            return False
        return True

    def _release(self) -> None:
        """Remove the finalizers of all objects, as users do who want to get rid of a CRD."""
        server = self._around.server
        for obj in server.list(self._perturbation.resource):
            if obj["metadata"].get("finalizers"):
                with suppress(APIError, NoMatch):  # with the last object the resource is gone
                    server.update({**obj, "metadata": {**obj["metadata"], "finalizers": []}})


def _as_new(obj: Mapping[str, object]) -> dict[str, object]:
    """Return a CRD as it is created again."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    dropped = {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}
    kept = {name: value for name, value in metadata.items() if name not in dropped}
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": kept}


async def _discard(message: Message) -> None:
    await trio.lowlevel.checkpoint()


async def _nothing_left() -> Message:
    await trio.lowlevel.checkpoint()
    return {"type": "http.request", "body": b"", "more_body": False}


BEHAVIOURS: Final[Mapping[str, type[_Quiet]]] = {
    "crash": _Crash,
    "stale": _Stale,
    "lag": _Lag,
    "unobserved": _Unobserved,
    "conflict": _Conflict,
    "refuse": _Refuse,
    "lost_answer": _LostAnswer,
    "partition": _Partition,
    "lost_lease": _LostLease,
    "crd": _Definition,
}
