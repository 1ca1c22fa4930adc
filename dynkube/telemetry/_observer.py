"""The observer interface of a client, modelled on ``trio.abc.Instrument``."""

from __future__ import annotations

from collections.abc import Mapping

from dynkube.telemetry._observed import ObservedClient, ObservedControllers
from dynkube.telemetry._records import (
    Collection,
    HandlerRun,
    ReconcileInfo,
    ReconcileOutcome,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
    StateChange,
)


class Observer:
    """Hooks called on requests, lists, watches, state changes and handler runs.

    Derive from it, override the hooks of interest, and pass instances to ``dynkube.connect(observers=[...])``. The
    hooks are plain functions, called synchronously in the event loop's thread, so they must not block. A hook that is
    not overridden costs nothing. If a hook raises, the client is not affected: the first exception of each hook is
    logged, and the hook is called again next time.
    """

    def client_opened(self, client: ObservedClient) -> None:
        """A client was entered (``async with``).

        Until it is closed, its ``informers()`` and ``statistics()`` may be called on any thread.
        """

    def client_closed(self, client: ObservedClient) -> None:
        """The client was closed; its informers have ended."""

    def request_started(self, request: RequestInfo) -> Mapping[str, str] | None:
        """An attempt of a request is about to be sent.

        :meth:`request_finished` is called for each attempt, also if it fails or is cancelled.

        Returns:
            Header fields to add to the request, such as ``traceparent``, or ``None``. Fields of the request itself, and
            credentials, take precedence. If a field is invalid (a malformed name, several lines, ``Host``,
            ``Content-Length``), none of the fields are sent, and an error is logged as if the hook had raised.
        """

    def request_finished(self, request: RequestInfo, outcome: RequestOutcome) -> None:
        """An attempt ended: the response was read, or it failed or was cancelled.

        For a watch it is called when the response begins.
        """

    def list_started(self, collection: Collection) -> None:
        """An informer starts a list, which may take several requests (pages)."""

    def list_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """A list is complete, or failed."""

    def watch_started(self, collection: Collection) -> None:
        """An informer opens a watch; a streaming list (KEP-3157) begins with all objects."""

    def watch_finished(self, collection: Collection, outcome: ReflectorOutcome) -> None:
        """A watch ended; usually the next one starts at once."""

    def state_changed(self, collection: Collection, change: StateChange) -> None:
        """The phase or reason of an informer changed."""

    def handler_ran(self, collection: Collection, run: HandlerRun) -> None:
        """A handler was called with one event, and has returned or raised."""

    def controllers_started(self, controllers: ObservedControllers) -> None:
        """Controllers were started with :func:`dynkube.controllers.run`.

        Until they are stopped, the methods of ``controllers`` may be called on any thread.
        """

    def controllers_stopped(self, controllers: ObservedControllers) -> None:
        """These controllers have ended."""

    def reconcile_started(self, reconcile: ReconcileInfo) -> None:
        """A reconcile function is about to be called; in the task that calls it, so context variables reach it.

        :meth:`reconcile_finished` is called for each call, also if it fails or is cancelled, in the same task.
        """

    def reconcile_finished(self, reconcile: ReconcileInfo, outcome: ReconcileOutcome) -> None:
        """A reconcile function has returned or raised, or was cancelled."""
