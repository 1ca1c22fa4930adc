"""LastingFault faults: the state in which an informer settles, and what a resuming watch does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dynkube import DEGRADED, LIVE
from dynkube.errors import (
    BadRequest,
    DynkubeError,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Unauthorized,
    UnreadableEvent,
)
from dynkube.informers import Phase
from dynkube_testing import APIServer, Cut, Delay, Disconnect, Effect, Hang, Refuse, Rewrite, rewrites

POISON = "poison"


@dataclass(frozen=True, kw_only=True)
class LastingFault:
    """A fault on one resource that lasts for an hour.

    Attributes:
        number: the number of the failure mode.
        effect: the injected fault.
        verb: the verb of the affected requests; ``None`` for all requests for the resource.
        reason: the reason of the state in which an informer settles.
        phase: the phase of that state.
        requests: how many requests an informer may send in the hour.
        changes: how often its state may change until it settles.
        writes: seconds between writes of the object named ``POISON``; ``None`` for no writes.
        recovery: seconds after the end of the fault within which the informer has to be live.
        raised: the exception that a resuming watch raises; ``None`` if it continues.
    """

    number: str
    effect: Effect
    verb: str | None = None
    reason: str = ""
    phase: Phase = DEGRADED
    requests: int = 190
    changes: int = 1
    writes: float | None = None
    recovery: float = 75.0
    raised: type[DynkubeError] | None = None

    def begin(self, server: APIServer, resource: str) -> Callable[[], None]:
        """Inject the fault and cut the open watches, so that it affects them too; return a function that ends it."""
        fault = server.inject(self.effect, verb=self.verb, resource=resource)
        server.end_watches(resource, how="cut")
        return fault.remove


def _status(code: int, reason: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no"}


def _line(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": obj}


def _poisoned(event: dict[str, Any]) -> Any:
    named = event["object"]["metadata"].get("name")
    return rewrites.garble(event) if named == POISON else event


def _behind(event: dict[str, Any]) -> Any:
    return rewrites.rewind(5)(event) if event["type"] == "BOOKMARK" else event


def _with_foreign_item(document: dict[str, Any]) -> Any:
    document["items"].append({"apiVersion": "example.com/v1", "kind": "Widget"})
    return document


TABLE = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "9"}, "rows": []}
SLIM = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": []}
watch = partial(LastingFault, verb="watch")

LASTING_FAULTS: dict[str, LastingFault] = {
    "500, as of a conversion webhook": LastingFault(number="F13", effect=Refuse(500), reason="InternalError"),
    "500 for watches": watch(number="F13", effect=Refuse(500), reason="InternalError"),
    "403": LastingFault(number="F14", effect=Refuse(403), reason="Forbidden", raised=Forbidden),
    "403 for watches": watch(number="F14", effect=Refuse(403), reason="Forbidden", raised=Forbidden),
    "405 for watches": watch(number="F14", effect=Refuse(405), reason="MethodNotAllowed", raised=MethodNotAllowed),
    "404, although there is a CRD": LastingFault(number="F15", effect=Refuse(404), reason="NotFound", raised=NotFound),
    "410 as a status": watch(number="F16", effect=Refuse(410), reason="Expired"),
    "410 for lists as well": LastingFault(number="F16", effect=Refuse(410), reason="Expired"),
    "410 as an event": watch(
        number="F16", effect=Refuse(200, body=_line("ERROR", _status(410, "Expired"))), reason="Expired"
    ),
    "200 and a close": watch(number="F16", effect=Refuse(200, body=b""), reason="StreamCutShort"),
    "a version that is too large": watch(
        number="F17", effect=Refuse(504, message="Too large resource version: 99, current: 9"), reason="Timeout"
    ),
    "bookmarks from behind": watch(number="F17", effect=Rewrite(_behind), phase=LIVE, reason="Watching", changes=0),
    "400 for watches": watch(number="F18", effect=Refuse(400), reason="BadRequest", raised=BadRequest),
    "422 for watches": watch(number="F18", effect=Refuse(422, reason="Invalid"), reason="Invalid", raised=Invalid),
    "bookmarks dropped": watch(
        number="F18", effect=Rewrite(rewrites.drop_bookmarks), reason="StreamSilent", recovery=240
    ),
    "no JSON": watch(
        number="F19", effect=Refuse(200, body=b"nothing\n"), reason="UnreadableEvent", raised=UnreadableEvent
    ),
    "an ERROR without a Status": watch(
        number="F19",
        effect=Refuse(200, body=_line("ERROR", {"kind": "Widget"})),
        reason="UnreadableEvent",
        raised=UnreadableEvent,
    ),
    "a Table": watch(number="F19", effect=Refuse(200, body=TABLE), reason="UnreadableEvent", raised=UnreadableEvent),
    "metadata alone": LastingFault(number="F19", effect=Refuse(200, body=SLIM), reason="ProtocolError", changes=2),
    "no metadata at all": LastingFault(
        number="F19", effect=Rewrite(rewrites.remove_metadata), reason="ProtocolError", changes=2
    ),
    "one more item without metadata": LastingFault(
        number="F19", verb="list", effect=Rewrite(_with_foreign_item), phase=LIVE, reason="Watching", changes=0
    ),
    "HTML": LastingFault(number="F19", effect=Refuse(200, body="<html>log in</html>"), reason="ProtocolError"),
    "one object, written twice a minute, that cannot be read": watch(
        number="F19",
        effect=Rewrite(_poisoned),
        reason="UnreadableEvent",
        writes=30.0,
        changes=7,
        recovery=700,
        raised=UnreadableEvent,
    ),
    "silence": watch(number="F21", effect=Cut("silent"), reason="StreamSilent", recovery=240),
    "streams cut after two seconds": watch(number="F22", effect=Cut("cut", after_seconds=2), reason="ConnectionLost"),
    "streams reset after two seconds": watch(
        number="F22", effect=Cut("reset", after_seconds=2), reason="ConnectionLost"
    ),
    "streams ended after two seconds": watch(
        number="F22", effect=Cut("clean", after_seconds=2), reason="StreamCutShort"
    ),
    "streams cut after fifty seconds": watch(
        number="F22", effect=Cut("cut", after_seconds=50), phase=LIVE, reason="Watching", changes=0
    ),
    "streams ended after fifty seconds": watch(
        number="F22", effect=Cut("clean", after_seconds=50), phase=LIVE, reason="Watching", changes=0
    ),
    "no response, and a close": LastingFault(number="F22", effect=Disconnect(), reason="ConnectionLost", requests=500),
    "no response, and a reset": LastingFault(
        number="F22", effect=Disconnect("reset"), reason="ConnectionLost", requests=500
    ),
    "429": LastingFault(number="F23", effect=Refuse(429), reason="TooManyRequests"),
    "429, later": LastingFault(number="F23", effect=Refuse(429, retry_after=1), reason="TooManyRequests"),
    "503, later": LastingFault(number="F23", effect=Refuse(503, retry_after=1), reason="ServiceUnavailable"),
    "503, tomorrow": LastingFault(
        number="F23", effect=Refuse(503, retry_after=86400), reason="ServiceUnavailable", recovery=400
    ),
    "503, at a date": LastingFault(
        number="F23",
        effect=Refuse(503, retry_after="Fri, 01 Jan 2100 00:00:00 GMT"),
        reason="ServiceUnavailable",
        recovery=400,
    ),
    "401": LastingFault(number="F24", effect=Refuse(401), reason="Unauthorized", raised=Unauthorized),
    "no response at all": LastingFault(number="F26", effect=Hang(), reason="DeadlineExceeded", recovery=150),
    "a response after two minutes": LastingFault(
        number="F26", effect=Delay(120), reason="DeadlineExceeded", recovery=150
    ),
}
