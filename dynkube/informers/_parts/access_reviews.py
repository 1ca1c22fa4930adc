"""Observes whether the user may read a resource in the namespaces of a set: reviews, and lists where they deny it.

A review is a SelfSubjectAccessReview, as ``kubectl auth can-i`` sends it, with the selectors of the collection: some
authorizers allow a list with a field selector only (the node authorizer; KEP-4601).

There are rounds at intervals over all namespaces, and *doubts*: namespaces of which a list was refused or a review
denies reading. A doubt is looked into at once, and again until it is decided (``_availability/rights.py``).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import trio

from dynkube.errors import APIError, DynkubeError, Forbidden, MethodNotAllowed, NotFound, ProtocolError
from dynkube.errors._evidence import CONFIRMATION, Evidence, evidence_of
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.meta import GVR
from dynkube.meta._json import UNREADABLE
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_PAUSE: Final = 0.1  # seconds between reviews: at most 10 per second, however many namespaces there are
_MOST_FAILURES: Final = 3  # in a row, in a round
_EVERYWHERE: Final = ""


class Reviewed(Protocol):
    """The namespaces to review, and the receiver of the observations."""

    @property
    def reviewable(self) -> Sequence[str]:
        """The namespaces to review."""
        ...

    def reviewed(self, name: str, asked: float, *, allowed: bool) -> None:
        """Receive the answer of a complete review, requested at that time."""
        ...

    def unreviewed(self, *, round_over: bool) -> None:
        """Receive the report that the server does not let the user review their rights, and whether a round is over."""
        ...

    def lists(self, name: str) -> bool:
        """Return whether the next list of a namespace is due anyway, so that it need not be probed."""
        ...

    def listed_by_review(self, name: str, asked: float, refusal: APIError | None) -> None:
        """Receive the outcome of a list, requested at that time: the refusal of the authorizer, or ``None``."""
        ...

    def doubt_since(self, name: str) -> float:
        """Return when the first of the undecided negative answers was requested; ``inf`` if there are none."""
        ...

    def decide(self, name: str) -> None:
        """Handle that a doubt was looked into."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How objects are read.

    Attributes:
        gvr: returns the resource.
        label_selector: as text; ``""`` for all objects.
        field_selector: as text; ``""`` for all objects.
        probe: sends a list of one object in a namespace.
        streams_lists: returns whether the right to watch suffices, as the server streams lists.
    """

    gvr: Callable[[], GVR]
    label_selector: str
    field_selector: str
    probe: Callable[[str], Awaitable[object]]
    streams_lists: Callable[[], bool]


class _Status(msgspec.Struct, rename="camel"):
    allowed: bool = False
    evaluation_error: str = ""


class _Review(msgspec.Struct):
    status: _Status


class AccessReviews:
    """Sends the reviews and the lists.

    Args:
        rest: sends the requests.
        reading: how objects are read.
        interval: seconds between two rounds.
        reviewed: the namespaces, and the receiver of the results.
        readiness: reads whether the API server is ready, and has the clock of the observations.
        failed: called if a request failed; the others continue, until three of a round have failed in a row.
    """

    def __init__(
        self,
        rest: RESTClient,
        reading: Reading,
        interval: float,
        reviewed: Reviewed,
        readiness: ServerReadiness,
        failed: Callable[[DynkubeError], None],
    ) -> None:
        self._rest = rest
        self._reading = reading
        self._interval = interval
        self._reviewed = reviewed
        self._readiness = readiness
        self._failed = failed
        self._doubts: dict[str, float] = {}  # when each is looked into
        self._woken = trio.Event()

    def doubt(self, name: str) -> None:
        """Look into a namespace at once, unless that is planned already. Does not block."""
        if name not in self._doubts:
            self._doubts[name] = -math.inf
            self._woken.set()

    async def run(self) -> None:
        """Observe until cancelled; never raises because of the cluster."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_into_doubts)
            while True:
                await trio.sleep(self._interval)
                try:
                    await self._round()
                except DynkubeError as exc:
                    if not _is_unsupported(exc):
                        self._failed(exc)
                        continue
                    self._reviewed.unreviewed(round_over=True)

    # ── rounds ───────────────────────────────────────────────────────────────────────────────

    async def _round(self) -> None:
        """Review each namespace, unless the user has the right in all of them."""
        asked = self._readiness.stamp()
        everywhere = await self._allowed(_EVERYWHERE)
        failures = 0
        for name in self._reviewed.reviewable:
            if everywhere:
                self._reviewed.reviewed(name, asked, allowed=True)
                continue
            await trio.sleep(_PAUSE)
            try:
                await self._review(name)
            except DynkubeError as exc:
                failures += 1
                if failures == _MOST_FAILURES or _is_unsupported(exc):
                    raise
                self._failed(exc)
            else:
                failures = 0

    async def _review(self, name: str) -> bool | None:
        asked = self._readiness.stamp()
        allowed = await self._allowed(name)
        if allowed is not None:
            self._reviewed.reviewed(name, asked, allowed=allowed)
        return allowed

    # ── doubts ───────────────────────────────────────────────────────────────────────────────

    async def _look_into_doubts(self) -> None:
        while True:
            with trio.move_on_at(min(self._doubts.values(), default=math.inf)):
                await self._woken.wait()
            self._woken = trio.Event()
            now = trio.current_time()
            for name in [name for name, due in self._doubts.items() if due <= now]:
                try:
                    await self._look_into(name)
                except DynkubeError as exc:
                    self._failed(exc)
                self._doubts.pop(name, None)
                self._reviewed.decide(name)
                if self._reviewed.doubt_since(name) < math.inf:
                    self._doubts[name] = trio.current_time() + CONFIRMATION.moment

    async def _look_into(self, name: str) -> None:
        try:
            allowed = await self._review(name)
        except DynkubeError as exc:
            if not _is_unsupported(exc):
                raise
            allowed = False
            self._reviewed.unreviewed(round_over=False)
        if allowed is not False:
            return
        if not self._reviewed.lists(name):
            await self._list(name)
        if (since := self._reviewed.doubt_since(name)) < math.inf:
            await self._readiness.check(since)

    async def _list(self, name: str) -> None:
        asked = self._readiness.stamp()
        try:
            await self._reading.probe(name)
        except APIError as exc:
            if evidence_of(exc) is not Evidence.NOT_AUTHORIZED:
                raise
            self._reviewed.listed_by_review(name, asked, exc)
        else:
            self._reviewed.listed_by_review(name, asked, None)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    async def _allowed(self, namespace: str) -> bool | None:
        """Return whether the user may read the resource; ``None`` if the server could not find out."""
        allowed = await self._may("list", namespace)
        if allowed is False and namespace and self._reading.streams_lists():
            return await self._may("watch", namespace)
        return allowed

    async def _may(self, verb: str, namespace: str) -> bool | None:
        reading = self._reading
        gvr = reading.gvr()
        attributes: dict[str, object] = {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
        attributes |= {"namespace": namespace, "verb": verb}
        if reading.label_selector:
            attributes["labelSelector"] = {"rawSelector": reading.label_selector}
        if reading.field_selector:
            attributes["fieldSelector"] = {"rawSelector": reading.field_selector}
        spec = {"resourceAttributes": attributes}
        document = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        # Servers before 1.31 do not know the selectors, and would warn.
        params = {"fieldValidation": "Ignore"}
        answer = await self._rest.request(
            Request(method="POST", path=_PATH, params=params, body=msgspec.json.encode(document))
        )
        try:
            status = msgspec.json.decode(answer.body, type=_Review).status
        except UNREADABLE as exc:
            raise ProtocolError(f"{answer.request}: the response is not a SelfSubjectAccessReview: {exc}") from exc
        return None if status.evaluation_error and not status.allowed else status.allowed


def _is_unsupported(exc: DynkubeError) -> bool:
    """Return whether the server does not let the user review their rights."""
    refused = isinstance(exc, Forbidden | NotFound) and evidence_of(exc) is not Evidence.NOTHING
    return refused or isinstance(exc, MethodNotAllowed)
