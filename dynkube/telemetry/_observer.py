"""Observer: what a client tells of itself while it works. The idea is that of ``trio.abc.Instrument``."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.telemetry._observed import ObservedClient
from dynkube.telemetry._records import (
    Collection,
    HandlerRun,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
    StateChange,
)


class Observer:
    """Is told of requests, lists, watches, states and handlers. Derive from it, and override what is of interest.

    Give instances to ``dynkube.connect(observers=[...])``. All methods are plain functions, called in the event
    loop's thread at the moment it happens: they must not block. What is not overridden is never called, and costs
    nothing. An observer that raises disturbs nobody: the first exception of each method is logged, and the
    observer goes on to be told.
    """

    def client_opened(self, client: ObservedClient) -> None:
        """A client was entered. Until it ends, its ``informers()`` and ``statistics()`` may be called on any thread."""

    def client_closed(self, client: ObservedClient) -> None:
        """The client's block was left; its informers have ended."""

    def request_started(self, request: RequestInfo) -> Mapping[str, str] | None:
        """An attempt is about to be sent. Each one is followed by :meth:`request_finished`, whatever happens.

        Returns:
            Header fields to send with it, such as ``traceparent``, or ``None``. Fields of the request itself, and
            credentials, win over them. What cannot be sent (no name of a field, several lines, ``Host``,
            ``Content-Length``) is left out and logged, as if the method had raised.
        """

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """The attempt ended: read to its end, failed, cancelled, or, of a watch, opened."""

    def list_started(self, collection: Collection) -> None:
        """An informer begins to list all objects, in as many requests as there are pages."""

    def list_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """The list is complete, or failed."""

    def watch_started(self, collection: Collection) -> None:
        """An informer opens a watch. Where the server streams lists, this begins with all objects."""

    def watch_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """The watch ended; mostly another one begins at once."""

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        """An informer has another phase or reason."""

    def handler_ran(self, collection: Collection, run: HandlerRun) -> None:
        """A handler was called with one event, and returned or raised."""
