"""Faults that last until they are ended: which requests they affect, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import trio

from dynkube.errors import NoMatch
from dynkube_testing import (
    APIServer,
    Disconnect,
    Drip,
    Effect,
    Ending,
    Fault,
    Hang,
    Refuse,
    RequestFacts,
    Rewrite,
    rewrites,
)
from tests.informers.kit import CRDS
from tests.informers.model.expected_state import GROUP, METRICS

_ROOTS: Final = ("/api", "/apis")


class Late:
    """Delays responses by some seconds after they were computed, so that they may be outdated on arrival."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def apply(self, request: RequestFacts, app: Any, scope: Any, receive: Any, send: Any) -> None:
        """Delay a response as a whole; for a watch, delay each event."""
        messages: list[Any] = []

        async def keep(message: Any) -> None:
            messages.append(message)

        async def hold(message: Any) -> None:
            await trio.sleep(self._seconds)
            await send(message)

        if request.verb == "watch":
            await app(scope, receive, hold)
            return
        await app(scope, receive, keep)
        await trio.sleep(self._seconds)
        for message in messages:
            await send(message)


EFFECTS: Final[Mapping[str, Callable[[], Effect]]] = {
    "403": lambda: Refuse(403),
    "401": lambda: Refuse(401),
    "404": lambda: Refuse(404),
    "404 HTML": lambda: Refuse(404, body="<html>404 not found</html>"),
    "500": lambda: Refuse(500),
    "503": lambda: Refuse(503),
    "hang": Hang,
    "reset": lambda: Disconnect("reset"),
    "late": lambda: Late(12),
    "slow": lambda: Drip(2000),
}
"""The effect of a fault on each affected request."""
_WITH_RESPONSE: Final = ("late", "slow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The requests that a fault affects, and the open watches that end with it."""

    requests: Mapping[str, Any]
    watches: str = ""
    """A resource; ``"*"`` for all resources, ``""`` for none."""


def _is_group(request: RequestFacts) -> bool:
    return request.verb == "" and request.path.startswith(("/api/", f"/apis/{GROUP}", f"/apis/{METRICS}"))


def _is_discovery(request: RequestFacts) -> bool:
    return request.path in _ROOTS or _is_group(request)


def _shows_what_is_served(request: RequestFacts) -> bool:
    found = request.resource is not None and request.resource.resource in (CRDS, "apiservices")
    return found or _is_discovery(request)


TARGETS: Final[Mapping[str, Target]] = {
    "CRDs": Target(requests={"resource": CRDS}, watches=CRDS),
    "CRD lists": Target(requests={"resource": CRDS, "verb": "list"}, watches=CRDS),
    "CRD watches": Target(requests={"resource": CRDS, "verb": "watch"}, watches=CRDS),
    "APIServices": Target(requests={"resource": "apiservices"}, watches="apiservices"),
    "discovery roots": Target(requests={"when": lambda request: request.path in _ROOTS}),
    "discovery groups": Target(requests={"when": _is_group}),
    "discovery": Target(requests={"when": _is_discovery}),
    "availability": Target(requests={"when": _shows_what_is_served}, watches=CRDS),
    "widgets": Target(requests={"resource": "widgets"}, watches="widgets"),
    "widget lists": Target(requests={"resource": "widgets", "verb": "list"}, watches="widgets"),
    "widget watches": Target(requests={"resource": "widgets", "verb": "watch"}, watches="widgets"),
    "configmaps": Target(requests={"resource": "configmaps"}, watches="configmaps"),
    "everything": Target(requests={}, watches="*"),
}
"""The possible targets of a fault. ``availability`` is every source that shows which resources are served."""

LAG: Final = 20.0
"""Seconds: less than the 30 between two reads of discovery that together prove that a resource is absent."""


def hide_group(server: APIServer) -> list[Fault]:
    """For :data:`LAG` seconds, leave the CRDs' group out of discovery, as an API server that has just started does."""

    def documents(request: RequestFacts) -> bool:
        return request.verb == "" and request.path.startswith(f"/apis/{GROUP}")

    left_out = Rewrite(rewrites.without_group(GROUP))
    return [
        server.inject(left_out, when=lambda request: request.path == "/apis", duration=LAG),
        server.inject(Refuse(404), when=documents, duration=LAG),
    ]


ENDINGS: Final = ("clean", "reset", "silent", "")
"""How the affected watches end when a fault begins; with ``""`` they stay open."""


@dataclass(slots=True, kw_only=True, eq=False)
class Imposed:
    """A fault in force."""

    fault: Fault
    outage: bool
    """Whether no request gets a response and no watch is open."""


def impose(server: APIServer, target: str, effect: str, ending: Ending | str) -> Imposed:
    """Begin a fault, and end the watches that it affects."""
    struck = TARGETS[target]
    fault = server.inject(EFFECTS[effect](), **struck.requests)
    if struck.watches and ending:
        end_watches(server, struck.watches, ending)
    outage = target == "everything" and effect not in _WITH_RESPONSE and ending != ""
    return Imposed(fault=fault, outage=outage)


def end_watches(server: APIServer, resource: str, ending: Any) -> None:
    """End open watches of a resource, or all of them (``"*"``)."""
    with suppress(NoMatch):
        server.end_watches(None if resource == "*" else resource, how=ending)
