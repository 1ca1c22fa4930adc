"""Failures of a CRD's conversion webhook."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from dynkube.errors import APIError, Status, StatusCause
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._faults.facts import RequestFacts
from dynkube_testing._faults.refusals import Refuse
from dynkube_testing._store.documents import status_object


@dataclass(frozen=True, slots=True)
class FailConversion:
    """Respond as if the conversion webhook of a CRD could not be reached.

    Inject it for each version that is not the storage version: ``inject(FailConversion("acme.example/v1", "Widget"),
    resource="widgets.v2.acme.example")``. Watches get an ERROR event with a timeout, since the watch cache cannot be
    filled; other requests get a 500 without a reason. kube-apiserver 1.36 responds in this way if objects exist.

    Watches that are already open continue. A real server ends them when it lists its storage again; use ``end_watches``
    for this.

    Args:
        api_version: Group and version of the storage version, for the error message.
        kind: The kind of the objects, for the error message.
        why: Why the webhook call failed; the end of the error message.
    """

    api_version: str
    kind: str
    why: str = 'Post "https://converter.default.svc:443/convert?timeout=30s": connect: connection refused'

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the conversion error."""
        refuse = Refuse(500, reason="", message=self._message())
        if request.verb == "watch":
            refuse = Refuse(200, body=self._event())
        await refuse.apply(request, app, scope, receive, send)

    def _message(self) -> str:
        return f"conversion webhook for {self.api_version}, Kind={self.kind} failed: {self.why}"

    def _event(self) -> bytes:
        cause = StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")
        status = Status(
            code=504,
            reason="Timeout",
            message="Timeout: Too large resource version: 2, current: 1",
            causes=(cause,),
            retry_after=1,
        )
        return msgspec.json.encode({"type": "ERROR", "object": status_object(APIError.from_status(status))}) + b"\n"
