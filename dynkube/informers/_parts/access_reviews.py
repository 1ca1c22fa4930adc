"""Finds out whether the user may read a resource in the namespaces of a set: by reviews, and by lists of one object.

Kubernetes has no event for it, and a watch continues when the right to it is lost. A review is a
SelfSubjectAccessReview, as ``kubectl auth can-i`` sends it. Each namespace is reviewed in rounds; one that is in doubt,
as a list or a review was refused, is examined at once, and again until that is decided.

A namespace can be read if it may be listed, or watched where the server sends lists over watches (KEP-3157).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import trio

from dynkube.client._listwatch import ListWatch
from dynkube.errors import DynkubeError, Forbidden, MethodNotAllowed, ProtocolError
from dynkube.errors._evidence import CONFIRMATION, Evidence, evidence_of
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.informers._availability.rights import Rights
from dynkube.meta import GVR
from dynkube.meta._json import UNREADABLE
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_PAUSE: Final = 0.1  # seconds between reviews: at most 10 per second, however many namespaces there are
_MOST_FAILURES: Final = 3  # in a row, in a round
_EVERYWHERE: Final = ""


class Doubts:
    """The namespaces to examine, each with the time from which on; waits for the next.

    A namespace is examined at once when it gets in doubt for the first time, as informers wait for it. Those that were
    examined before are paced.
    """

    __slots__ = ("_again", "_examined", "_new", "_news", "_paced")

    def __init__(self) -> None:
        self._new: dict[str, float] = {}
        self._again: dict[str, float] = {}
        self._examined: set[str] = set()
        self._paced = -math.inf  # when the next one that was examined before may be examined
        self._news = trio.Event()

    def add(self, name: str, due: float) -> None:
        """Examine a namespace at ``due``, unless that is going to be done before."""
        names = self._again if name in self._examined else self._new
        if due < names.get(name, math.inf):
            names[name] = due
            self._news.set()

    def discard(self, name: str) -> None:
        """Leave a namespace out."""
        self._new.pop(name, None)
        self._again.pop(name, None)
        self._examined.discard(name)

    def clear(self) -> None:
        """Leave all out."""
        for names in (self._new, self._again, self._examined):
            names.clear()

    def examining(self, name: str) -> None:
        """Note that a namespace is examined now."""
        if name in self._examined:
            self._paced = trio.current_time() + _PAUSE
        self._examined.add(name)

    async def take(self) -> str:
        """Wait until the next namespace is due, and return it."""
        while True:
            names, name, due = self._next()
            if name is not None and due <= trio.current_time():
                del names[name]
                await trio.lowlevel.checkpoint()
                return name
            self._news = trio.Event()
            with trio.move_on_at(due):
                await self._news.wait()

    def _next(self) -> tuple[dict[str, float], str | None, float]:
        new = min(self._new, key=self._new.__getitem__, default=None)
        again = min(self._again, key=self._again.__getitem__, default=None)
        new_due = self._new[new] if new is not None else math.inf
        again_due = max(self._again[again], self._paced) if again is not None else math.inf
        return (self._new, new, new_due) if new_due <= again_due else (self._again, again, again_due)


class Reviewed(Protocol):
    """The namespaces to review, and the receiver of the results. Each ``asked`` is when a request was sent."""

    doubts: Doubts
    """The namespaces to examine."""

    @property
    def reviewable(self) -> Sequence[str]:
        """The namespaces to review."""
        ...

    def in_doubt(self, name: str) -> Rights | None:
        """Return what is known of a namespace if it is not decided whether it may be read; else ``None``."""
        ...

    def is_forbidden(self, name: str) -> bool:
        """Return whether it is decided that a namespace may not be read."""
        ...

    def reviewed(self, name: str, asked: float, *, allowed: bool) -> None:
        """Receive whether the user may read the resource in a namespace."""
        ...

    def review_refused(self, name: str, asked: float, message: str) -> None:
        """Receive the report that the user may not review their own rights in a namespace."""
        ...

    def tried(self, name: str, asked: float, refusal: str) -> None:
        """Receive the result of a list: the server's refusal; ``""`` for a success."""
        ...

    def unreviewed(self) -> None:
        """Receive the report that the user may not review their own rights, once in each round."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How the collection is read.

    Attributes:
        gvr: returns the resource.
        label_selector: the selector, as authorizers may allow a list only with one; ``""`` for none.
        field_selector: the same.
        name: the only name that the field selector selects, as authorizers may allow that one; ``""`` for all.
        streams: returns whether lists may be sent over watches.
        source: returns what lists a namespace.
    """

    gvr: Callable[[], GVR]
    label_selector: str
    field_selector: str
    name: str
    streams: Callable[[], bool]
    source: Callable[[str], ListWatch]


class _Status(msgspec.Struct, rename="camel"):
    allowed: bool = False
    evaluation_error: str = ""


class _Review(msgspec.Struct):
    status: _Status


class AccessReviews:
    """Sends the reviews.

    Args:
        rest: sends the requests.
        reading: the collection.
        readiness: whether the API server is ready.
        stamp: returns the timestamp of a new request.
        interval: seconds between two rounds.
        reviewed: the namespaces, and the receiver of the results.
        failed: called if a review failed; the others continue, until three have failed in a row.
    """

    def __init__(
        self,
        rest: RESTClient,
        reading: Reading,
        readiness: ServerReadiness,
        stamp: Callable[[], float],
        interval: float,
        reviewed: Reviewed,
        failed: Callable[[DynkubeError], None],
    ) -> None:
        self._rest = rest
        self._reading = reading
        self._readiness = readiness
        self._stamp = stamp
        self._interval = interval
        self._reviewed = reviewed
        self._failed = failed

    async def run(self) -> None:
        """Review until cancelled; never raises because of the cluster."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._examine_doubts)
            while True:
                await trio.sleep(self._interval)
                try:
                    await self._round()
                except DynkubeError as exc:
                    if _unsupported(exc):
                        self._reviewed.unreviewed()
                    else:
                        self._failed(exc)

    async def _round(self) -> None:
        """Review each namespace, unless the user has the right in all of them.

        One whose review failed is reviewed again at the end of the round: if it waited for the next round, failures in
        a pattern, as of one of two API servers behind a load balancer, could leave out the same one each time.
        """
        asked, everywhere, failures = self._stamp(), None, 0
        try:
            everywhere = await self._allowed(_EVERYWHERE, "list")
        except DynkubeError as exc:
            if _unsupported(exc):
                raise
            failures = 1
            self._failed(exc)
        names = deque(self._reviewed.reviewable)
        while names:
            name = names.popleft()
            if everywhere:
                self._reviewed.reviewed(name, asked, allowed=True)
                continue
            await trio.sleep(_PAUSE)
            try:
                await self._review(name)
            except DynkubeError as exc:
                failures += 1
                if failures == _MOST_FAILURES or _unsupported(exc):
                    raise
                self._failed(exc)
                names.append(name)
            else:
                failures = 0

    async def _review(self, name: str) -> None:
        asked = self._stamp()
        allowed = await self._allowed(name, "list")
        if allowed is False and self._reading.streams() and not self._reviewed.is_forbidden(name):
            allowed = await self._allowed(name, "watch")
        if allowed is not None:
            self._reviewed.reviewed(name, asked, allowed=allowed)

    # ── doubts ───────────────────────────────────────────────────────────────────────────────

    async def _examine_doubts(self) -> None:
        while True:
            name = await self._reviewed.doubts.take()
            if (rights := self._reviewed.in_doubt(name)) is None or (first := rights.first_refusal) is None:
                continue
            self._reviewed.doubts.examining(name)
            # Ask for readiness first: only answers after the report show that it is a server with roles that denies.
            ready = await self._readiness.check(first)
            await self._examine(name)
            if self._reviewed.in_doubt(name) is not None:
                now = trio.current_time()
                again = first + CONFIRMATION.rights + _PAUSE
                self._reviewed.doubts.add(name, again if ready and again > now else now + CONFIRMATION.moment)

    async def _examine(self, name: str) -> None:
        """Review a namespace, and list one object if there is no refused list since the review before."""
        asked, before = self._stamp(), self._reviewed.in_doubt(name)
        try:
            await self._review(name)
        except DynkubeError as exc:
            if not _unsupported(exc):
                self._failed(exc)
                return
            self._reviewed.review_refused(name, asked, str(exc))
        rights = self._reviewed.in_doubt(name)
        if rights is None or rights.reviews is None or before is None:
            return
        earlier = before.reviews.last if before.reviews is not None else rights.allowed_at
        if rights.lists is None or rights.lists.last < earlier:
            await self._try(name)

    async def _try(self, name: str) -> None:
        """List one object: watches that are open do not show that the right was lost."""
        asked = self._stamp()
        try:
            await self._reading.source(name).list(resource_version="", limit=1)
        except DynkubeError as exc:
            if isinstance(exc, Forbidden) and evidence_of(exc) is Evidence.NOT_AUTHORIZED:
                self._reviewed.tried(name, asked, str(exc))
            else:
                self._failed(exc)
        else:
            self._reviewed.tried(name, self._stamp(), "")

    # ── one review ───────────────────────────────────────────────────────────────────────────

    async def _allowed(self, namespace: str, verb: str) -> bool | None:
        """Return whether the user has the right; ``None`` if the server could not find out."""
        document = self._document(namespace, verb)
        params = {"fieldValidation": "Ignore"}  # servers before 1.31 do not know the selectors, and would warn
        answer = await self._rest.request(
            Request(method="POST", path=_PATH, params=params, body=msgspec.json.encode(document))
        )
        try:
            status = msgspec.json.decode(answer.body, type=_Review).status
        except UNREADABLE as exc:
            raise ProtocolError(f"{answer.request}: the response is not a SelfSubjectAccessReview: {exc}") from exc
        return None if status.evaluation_error and not status.allowed else status.allowed

    def _document(self, namespace: str, verb: str) -> dict[str, object]:
        reading, gvr = self._reading, self._reading.gvr()
        attributes: dict[str, object] = {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
        attributes |= {"namespace": namespace, "verb": verb}
        if reading.name:
            attributes["name"] = reading.name
        if reading.field_selector:
            attributes["fieldSelector"] = {"rawSelector": reading.field_selector}
        if reading.label_selector:
            attributes["labelSelector"] = {"rawSelector": reading.label_selector}
        spec = {"resourceAttributes": attributes}
        return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}


def _unsupported(exc: DynkubeError) -> bool:
    """Return whether the server refuses reviews: they are forbidden, or not served."""
    if isinstance(exc, MethodNotAllowed):
        return True
    evidence = evidence_of(exc)
    return evidence is Evidence.RESOURCE_UNKNOWN or (evidence is Evidence.NOT_AUTHORIZED and isinstance(exc, Forbidden))
