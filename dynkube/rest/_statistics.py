"""Counters of a REST client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube._displayable import Displayable


@dataclass(frozen=True, slots=True, kw_only=True)
class RESTStatistics(Displayable):
    """A snapshot of a client's counters.

    Attributes:
        requests: HTTP requests sent, retries included.
        answers: the number of finished requests, by verb (as in RBAC: ``get``, ``list``, ``watch``, ...) and HTTP
            status; the status is 0 if no response arrived. A watch counts as finished once it is open.
        retries: requests sent again, for any reason.
        refreshes: how often a 401 made the client refresh its credential.
        throttled: requests that were delayed by ``Limits.qps``.
        throttled_seconds: the total delay of these requests.
        received: bytes of all response bodies.
        warnings: ``Warning`` headers received.
        open_requests: short requests in flight.
        open_streams: streams whose response has begun and that are not closed.
        open_watches: the number of these streams that are watches.
        connections: connections to the server, in use or idle; 0 with an injected transport.
        idle_connections: the number of these connections that are idle.
        plugin_calls: runs of the exec plugin by exit code and result (``no_error``, ``plugin_execution_error``,
            ``plugin_not_found_error``, ``client_internal_error``, as in client-go).
        last_error: the message of the last failed request or stream; ``""`` if none failed.
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
                ("retried", counted(self.retries, "request") if self.retries else ""),
                ("credential", f"renewed {counted(self.refreshes, 'time')}" if self.refreshes else ""),
                ("throttled", throttled if self.throttled else ""),
                ("warnings", f"{self.warnings:,}" if self.warnings else ""),
            )
        )
        rows = tuple(
            (line(verb), line("no response" if status == 0 else str(status)), line(f"{count:,}"))
            for (verb, status), count in sorted(self.answers.items())
        )
        answers = (Grid(("VERB", "STATUS", "RESPONSES"), rows, frozenset({2})),) if rows else ()
        # Not in red, as the last error is often a 404, which is not a failure of the client.
        error = (Note(line(muted(f"last error: {self.last_error}"))),) if self.last_error else ()
        head = line("REST statistics", counted(self.requests, "request"), f"{size_text(self.received)} received")
        return Card(head, (facts, *answers, *error))
