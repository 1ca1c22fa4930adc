"""Renderer of the counters of a REST client."""

from __future__ import annotations

from datetime import datetime

from dynkube._display.cards import Card, Facts, Grid, Note, line, muted
from dynkube._display.registry import render
from dynkube._text.words import counted, size_text
from dynkube.rest import RESTStatistics


@render.register(RESTStatistics)
def rest_statistics_card(numbers: RESTStatistics, now: datetime) -> Card:
    """Return the card of a REST client's counters."""
    idle = f", {numbers.idle_connections:,} of them idle" if numbers.idle_connections else ""
    throttled = f"{counted(numbers.throttled, 'request')}, {numbers.throttled_seconds:.1f} s in all"
    watches = counted(numbers.open_watches, "watch", "watches")
    facts = Facts.of(
        (
            ("open", f"{counted(numbers.open_requests, 'request')}, {watches}"),
            ("connections", f"{numbers.connections:,}{idle}"),
            ("retried", counted(numbers.retries, "request") if numbers.retries else ""),
            ("credential", f"renewed {counted(numbers.refreshes, 'time')}" if numbers.refreshes else ""),
            ("throttled", throttled if numbers.throttled else ""),
            ("warnings", f"{numbers.warnings:,}" if numbers.warnings else ""),
        )
    )
    rows = tuple(
        (line(verb), line("no response" if status == 0 else str(status)), line(f"{count:,}"))
        for (verb, status), count in sorted(numbers.answers.items())
    )
    answers = (Grid(("VERB", "STATUS", "RESPONSES"), rows, frozenset({2})),) if rows else ()
    # Not in red: a 404 is not a failure of the client, and often the last error.
    error = (Note(line(muted(f"last error: {numbers.last_error}"))),) if numbers.last_error else ()
    head = line("REST statistics", counted(numbers.requests, "request"), f"{size_text(numbers.received)} received")
    return Card(head, (facts, *answers, *error))
