"""Events about objects, blocking."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dynkube._portal.facade import Facade
from dynkube.errors import ClosedError
from dynkube.sync._client import Client
from dynkube.sync._held import Held

if TYPE_CHECKING:
    import dynkube.controllers
    from dynkube.controllers import EventRecorderStatistics, EventType
    from dynkube.meta import Unstructured


class EventRecorder(Facade["dynkube.controllers.EventRecorder"]):
    """Records what happens to objects as Events (``events.k8s.io/v1``), which ``kubectl describe`` shows.

    Blocking form of :class:`dynkube.controllers.EventRecorder`, with the same limits, for any threads::

        with EventRecorder(k, controller="example.com/backup", instance="backup-0") as events:
            events.event(volume, "BackedUp", "to s3://backups", type="Normal")

    Events are sent in the background while it is entered. In a reconcile, use :meth:`BlockingContext.event
    <dynkube.controllers.BlockingContext.event>`.

    Args:
        client: a client of :func:`dynkube.sync.connect`. Closing it closes the recorder.
        controller: ``reportingController``, a qualified name.
        instance: ``reportingInstance``, for example the name of the pod.
        burst: new Events about an object without a delay.
        refill_seconds: seconds until another one may follow.
        queue_size: how many Events may wait to be written; beyond that, new events are dropped.
        flush_timeout: seconds that the end of the block may take to write what waits.

    Raises:
        InvalidInput: an argument is invalid; the message names it and the fix.
        ClosedError: the client is closed.
    """

    __slots__ = ("_held",)

    def __init__(
        self,
        client: Client,
        *,
        controller: str,
        instance: str,
        burst: int = 25,
        refill_seconds: float = 300.0,
        queue_size: int = 1000,
        flush_timeout: float = 2.0,
    ) -> None:
        from dynkube.controllers import EventRecorder as Inner  # loaded by those who record events only

        inner = Inner(
            client._open,
            controller=controller,
            instance=instance,
            burst=burst,
            refill_seconds=refill_seconds,
            queue_size=queue_size,
            flush_timeout=flush_timeout,
        )
        super().__init__(inner, client._thread)
        self._held: Held[dynkube.controllers.EventRecorder] = Held(client._thread, inner, owner=client._start)

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        if self._held._begun:
            raise ClosedError("this event recorder was entered before; create another one")
        self._held.open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self._held.close()

    def event(
        self,
        regarding: Unstructured,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002  # the name of the field
        action: str | None = None,
        related: Unstructured | None = None,
    ) -> None:
        """Record an event about an object; see :meth:`dynkube.controllers.EventRecorder.event`.

        Does not wait for the cluster.
        """
        __tracebackhide__ = True
        self._thread.run(partial(self._inner.event, regarding, reason, note, type=type, action=action, related=related))

    def statistics(self) -> EventRecorderStatistics:
        """Return the state and the counters."""
        __tracebackhide__ = True
        return self._thread.run(self._inner.statistics)
