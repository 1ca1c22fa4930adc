"""What observers may ask a client, as protocols: the classes that answer are in floors above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from dynkube.meta import GVR


class ObservedState(Protocol):
    """A state of an informer."""

    @property
    def phase(self) -> str:
        """``"LIVE"``, ``"ABSENT"``, ..."""
        ...

    @property
    def reason(self) -> str:
        """One CamelCase word."""
        ...


class ObservedInformer(Protocol):
    """One entry of ``client.informers()``: :class:`dynkube.informers.InformerStatus` as observers need it."""

    @property
    def gvr(self) -> GVR: ...
    @property
    def namespace(self) -> str | None: ...
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
    """:class:`dynkube.rest.RESTStatistics` as observers need it."""

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
    """A :class:`dynkube.Client`, as far as observers may ask it. Both are plain calls for any thread."""

    def informers(self) -> Sequence[ObservedInformer]:
        """Every informer that runs now."""
        ...

    def statistics(self) -> ObservedCounts:
        """The client's requests in numbers."""
        ...
