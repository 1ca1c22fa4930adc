"""Requests to one pod, and errors that say what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dynkube.errors import APIError, DynkubeError, Forbidden, PodError
from dynkube.meta import GVR
from dynkube.meta._path import resource_path
from dynkube.pods._view import PodView
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

if TYPE_CHECKING:
    from dynkube.rest._websocket import WebSocket

PODS: Final = GVR("", "v1", "pods")

_DENIED: Final = re.compile(r'cannot (get|create) resource "pods/(\w+)"')
_EXPLAINED: Final = frozenset({400, 404, 500, 502, 503})  # codes of refusals that the pod's object may explain
_VIEW_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class PodTarget:
    """One pod, and the client of its cluster."""

    rest: RESTClient
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.name}"

    def path(self, subresource: str | None = None) -> str:
        """Return the path of the pod, or of a subresource."""
        return resource_path(PODS, namespace=self.namespace, name=self.name, subresource=subresource)

    @asynccontextmanager
    async def websocket(
        self,
        subresource: str,
        params: Mapping[str, str | Sequence[str]],
        protocols: Sequence[str],
        *,
        container: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[WebSocket]:
        """Open a WebSocket to a subresource.

        Args:
            subresource: ``exec``, ``attach`` or ``portforward``.
            params: the query.
            protocols: the subprotocols to offer, the preferred one first.
            container: the container, as the caller gave it, for messages.
            timeout: seconds until it is open; ``None`` means the client's default for streams.

        Raises:
            APIError: the server refused; the message says what is wrong with the pod, as far as its object says it.
            PodError: the server speaks none of the subprotocols.
            DynkubeError: any other error of a request.
        """
        # A kubelet, which some requests are passed on to, refuses them if JSON is all that is accepted.
        request = Request(method="GET", path=self.path(subresource), params=params, accept="*/*", timeout=timeout)
        async with AsyncExitStack() as stack:
            try:
                websocket = await stack.enter_async_context(self.rest.websocket(request, protocols))
            except APIError as error:
                raise await self._explained(error, subresource, protocols, container) from error
            yield websocket

    async def view(self) -> PodView | None:
        """Read the pod. ``None`` if it is no valid pod.

        Raises:
            DynkubeError: any error of a request.
        """
        answer = await self.rest.request(Request(method="GET", path=self.path(), timeout=_VIEW_SECONDS))
        return PodView.of(answer.body)

    async def why_not(self, container: str | None) -> str:
        """Return why nothing can be done in a container; ``""`` if that is not known."""
        try:
            view = await self.view()
        except DynkubeError:  # the error that is being explained is raised
            return ""
        return "" if view is None else view.why_not(container)

    async def _explained(
        self, error: APIError, subresource: str, protocols: Sequence[str], container: str | None
    ) -> APIError | PodError:
        if error.code == 403 and not error.reason:  # the answer of a kubelet's library, without a Status
            return PodError(
                f"{error.request}: the server refused the WebSocket (HTTP 403 without a Status), probably as it speaks "
                f"none of {', '.join(protocols)}"
            )
        hint = ""
        if isinstance(error, Forbidden):
            hint = _missing_verb(error.status.message, subresource)
        elif error.code in _EXPLAINED and not error.status.kind:
            hint = await self.why_not(container)
        return with_hint(error, hint)


def with_hint(error: APIError, hint: str) -> APIError:
    """Return the error with an explanation in its message."""
    if not hint:
        return error
    status = replace(error.status, message=f"{error.status.message} ({hint})")
    return APIError.from_status(status, request=error.request)


def _missing_verb(message: str, subresource: str) -> str:
    found = _DENIED.search(message)
    if found is not None and found[1] == "get":
        return f"a role with the verb get on pods/{subresource} is missing; servers from 1.35 on check create as well"
    # What a server says that has checked the verb get of the WebSocket, and then the verb create.
    if found is not None or message.rstrip().endswith("is forbidden:"):
        return f"a role with the verb create on pods/{subresource} is missing, which servers check from 1.35 on"
    return ""
