"""What a client has sent and received, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dynkube._display import Shown, counted, size_text

if TYPE_CHECKING:
    from dynkube._display import Card


@dataclass(frozen=True, slots=True, kw_only=True)
class RESTStatistics(Shown):
    """What a client has done and is doing now.

    Attributes:
        requests: HTTP requests sent, repetitions included.
        answers: of these the ended ones, by verb (as RBAC has them: ``get``, ``list``, ``watch``, ...) and HTTP
            status; 0 where no answer began. A watch counts once it is open.
        retries: repetitions among them, for whatever reason.
        refreshes: how often a 401 made the client ask for a newer credential.
        throttled: requests that had to wait for their turn (``Limits.qps``).
        throttled_seconds: how long, in all.
        received: bytes of all bodies.
        warnings: ``Warning`` fields that came.
        open_requests: short requests under way.
        open_streams: streams whose answer has begun and that are not closed.
        open_watches: watches among them.
        connections: to the server, in use or kept for reuse; 0 over a transport that was injected.
        idle_connections: kept ones among them.
        plugin_calls: runs of the exec plugin by exit code and by how they went (``no_error``,
            ``plugin_execution_error``, ``plugin_not_found_error``, ``client_internal_error``: client-go's words).
        last_error: what the last failed request or stream raised, as text; ``""`` if none did.
    """

    requests: int
    answers: Mapping[tuple[str, int], int]
    retries: int
    refreshes: int
    throttled: int
    throttled_seconds: float
    received: int
    warnings: int
    open_requests: int
    open_streams: int
    open_watches: int
    connections: int
    idle_connections: int
    plugin_calls: Mapping[tuple[int, str], int]
    last_error: str

    def _card(self, now: datetime) -> Card:
        from dynkube._display import Card, Facts, Grid, Note, line, muted

        idle = f", {self.idle_connections:,} of them idle" if self.idle_connections else ""
        throttled = f"{counted(self.throttled, 'request')}, {self.throttled_seconds:.1f} s in all"
        facts = Facts.of(
            (
                ("open", f"{counted(self.open_requests, 'request')}, {counted(self.open_watches, 'watch', 'watches')}"),
                ("connections", f"{self.connections:,}{idle}"),
                ("repeated", counted(self.retries, "request") if self.retries else ""),
                ("credential", f"renewed {counted(self.refreshes, 'time')}" if self.refreshes else ""),
                ("throttled", throttled if self.throttled else ""),
                ("warnings", f"{self.warnings:,}" if self.warnings else ""),
            )
        )
        rows = tuple(
            (line(verb), line("no answer" if status == 0 else str(status)), line(f"{count:,}"))
            for (verb, status), count in sorted(self.answers.items())
        )
        answers = (Grid(("VERB", "STATUS", "ANSWERS"), rows, frozenset({2})),) if rows else ()
        # Not in red: to ask for what is not there is no trouble, and most clients did it last.
        error = (Note(line(muted(f"last error: {self.last_error}"))),) if self.last_error else ()
        head = line("REST statistics", counted(self.requests, "request"), f"{size_text(self.received)} received")
        return Card(head, (facts, *answers, *error))
