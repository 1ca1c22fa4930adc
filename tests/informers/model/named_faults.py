"""Named faults between server and client. None of them makes a server wrong for good: all can be recovered from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynkube_testing import Cut, Delay, Disconnect, Drip, Effect, Ending, Freeze, Hang, Refuse, Rewrite, rewrites


def _bookmarks_backwards(event: dict[str, Any]) -> dict[str, Any]:
    """Lower the version of a bookmark, so that events come again."""
    if event.get("type") == "BOOKMARK" and "annotations" not in event["object"]["metadata"]:
        version = int(event["object"]["metadata"]["resourceVersion"])
        event["object"]["metadata"]["resourceVersion"] = str(max(1, version - 5))
    return event


REQUEST_FAULTS: Final[Mapping[str, Callable[[], Effect]]] = {
    "500": lambda: Refuse(500),
    "503 Retry-After": lambda: Refuse(503, retry_after=3),
    "429 Retry-After": lambda: Refuse(429, retry_after=5),
    "429 Retry-After a date": lambda: Refuse(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "401": lambda: Refuse(401),
    "403": lambda: Refuse(403),
    "404": lambda: Refuse(404),
    "410": lambda: Refuse(410),
    "400": lambda: Refuse(400),
    "504": lambda: Refuse(504),
    "200 HTML": lambda: Refuse(200, body="<html>sign in</html>"),
    "502 HTML": lambda: Refuse(502, body="<html>Bad Gateway</html>"),
    "delay": lambda: Delay(2),
    "long delay": lambda: Delay(50),
    "drip": lambda: Drip(2000),
    "hang": Hang,
    "disconnect": Disconnect,
    "reset": lambda: Disconnect("reset"),
    "empty": lambda: Cut("clean", after_bytes=0),
    "cut": lambda: Cut("cut", after_bytes=50),
    "cut mid-line": lambda: Cut("mid-line", after_bytes=100),
    "cut mid-chunk": lambda: Cut("mid-chunk", after_bytes=200),
    "reset half-way": lambda: Cut("reset", after_bytes=200),
    "silent half-way": lambda: Cut("silent", after_bytes=200),
    "frozen": Freeze,
}
"""Faults of any request."""

EVENT_FAULTS: Final[Mapping[str, Callable[[], Effect]]] = {
    "clean end": lambda: Cut("clean", after_lines=1),
    "cut after an event": lambda: Cut("cut", after_lines=1),
    "silent after an event": lambda: Cut("silent", after_lines=1),
    "no bookmarks": lambda: Rewrite(rewrites.drop_bookmarks),
    "no end of the initial events": lambda: Rewrite(rewrites.drop_initial_events_end),
    "bookmarks backwards": lambda: Rewrite(_bookmarks_backwards),
    "each event twice": lambda: Rewrite(rewrites.repeat),
    "410 as an event": lambda: Rewrite(rewrites.expired, skip=1, times=1),
    "an event garbled": lambda: Rewrite(rewrites.garble, skip=1, times=1),
    "an ERROR without a Status": lambda: Rewrite(rewrites.error_without_status, skip=1, times=1),
    "an event without metadata": lambda: Rewrite(rewrites.remove_metadata, skip=1, times=1),
    "an event of unknown type": lambda: Rewrite(rewrites.unknown_type, skip=1, times=1),
    "unknown events in between": lambda: Rewrite(rewrites.before({"type": "HEARTBEAT", "object": {}})),
}
"""Faults of the events of a watch."""

OPEN_WATCHES: Final[Mapping[str, Ending]] = {
    "watches end": "clean",
    "watches are cut": "cut",
    "watches are reset": "reset",
    "watches are cut mid-line": "mid-line",
    "watches are cut mid-chunk": "mid-chunk",
    "watches go silent": "silent",
}
"""Ways in which open watches end."""

HISTORY_COMPACTED: Final = "history compacted"
"""Compaction: a watch that resumes gets 410."""

FAULTS: Final = (sorted(OPEN_WATCHES), [HISTORY_COMPACTED], sorted(REQUEST_FAULTS), sorted(EVENT_FAULTS))
"""The names of all faults, by sort; each sort is equally likely."""

LASTING: Final = ("everything", "everything, and history with it", "lists", "watches", "CRDs", "establishing")
"""Lasting faults: of all requests, of one verb, of the permission to read CRDs, of establishing CRDs."""
