"""Reviews at intervals whether the user may list a resource in the namespaces of a set.

Kubernetes has no event for it, and a watch continues when the right to it is lost. A review is a
SelfSubjectAccessReview, as ``kubectl auth can-i`` sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import trio

from dynkube.errors import DynkubeError, Forbidden, MethodNotAllowed, NotFound, ProtocolError
from dynkube.meta import GVR
from dynkube.meta._json import UNREADABLE
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_PAUSE: Final = 0.1  # seconds between reviews: at most 10 per second, however many namespaces there are
_MOST_FAILURES: Final = 3  # in a row, in a round
_EVERYWHERE: Final = ""
_UNSUPPORTED: Final = (Forbidden, NotFound, MethodNotAllowed)


class Reviewed(Protocol):
    """The namespaces to review, and the receiver of the results."""

    @property
    def reviewable(self) -> Sequence[str]:
        """The namespaces to review."""
        ...

    def reviewed(self, name: str, *, allowed: bool) -> None:
        """Receive whether the user may list the resource in a namespace."""
        ...

    def unreviewed(self) -> None:
        """Receive the report that the user may not review their own rights."""
        ...


class _Status(msgspec.Struct, rename="camel"):
    allowed: bool = False
    evaluation_error: str = ""


class _Review(msgspec.Struct):
    status: _Status


class AccessReviews:
    """Sends the reviews, in rounds.

    Args:
        rest: sends the requests.
        gvr: returns the resource.
        interval: seconds between two rounds.
        reviewed: the namespaces, and the receiver of the results.
        failed: called if a review failed; the others continue, until three have failed in a row.
    """

    def __init__(
        self,
        rest: RESTClient,
        gvr: Callable[[], GVR],
        interval: float,
        reviewed: Reviewed,
        failed: Callable[[DynkubeError], None],
    ) -> None:
        self._rest = rest
        self._gvr = gvr
        self._interval = interval
        self._reviewed = reviewed
        self._failed = failed

    async def run(self) -> None:
        """Review until cancelled; never raises because of the cluster."""
        while True:
            await trio.sleep(self._interval)
            try:
                await self._round()
            except _UNSUPPORTED:
                self._reviewed.unreviewed()
            except DynkubeError as exc:
                self._failed(exc)

    async def _round(self) -> None:
        """Review each namespace, unless the user has the right in all of them."""
        everywhere = await self._allowed(_EVERYWHERE)
        failures = 0
        for name in self._reviewed.reviewable:
            if everywhere:
                self._reviewed.reviewed(name, allowed=True)
                continue
            await trio.sleep(_PAUSE)
            try:
                allowed = await self._allowed(name)
            except _UNSUPPORTED:
                raise
            except DynkubeError as exc:
                failures += 1
                if failures == _MOST_FAILURES:
                    raise
                self._failed(exc)
            else:
                failures = 0
                if allowed is not None:
                    self._reviewed.reviewed(name, allowed=allowed)

    async def _allowed(self, namespace: str) -> bool | None:
        """Return whether the user may list the resource; ``None`` if the server could not find out."""
        gvr = self._gvr()
        attributes = {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}
        spec = {"resourceAttributes": {**attributes, "namespace": namespace, "verb": "list"}}
        document = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        answer = await self._rest.request(Request(method="POST", path=_PATH, body=msgspec.json.encode(document)))
        try:
            status = msgspec.json.decode(answer.body, type=_Review).status
        except UNREADABLE as exc:
            raise ProtocolError(f"{answer.request}: the response is not a SelfSubjectAccessReview: {exc}") from exc
        return None if status.evaluation_error and not status.allowed else status.allowed
