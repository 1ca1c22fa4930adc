"""Counters of a REST client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube._displayable import Displayable, displayed_text


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

    def __str__(self) -> str:
        return displayed_text(self)
