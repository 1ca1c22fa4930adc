"""Protocols for the parts of a client that observers can read.

The classes that implement them are in higher layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Protocol

from dynkube.meta import GVR


class ObservedState(Protocol):
    """The state of an informer."""

    @property
    def phase(self) -> str:
        """``"LIVE"``, ``"ABSENT"``, ..."""
        ...

    @property
    def reason(self) -> str:
        """The reason as one CamelCase word."""
        ...


class ObservedInformer(Protocol):
    """One entry of ``client.informers()``.

    The attributes of :class:`dynkube.informers.InformerStatus` that observers need.
    """

    @property
    def gvr(self) -> GVR: ...
    @property
    def namespace(self) -> str | None: ...
    @property
    def namespaces(self) -> str: ...
    @property
    def label_selector(self) -> str: ...
    @property
    def field_selector(self) -> str: ...
    @property
    def state(self) -> ObservedState: ...
    @property
    def objects(self) -> int: ...
    @property
    def resource_version(self) -> str: ...
    @property
    def lag(self) -> float | None: ...
    @property
    def backlog(self) -> int: ...
    @property
    def restarts(self) -> int: ...
    @property
    def failures(self) -> int: ...
    @property
    def handler_errors(self) -> int: ...
    @property
    def users(self) -> int: ...


class ObservedCounts(Protocol):
    """The attributes of :class:`dynkube.rest.RESTStatistics` that observers need."""

    @property
    def open_watches(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def idle_connections(self) -> int: ...
    @property
    def received(self) -> int: ...
    @property
    def refreshes(self) -> int: ...
    @property
    def warnings(self) -> int: ...
    @property
    def plugin_calls(self) -> Mapping[tuple[int, str], int]: ...


class ObservedClient(Protocol):
    """The methods of :class:`dynkube.Client` that observers may call, on any thread."""

    def informers(self) -> Sequence[ObservedInformer]:
        """Return the status of each running informer."""
        ...

    def statistics(self) -> ObservedCounts:
        """Return the counters of the client's requests and connections."""
        ...


class ObservedQueue(Protocol):
    """The attributes of :class:`dynkube.controllers.WorkQueueStatistics` that observers need."""

    @property
    def depth(self) -> Mapping[int, int]: ...
    @property
    def adds(self) -> int: ...
    @property
    def retries(self) -> int: ...
    @property
    def unfinished_work_seconds(self) -> float: ...
    @property
    def longest_running_seconds(self) -> float: ...


class ObservedController(Protocol):
    """The attributes of :class:`dynkube.controllers.ControllerStatus` that observers need."""

    @property
    def name(self) -> str: ...
    @property
    def cluster(self) -> str: ...
    @property
    def concurrency(self) -> int: ...
    @property
    def running(self) -> Sized: ...
    @property
    def waiting_for_cache(self) -> Sized: ...
    @property
    def queue(self) -> ObservedQueue | None: ...


class ObservedControllers(Protocol):
    """The controllers of one call of :func:`dynkube.controllers.run`."""

    def statuses(self) -> Sequence[ObservedController]:
        """Return the status of each controller."""
        ...

    def leadership(self) -> tuple[str, bool] | None:
        """Return the name of the Lease, and whether this process leads; ``None`` without leader election."""
        ...
